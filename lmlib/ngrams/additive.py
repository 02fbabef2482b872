"""Additive smoothing: pretend that every word was seen a little more often."""

from __future__ import annotations

import numpy as np

from lmlib.language_model import (
    FloatArray,
    LanguageModel,
    check_contexts,
    check_stream,
)
from lmlib.ngrams.backoff import expand
from lmlib.ngrams.contexts import available, cut_at_start
from lmlib.ngrams.counts import NgramCounts
from lmlib.ngrams.trie import ABSENT
from lmlib.vocabulary import IntArray


class Additive(LanguageModel):
    """P(w | h) = (c(hw) + delta) / (c(h) + delta |V|).

    delta = 1 is Laplace's rule, smaller ones Lidstone's. After a context never seen
    every word is equally probable. |V| leaves out ``<s>``, which is never predicted.
    Where fewer than n - 1 words stand before, they are the context (Chen and Goodman
    1998, section 2.1).
    """

    def __init__(self, counts: NgramCounts, delta: float = 1.0) -> None:
        if not 0 < delta < np.inf:
            raise ValueError(
                f"delta={delta}: expected above zero, or a word never seen would stay "
                "impossible; that is maximum_likelihood(counts)"
            )
        self.counts = counts
        self.vocabulary = counts.vocabulary
        self.delta = delta
        self.context_size: int = counts.order - 1
        self._predictable = len(self.vocabulary) - (
            self.vocabulary.start_id is not None
        )

    def __repr__(self) -> str:
        return f"Additive(delta={self.delta:g}, order {self.counts.order})"

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log P(w | context) for every word, ``(B, k)`` to ``(B, |V|)``."""
        start_id = self.vocabulary.start_id
        contexts = check_contexts(self.vocabulary, contexts, self.context_size)
        contexts = cut_at_start(contexts, start_id)
        table = np.full((len(contexts), len(self.vocabulary)), self.delta)
        total = np.zeros(len(contexts))
        length = (contexts[:, ::-1] != ABSENT).cumprod(axis=1).sum(axis=1)  # (B,)
        nodes = self.counts.trie.last_nodes(contexts, self.context_size)
        empty = length == 0
        table[empty] += self.counts.of(1)
        total[empty] = self.counts.tokens
        for j, node in enumerate(nodes, start=1):
            rows = np.flatnonzero((length == j) & (node != ABSENT))
            total[rows] = self.counts.followed(j)[node[rows]]
            low, high = self.counts.trie.children(j + 1, node[rows])
            row, child = expand(rows, low, high)
            word = self.counts.trie.last_words_of(j + 1, child)
            table[row, word] += self.counts.of(j + 1)[child]
        log_p: FloatArray = np.log(table / self._denominator(total)[:, None])
        if start_id is not None:
            log_p[:, start_id] = -np.inf
        return log_p

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P of each token of a text from ``start`` on: one look-up an order."""
        ids = check_stream(self.vocabulary, ids, start)
        start_id = self.vocabulary.start_id
        first = max(0, start - self.context_size)
        ids = ids[first:]
        length = available(ids, self.context_size, start_id)  # (T,)
        count = np.zeros(len(ids))
        total = np.zeros(len(ids))
        before = np.full(len(ids), 0, np.int32)  # the empty context has number 0
        for j, node in enumerate(self.counts.trie.walk(ids)):
            here = np.flatnonzero((length == j) & (before != ABSENT))
            total[here] = self.counts.followed(j)[before[here]]
            here = here[node[here] != ABSENT]
            count[here] = self.counts.of(j + 1)[node[here]]
            before = np.concatenate([[ABSENT], node[:-1]])
        log_p: FloatArray = np.log((count + self.delta) / self._denominator(total))
        if start_id is not None:
            log_p[ids == start_id] = -np.inf
        return log_p[start - first :]

    def _denominator(self, total: FloatArray) -> FloatArray:
        return total + self.delta * self._predictable
