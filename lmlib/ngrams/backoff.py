"""The one form of every back-off and interpolated model: a probability or a retreat.

Each n-gram in the table has log P(w | h), and each context a back-off weight alpha(h):

    P(w | h) = p(w | h)                 if the n-gram hw is in the table
             = alpha(h) P(w | h')       if it is not (h' is h without its oldest word)

with alpha(h) = 1 for a context that is not in the table (Katz 1987). This is
also what an ARPA file holds. An interpolated model, p(w | h) + gamma(h) P(w | h'),
takes the same form: the sum is stored for the n-grams seen, and gamma(h) is alpha(h).
So scoring, explaining, pruning, writing and reading are written once. Chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import (
    FloatArray,
    LanguageModel,
    check_contexts,
    check_stream,
)
from lmlib.ngrams.explain import Explanation, explain
from lmlib.ngrams.trie import ABSENT, Nodes, Trie
from lmlib.vocabulary import IntArray, Vocabulary

if TYPE_CHECKING:
    from lmlib.ngrams.smoothing import Smoothing

Floats = NDArray[np.float64]


class BackoffModel(LanguageModel):
    """A table of n-grams with log P and log back-off weights, in nats.

    ``log_p[k - 1]`` belongs to the n-grams of order k, ``log_alpha[k - 1]`` to the same
    n-grams as contexts, for k below the highest order. Contexts with fewer than n - 1
    words are answered by the orders that fit.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        trie: Trie,
        log_p: Sequence[Floats],
        log_alpha: Sequence[Floats],
        name: str = "back-off",
        smoothing: Smoothing | None = None,
        interpolated: bool = False,
    ) -> None:
        self.vocabulary = vocabulary
        self.trie = trie
        self.log_p = list(log_p)
        self.log_alpha = list(log_alpha)
        self.name = name
        self.smoothing = smoothing  # how it was estimated, for ``explain``
        self.interpolated = interpolated
        self.context_size: int = trie.order - 1

    @property
    def order(self) -> int:
        """Length n of the longest n-grams."""
        return self.trie.order

    def __repr__(self) -> str:
        sizes = " + ".join(f"{self.trie.size(k):,}" for k in range(1, self.order + 1))
        return f"BackoffModel({self.name}, order {self.order}: {sizes} n-grams)"

    @property
    def nbytes(self) -> int:
        """Bytes of the table: keys, log-probabilities and back-off weights."""
        arrays = [*self.trie.keys, *self.log_p, *self.log_alpha]
        return sum(array.nbytes for array in arrays)

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log P(w | context) for every word, ``(B, k)`` to ``(B, |V|)``."""
        contexts = check_contexts(self.vocabulary, contexts, self.context_size)
        table = np.tile(self.log_p[0], (len(contexts), 1))  # (B, |V|)
        nodes = self.trie.last_nodes(contexts, self.context_size)
        for j, node in enumerate(nodes, start=1):  # contexts of j words
            rows = np.flatnonzero(node != ABSENT)
            node = node[rows]
            table[rows] += self.log_alpha[j - 1][node][:, None]
            low, high = self.trie.children(j + 1, node)
            row, child = expand(rows, low, high)
            word = self.trie.last_words_of(j + 1, child)
            table[row, word] = self.log_p[j][child]
        return table

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P of each token of a text from ``start`` on: one look-up an order."""
        return self.score(ids, start)[0]

    def score(self, ids: IntArray, start: int = 0) -> tuple[Floats, Nodes]:
        """log P of each token, and the order of the n-gram that answered.

        Both ``(T - start,)``, as KenLM's ``full_scores`` gives them.
        """
        ids = check_stream(self.vocabulary, ids, start)
        first = max(0, start - self.context_size)
        return self._score(ids[first:], start - first)

    def _score(self, ids: IntArray, start: int) -> tuple[Floats, Nodes]:
        walk = self.trie.walk(ids)
        context = next(walk)
        log_p = self.log_p[0][context]
        matched = np.ones(len(ids), np.int32)
        for k, node in enumerate(walk, start=2):
            # Retreat wherever the context is known; then overwrite what was found.
            known = np.flatnonzero(context[:-1] != ABSENT)
            log_p[known + 1] += self.log_alpha[k - 2][context[known]]
            found = np.flatnonzero(node != ABSENT)
            log_p[found] = self.log_p[k - 1][node[found]]
            matched[found] = k
            context = node
        return log_p[start:], matched[start:]

    def last_log_probabilities(self, rows: IntArray) -> Floats:
        """log P(last word | the words before it) of each row, ``(B, k)`` to ``(B,)``.

        ``NO_WORD`` at the left of a row shortens its context.
        """
        contexts, words = rows[:, :-1], rows[:, -1]
        log_p = self.log_p[0][words]
        for j, context in enumerate(
            self.trie.last_nodes(contexts, self.context_size), start=1
        ):
            known = np.flatnonzero(context != ABSENT)
            log_p[known] += self.log_alpha[j - 1][context[known]]
            node = self.trie.find(j + 1, context, words)
            found = np.flatnonzero(node != ABSENT)
            log_p[found] = self.log_p[j][node[found]]
        return log_p

    def explain(self, context: Sequence[str], word: str) -> Explanation:
        """Which order answers for P(word | context), and how; print it to read it."""
        return explain(self, context, word)


def expand(
    rows: IntArray, low: IntArray, high: IntArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every number of every range low .. high - 1, with the row it belongs to.

    >>> expand(np.array([7, 8]), np.array([0, 5]), np.array([2, 6]))
    (array([7, 7, 8]), array([0, 1, 5]))
    """
    sizes = high - low
    ends = np.cumsum(sizes)
    row = np.repeat(rows, sizes)
    number = np.arange(len(row))
    number -= np.repeat(ends - sizes - low, sizes)
    return row.astype(np.int64, copy=False), number
