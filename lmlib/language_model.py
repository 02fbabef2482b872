"""The one question every model of this book answers: which word comes next?

A model gives log P(w | context) for all words at once. From that single answer follow
the probability of a text (the chain rule, here), its perplexity (``perplexity``),
generated text (``generation``) and mixtures (``mixture``), written once for counts
and neural networks alike. Chapter 2.

Conventions. Logarithms are natural (nats) unless a name says otherwise. A context is
a row of ids, oldest word first; ``NO_WORD`` fills the left where the text had not
begun. The id of ``<s>``, where the vocabulary has it, starts a sentence: contexts do
not reach across it, and it is never predicted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmlib.vocabulary import IntArray, Vocabulary, reject_string

FloatArray = NDArray[np.floating[Any]]

NO_WORD = -1  # "the text had not begun here"

# Contexts answered at once by the default scorer: |V| = 18,000 floats each.
_CHUNK = 256


class LanguageModel(ABC):
    """A distribution over the next word, given the words before it.

    ``vocabulary`` is what it chooses from; ``context_size`` is how many earlier words
    it looks at (n - 1 for an n-gram model), or None for all of them.
    """

    vocabulary: Vocabulary
    context_size: int | None

    @abstractmethod
    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log P(w | context) for every word w, in nats: ``(B, k)`` to ``(B, |V|)``.

        A context longer than ``context_size`` is cut to its last words; a shorter one
        is answered with what is there. ``<s>`` has probability zero.
        """

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P(w_t | w_1 .. w_{t-1}) for t = start .. T-1, in nats, ``(T - start,)``.

        Words before ``start`` serve as context only. The answer equals
        ``next_log_probabilities`` asked one position at a time; models that can do it
        faster override this.
        """
        ids = check_stream(self.vocabulary, ids, start)
        out = np.empty(len(ids) - start)
        for low in range(start, len(ids), _CHUNK):
            high = min(low + _CHUNK, len(ids))
            contexts = context_windows(
                ids, self.window(high), self.vocabulary.start_id, low, high
            )
            table = self.next_log_probabilities(contexts)  # (B, |V|)
            out[low - start : high - start] = table[
                np.arange(high - low), ids[low:high]
            ]
        return out

    def log_probability(self, ids: IntArray) -> float:
        """log P(w_1 .. w_T), the chain rule's sum, in nats, without any ``<s>``."""
        log_p = self.token_log_probabilities(ids)[self.is_scored(ids)]
        return float(log_p.sum(dtype=np.float64))

    def next_distribution(self, context: Sequence[str]) -> dict[str, float]:
        """P(w | context) by word, most probable first: for one context, by hand."""
        reject_string(context, "context")
        ids = self.vocabulary.encode(context)[None, :]  # (1, k)
        p = np.exp(self.next_log_probabilities(ids)[0])  # (|V|,)
        order = np.argsort(-p, kind="stable").tolist()
        return {self.vocabulary.words[i]: float(p[i]) for i in order}

    def window(self, longest: int) -> int:
        """Words of context to offer: ``context_size``, or ``longest`` if unbounded."""
        return longest if self.context_size is None else self.context_size

    def is_scored(self, ids: IntArray) -> NDArray[np.bool_]:
        """Which tokens are predicted: all but ``<s>``, ``(T,)``."""
        start_id = self.vocabulary.start_id
        return np.full(len(ids), True) if start_id is None else ids != start_id


def check_stream(vocabulary: Vocabulary, ids: IntArray, start: int = 0) -> IntArray:
    """The ids as a one-dimensional array, checked against the vocabulary."""
    ids = np.asarray(ids)
    if ids.ndim != 1:
        raise ValueError(
            f"a text is one row of ids, got an array of shape {ids.shape}: "
            "score one text at a time"
        )
    if not 0 <= start <= len(ids):
        raise ValueError(
            f"start={start} is outside the text of {len(ids)} tokens: "
            f"expected 0 to {len(ids)}"
        )
    return vocabulary.check_ids(ids)


def check_contexts(
    vocabulary: Vocabulary, contexts: IntArray, width: int | None = None
) -> IntArray:
    """The contexts as ``(B, k)``, cut to the last ``width`` words, ids checked."""
    contexts = np.asarray(contexts)
    if contexts.ndim != 2:
        raise ValueError(
            f"contexts have shape {contexts.shape}: expected (B, k), one context a "
            "row; write a single context as ids[None, :]"
        )
    vocabulary.check_ids(np.where(contexts == NO_WORD, 0, contexts))
    if width is not None and contexts.shape[1] > width:
        contexts = contexts[:, contexts.shape[1] - width :]
    return contexts


def context_windows(
    ids: IntArray,
    width: int,
    boundary: int | None = None,
    start: int = 0,
    stop: int | None = None,
) -> NDArray[np.int32]:
    """The ``width`` words before each position start .. stop - 1, one a row.

    ``(stop - start, width)``, oldest first. ``NO_WORD`` stands before the text's first
    word, and before the last ``boundary`` (the id of ``<s>``) in the window, if given.
    """
    stop = len(ids) if stop is None else stop
    padded = np.full(width + stop, NO_WORD, np.int32)
    padded[width:] = ids[:stop]
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)[start:stop].copy()
    if boundary is not None and width:
        # True at and after the last boundary of a row; all True where there is none.
        later = np.cumsum((windows == boundary)[:, ::-1], axis=1)[:, ::-1]
        windows[(later - (windows == boundary)) > 0] = NO_WORD
    return windows
