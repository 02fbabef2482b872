"""How good word classes are: counts of class pairs, and what moving a word changes.

In a class-bigram model (Brown et al. 1992, section 3; Kneser and Ney 1993)

    P(w | v) = P(w | g(w)) P(g(w) | g(v))

every word w belongs to one class g(w). With relative frequencies for both factors, the
log-likelihood of the text depends on the classes through three sums (Martin, Liermann
and Ney 1998), with f(x) = x log x and N the counts of pairs of words or of the classes
they belong to:

    sum_gh f(N(g, h)) - sum_g f(N(g, .)) - sum_h f(N(., h)) + sum_w f(N(., w))

``exchange`` and ``merging`` search for the classes that make it large. Chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmlib.ngrams.backoff import Floats
from lmlib.ngrams.counts import Counts, NgramCounts
from lmlib.vocabulary import IntArray

Classes = NDArray[np.int32]

# Cells evaluated at once: so many stay in the cache.
_CELLS = 1 << 18


class Profile(NamedTuple):
    """The company of one word or class: counts with the classes around it."""

    after: IntArray  # classes that follow, each once
    after_counts: IntArray
    before: IntArray  # classes that precede, each once
    before_counts: IntArray
    itself: int  # how often it follows itself
    followed: int  # N(w, .)
    follows: int  # N(., w)


class WordPairs:
    """The pairs of neighbouring words of a text, found by either word."""

    def __init__(self, counts: NgramCounts) -> None:
        if counts.order < 2:
            raise ValueError(
                "classes are learned from pairs of words, and only single words were "
                "counted: count_ngrams with order 2 or more"
            )
        first, second = counts.trie.parents(2), counts.trie.last_words(2)
        count = counts.of(2)
        words = len(counts.vocabulary)
        self.vocabulary = counts.vocabulary
        self.occurrences = counts.of(1)
        self.first, self.second, self.count = first, second, count
        self.followed = _sums(first, count, words)  # N(w, .)
        self.follows = _sums(second, count, words)  # N(., w)
        same = first == second
        self.itself = _sums(first[same], count[same], words)
        self._after = _lists(first[~same], second[~same], count[~same], words)
        self._before = _lists(second[~same], first[~same], count[~same], words)

    @property
    def total(self) -> int:
        """Number of pairs in the text."""
        return int(self.count.sum())

    def by_frequency(self) -> NDArray[np.int64]:
        """Words to be classed, most frequent first: all that occur but ``<s>``."""
        order = np.argsort(-self.occurrences, kind="stable")
        return order[self.occurrences[order] > 0]

    def profile(self, word: int, of: Classes, number: int) -> Profile:
        """The classes around one word, itself left out."""
        after, after_counts = _by_class(self._after, word, of, number)
        before, before_counts = _by_class(self._before, word, of, number)
        return Profile(
            after,
            after_counts,
            before,
            before_counts,
            int(self.itself[word]),
            int(self.followed[word]),
            int(self.follows[word]),
        )


class ClassPairs:
    """N(g, h) for all classes, and what it would gain to add a word to each class.

    Kept twice, by rows and by columns, since both are read a thousand times more
    often than written.
    """

    def __init__(self, pairs: WordPairs, of: Classes, number: int) -> None:
        cell = of[pairs.first].astype(np.int64) * number + of[pairs.second]
        flat = _sums(cell, pairs.count, number * number)
        self.rows = flat.reshape(number, number)  # N(g, h) at [g, h]
        self.columns = self.rows.T.copy()  # N(g, h) at [h, g]
        self.followed = self.rows.sum(axis=1)  # N(g, .)
        self.follows = self.rows.sum(axis=0)  # N(., h)
        self.f = x_log_x(pairs.total)
        self._words = float(self.f[pairs.follows].sum())

    @property
    def log_likelihood(self) -> float:
        """log P of the text's pairs under the class-bigram model, in nats."""
        f = self.f
        classes = f[self.followed].sum() + f[self.follows].sum()
        cells = sum(float(f[row].sum()) for row in self.rows)
        return float(cells - classes + self._words)

    def add(self, who: Profile, to: int, sign: int = 1) -> None:
        """Add a word to a class, or take it out with ``sign`` -1."""
        for table, other, after, count in (
            (self.rows, self.columns, who.after, who.after_counts),
            (self.columns, self.rows, who.before, who.before_counts),
        ):
            table[to, after] += sign * count
            other[after, to] += sign * count
        self.rows[to, to] += sign * who.itself
        self.columns[to, to] += sign * who.itself
        # The totals of the classes around it stay: their pairs only move.
        self.followed[to] += sign * who.followed
        self.follows[to] += sign * who.follows

    def gains(self, who: Profile) -> Floats:
        """Change of the log-likelihood's sums if the word joined each class, ``(c,)``.

        Only the cells in the word's own company change, so only those are read; the
        word itself must be in no class.
        """
        f = self.f
        gain: Floats = f.take(self.followed) - f.take(self.followed + who.followed)
        gain += f.take(self.follows) - f.take(self.follows + who.follows)
        self._gain_cells(gain, self.columns, who.after, who.after_counts)
        self._gain_cells(gain, self.rows, who.before, who.before_counts)
        # The cell (g, g) was taken for two cells: put that right.
        after, before = np.zeros((2, len(gain)), np.int64)
        after[who.after] = who.after_counts
        before[who.before] = who.before_counts
        cell = self.rows.diagonal()
        gain += f.take(cell + (after + before + who.itself)) + f.take(cell)
        gain -= f.take(cell + after) + f.take(cell + before)
        return gain

    def _gain_cells(
        self, gain: Floats, table: Counts, classes: IntArray, counts: IntArray
    ) -> None:
        f = self.f
        step = max(1, _CELLS // len(table))
        for low in range(0, len(classes), step):
            cells = table[classes[low : low + step]]  # (k, c)
            before = f.take(cells, mode="clip")
            cells += counts[low : low + step, None]
            change = f.take(cells, mode="clip")
            change -= before
            gain += change.sum(axis=0)


def x_log_x(largest: int) -> Floats:
    """f(x) = x log x for x = 0 .. ``largest``, with 0 log 0 = 0."""
    x: Floats = np.arange(largest + 1, dtype=np.float64)
    x *= np.log(np.maximum(x, 1))
    return x


def _sums(groups: IntArray, values: Counts, number: int) -> Counts:
    """Sum of the values of each group, exact: float64 holds integers up to 2**53."""
    return np.bincount(groups, values, number).astype(np.int64)


_Lists = tuple[NDArray[np.int64], IntArray, Counts]


def _lists(words: IntArray, others: IntArray, count: Counts, size: int) -> _Lists:
    """For each word its neighbours and their counts, one behind the other."""
    order = np.argsort(words, kind="stable")
    edges = np.searchsorted(words[order], np.arange(size + 1))
    return edges, others[order], count[order]


def _by_class(
    lists: _Lists, word: int, of: Classes, number: int
) -> tuple[IntArray, IntArray]:
    edges, others, count = lists
    low, high = edges[word], edges[word + 1]
    total = np.bincount(of[others[low:high]], count[low:high], number)
    classes = np.flatnonzero(total)
    return classes, total[classes].astype(np.int64)
