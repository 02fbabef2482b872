"""What the models of this package share: features of a window, answers, files.

A subclass says how scores come from the features; looking up C, answering the
``LanguageModel`` questions in NumPy, saving and loading are written once, here.

Shapes: B contexts, n - 1 words each, m features a word.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.answering import answering
from lmlib.checkpoints import read_tensors, write_tensors
from lmlib.language_model import (
    NO_WORD,
    FloatArray,
    LanguageModel,
    check_contexts,
    check_stream,
    context_windows,
)
from lmlib.nnlm.config import NNLMConfig
from lmlib.vocabulary import IntArray, Vocabulary

Uniform = Callable[..., nn.Parameter]  # uniform(bound, *shape)


class WindowModel(nn.Module, LanguageModel):
    """A language model over windows of n - 1 words with shared features C ``(|V|, m)``.

    ``generator`` draws the starting values, the same on every machine. ``counts``
    (how often each word occurs in the training text, ``(|V|,)``) start the model at
    the unigram frequencies, add one.
    """

    config_type: ClassVar[type[NNLMConfig]] = NNLMConfig
    scored_at_once: ClassVar[int] = 2048  # contexts, for a long text

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: NNLMConfig,
        generator: np.random.Generator,
        *,
        counts: IntArray | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.config = config
        self.context_size: int = config.order - 1

        def uniform(bound: float, *shape: int) -> nn.Parameter:
            values = generator.uniform(-bound, bound, shape)
            return nn.Parameter(torch.tensor(values, dtype=dtype))

        features = generator.normal(0, 0.1, (len(vocabulary), config.features))
        self.C = nn.Parameter(torch.tensor(features, dtype=dtype))  # (|V|, m)
        self._make(uniform, _log_frequencies(counts, len(vocabulary)).to(dtype))

    @abstractmethod
    def _make(self, uniform: Uniform, log_frequencies: Tensor) -> None:
        """Create the parameters besides C."""

    @abstractmethod
    def loss(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """Mean -log P(target | context) over the batch, in nats.

        Contexts ``(B, n-1)``, oldest word first; targets ``(B,)``.
        """

    @abstractmethod
    def log_probabilities(self, contexts: Tensor) -> Tensor:
        """log P(w | context) for every word: ``(B, n-1)`` to ``(B, |V|)``."""

    def target_log_probabilities(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """log P(target | context): ``(B, n-1)`` and ``(B,)`` to ``(B,)``."""
        return self.log_probabilities(contexts).gather(1, targets[:, None])[:, 0]

    def features(self, contexts: Tensor) -> Tensor:
        """C looked up: ``(B, n-1)`` ids, oldest first, to ``(B, n-1, m)``.

        ``NO_WORD`` has no features: a vector of zeros.
        """
        self._check(contexts)
        contexts = contexts.to(self.C.device)
        known = (contexts != NO_WORD).unsqueeze(2)  # (B, n-1, 1)
        return F.embedding(contexts.clamp(min=0), self.C) * known

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log P(w | context) for every word, in nats: ``(B, k)`` to ``(B, |V|)``."""
        contexts = check_contexts(self.vocabulary, contexts, self.context_size)
        short = self.context_size - contexts.shape[1]
        padded = np.pad(contexts, ((0, 0), (short, 0)), constant_values=NO_WORD)
        if not len(padded):
            return np.empty((0, len(self.vocabulary)))
        with answering(self):
            log_p = self.log_probabilities(torch.from_numpy(padded).long())
        answer: FloatArray = log_p.cpu().numpy()
        return answer

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P(w_t | the n - 1 words before) for t = start .. T-1, ``(T - start,)``.

        Only the targets' probabilities are kept, so a long text needs little memory.
        """
        ids = check_stream(self.vocabulary, ids, start)
        boundary = self.vocabulary.start_id
        out = np.empty(len(ids) - start)
        with answering(self):
            for low in range(start, len(ids), self.scored_at_once):
                high = min(low + self.scored_at_once, len(ids))
                windows = context_windows(ids, self.context_size, boundary, low, high)
                log_p = self.target_log_probabilities(
                    torch.from_numpy(windows).long(),
                    torch.from_numpy(ids[low:high]).long().to(self.C.device),
                )
                out[low - start : high - start] = log_p.cpu().numpy()
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters, configuration and the vocabulary's fingerprint."""
        about = {
            "model": type(self).__name__,
            "config": asdict(self.config),
            "vocabulary": self.vocabulary.fingerprint,
        }
        write_tensors(path, {k: v.detach() for k, v in self.named_parameters()}, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], vocabulary: Vocabulary) -> Self:
        """Read what ``save`` wrote.

        Raises ``ValueError`` for a damaged file, for another kind of model, and when
        the vocabulary is not the one the model was trained on.
        """
        expected = {"model": cls.__name__, "vocabulary": vocabulary.fingerprint}
        tensors, about = read_tensors(path, expected)
        config = cls.config_type(**about["config"])
        dtype = tensors["C"].dtype
        model = cls(vocabulary, config, np.random.default_rng(0), dtype=dtype)
        model.load_state_dict(tensors)
        return model

    def _without_start(self, values: Tensor, value: float) -> Tensor:
        """``(|V|,)`` with ``value`` for ``<s>``, which is never predicted."""
        start_id = self.vocabulary.start_id
        if start_id is None:
            return values
        index = torch.tensor([start_id], device=values.device)
        return values.index_fill(0, index, value)

    def _check(self, contexts: Tensor) -> None:
        if contexts.ndim != 2 or contexts.shape[1] != self.context_size:
            raise ValueError(
                f"contexts have shape {tuple(contexts.shape)}: expected (B, "
                f"{self.context_size}), the n - 1 words before each target; "
                "lmlib.language_model.context_windows makes them"
            )
        if len(contexts) == 0:
            raise ValueError("the batch is empty: expected at least one context")
        if contexts.device.type == "cpu":  # elsewhere looking would stall the device
            low, high = int(contexts.min()), int(contexts.max())
            if low < NO_WORD or high >= len(self.vocabulary):
                raise ValueError(
                    f"id {low if low < NO_WORD else high} is outside 0 to "
                    f"{len(self.vocabulary) - 1}: the ids were made with another "
                    "vocabulary"
                )


def _log_frequencies(counts: IntArray | None, words: int) -> Tensor:
    """Log of the add-one frequencies, or zeros without counts, ``(|V|,)``."""
    if counts is None:
        return torch.zeros(words)
    counts = np.asarray(counts)
    if counts.shape != (words,) or (counts < 0).any():
        raise ValueError(
            f"counts have shape {counts.shape}: expected {words} counts of 0 or more, "
            "one for each word: np.bincount(ids, minlength=len(vocabulary))"
        )
    return torch.from_numpy(np.log((counts + 1) / (counts.sum() + words)))
