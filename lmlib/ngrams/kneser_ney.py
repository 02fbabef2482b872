"""Kneser-Ney: a shorter n-gram counts by how many words it was seen after.

"Francisco" is frequent, but it follows hardly any word but "San". After an unseen
context it should be improbable, though its frequency is high. So below the highest
order Kneser and Ney (1995) count not how often an n-gram occurs but how many different
words stand before it, its *continuation count*

    N1+(. w_1 .. w_k) = |{v : c(v w_1 .. w_k) > 0}|

N-grams that begin with ``<s>`` keep their plain count: nothing can stand before them.
Chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmlib.ngrams.absolute_discounting import check_discount, single_discount
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.counts import Counts, NgramCounts, counts_of_counts
from lmlib.ngrams.smoothing import DiscountTable, announce


def continuation_counts(counts: NgramCounts, order: int) -> Counts:
    """N1+(. w_1 .. w_k) of each n-gram of an order below the highest, ``(size,)``."""
    if not 1 <= order < counts.order:
        raise ValueError(
            f"continuation counts of order {order} need n-grams of order {order + 1}, "
            f"and those counted go up to {counts.order}: count with a higher order"
        )
    size = counts.trie.size(order)
    found = np.bincount(counts.shorter(order + 1), minlength=size)
    start_id = counts.vocabulary.start_id
    if start_id is not None and order > 1:
        low, high = start_id, start_id + 1
        for k in range(2, order + 1):  # n-grams that begin with <s> stand together
            edges = counts.trie.children(k, np.array([low, high]))[0]
            low, high = int(edges[0]), int(edges[1])
        found[low:high] = counts.of(order)[low:high]
    return found


class _KneserNey(DiscountTable):
    name = "Kneser-Ney"

    def __init__(self, counts: NgramCounts, discount: float | None = None) -> None:
        self.discount = discount
        super().__init__(counts)

    def effective_counts(self) -> list[Counts]:
        counts = self.counts
        below = [continuation_counts(counts, k) for k in range(1, counts.order)]
        return [*below, counts.of(counts.order)]

    def count_in_words(self, order: int, count: int) -> str:
        if order == self.counts.order:
            return super().count_in_words(order, count)
        return f"has the continuation count {count}"

    def table(self, order: int, count: Counts) -> Sequence[float]:
        if self.discount is not None:
            return [0, self.discount]
        return [0, single_discount(order, count)]


class _ModifiedKneserNey(_KneserNey):
    name = "modified Kneser-Ney"

    def table(self, order: int, count: Counts) -> Sequence[float]:
        return [0, *modified_discounts(order, count)]


FALL_BACK = (0.5, 1.0, 1.5)  # discounts of the counts 1, 2, and 3 or more


def modified_discounts(order: int, count: Counts) -> tuple[float, float, float]:
    """D_1, D_2 and D_3+ of an order, from how many n-grams occur 1, 2, 3, 4 times.

    Y = n_1 / (n_1 + 2 n_2) and D_j = j - (j + 1) Y n_{j+1} / n_j (Chen and Goodman
    1998, section 3). Where an n_j is zero or a D_j is outside (0, j), as in
    small or strange texts, all three are 0.5, 1.0, 1.5, and a ``DegenerateCounts``
    warning says so.
    """
    n = counts_of_counts(count, 4)[1:].tolist()
    if min(n[:3]) > 0:
        y = n[0] / (n[0] + 2 * n[1])
        d = [j - (j + 1) * y * n[j] / n[j - 1] for j in (1, 2, 3)]
        if all(0 < d[j - 1] < j for j in (1, 2, 3)):
            return d[0], d[1], d[2]
    if len(count):
        announce("modified Kneser-Ney", order, n, "0.5, 1.0 and 1.5 are taken from")
    return FALL_BACK


def kneser_ney(
    counts: NgramCounts,
    discount: float | None = None,
    interpolated: bool = True,
    cutoffs: Sequence[int] = (),
) -> BackoffModel:
    """Kneser-Ney with one discount D an order, n_1 / (n_1 + 2 n_2) unless given.

    Interpolated (Chen and Goodman 1998, section 2.7), or back-off as in Kneser and Ney
    (1995). At order 1 there is nothing to continue, and plain counts serve.

    Raises ``ValueError`` for a discount outside (0, 1) or unusable cut-offs.
    """
    check_discount(discount)
    return _KneserNey(counts, discount).estimate(interpolated, cutoffs)


def modified_kneser_ney(
    counts: NgramCounts, interpolated: bool = True, cutoffs: Sequence[int] = ()
) -> BackoffModel:
    """Kneser-Ney with three discounts an order (Chen and Goodman 1998, section 3).

    P(w | h) = (c(hw) - D(c(hw))) / c(h) + gamma(h) P(w | h')

    where D is D_1, D_2 or D_3+ (``modified_discounts``). The best of the count-based
    models in this book. Raises ``ValueError`` for unusable cut-offs.
    """
    return _ModifiedKneserNey(counts).estimate(interpolated, cutoffs)
