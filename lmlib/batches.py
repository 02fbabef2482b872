"""Batches as a pure function of the step: what is needed to resume bit for bit."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lmlib.language_model import check_stream, context_windows
from lmlib.vocabulary import IntArray, Vocabulary


class WindowBatches:
    """Contexts of ``width`` words and the word after each, in a shuffled order.

    Calling it with a step gives that step's batch: contexts ``(B, width)``, oldest
    word first, and targets ``(B,)``. The order is an endless row of permutations of
    the text's positions, permutation e drawn from (seed, e), and step s takes the
    s-th stretch of ``batch_size``. So every batch is full, each pass sees every word
    once, and step s is the same whether or not the steps before it were asked for.

    ``shuffle=False`` keeps the order of the text. ``<s>`` is never a target.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        ids: IntArray,
        width: int,
        batch_size: int,
        seed: int = 0,
        *,
        shuffle: bool = True,
    ) -> None:
        ids = check_stream(vocabulary, ids)
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: expected at least 1")
        keep = np.full(len(ids), True)
        if vocabulary.start_id is not None:
            keep = ids != vocabulary.start_id
        if not keep.any():
            raise ValueError(
                f"the training text of {len(ids)} tokens has no word to predict: give "
                "at least one"
            )
        self._contexts = context_windows(ids, width, vocabulary.start_id)[keep]
        self._targets = ids[keep]
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self._pass: tuple[int, IntArray] = (-1, np.empty(0, np.int64))

    @property
    def words(self) -> int:
        """Predicted words in one pass over the text."""
        return len(self._targets)

    def steps(self, epochs: float) -> int:
        """Updates in so many passes over the text, at least one."""
        return max(1, round(epochs * self.words / self.batch_size))

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """The batch of a step: contexts ``(B, width)`` and targets ``(B,)``."""
        taken: list[IntArray] = []
        position, missing = step * self.batch_size, self.batch_size
        while missing:
            order = self._order(position // self.words)
            at = position % self.words
            part = order[at : at + missing]
            taken.append(part)
            position, missing = position + len(part), missing - len(part)
        rows = np.concatenate(taken)
        contexts = torch.from_numpy(self._contexts[rows].astype(np.int64))
        return contexts, torch.from_numpy(self._targets[rows].astype(np.int64))

    def _order(self, number: int) -> IntArray:
        """The permutation of pass ``number``; the last one is remembered."""
        if self._pass[0] != number:
            order: IntArray = np.arange(self.words)
            if self.shuffle:
                order = np.random.default_rng([self.seed, number]).permutation(order)
            self._pass = (number, order)
        return self._pass[1]
