"""Good-Turing counts and Katz's back-off.

How probable is what was never seen? Good (1953), after Turing: as probable as all that
was seen exactly once. In general an n-gram seen r times should count as

    r* = (r + 1) n_{r+1} / n_r

where n_r is how many n-grams were seen r times. Chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmlib.ngrams.absolute_discounting import FALL_BACK
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.counts import Counts, NgramCounts, counts_of_counts
from lmlib.ngrams.smoothing import DiscountTable, announce


def good_turing_count(n: Sequence[int], r: int) -> float:
    """r* = (r + 1) n_{r+1} / n_r, with ``n[r]`` the number of n-grams seen r times.

    Raises ``ValueError`` where n_r is zero: no n-gram asks for that count.
    """
    if not 0 <= r < len(n) - 1 or n[r] == 0:
        raise ValueError(
            f"r* of r = {r} needs n_r above zero and n_r+1, and the counts of counts "
            f"are {list(n)}: take a smaller r or more text"
        )
    return (r + 1) * n[r + 1] / n[r]


def katz_ratios(n: Sequence[int], largest: int) -> list[float]:
    """d_1 .. d_k, by which Katz multiplies the counts 1 .. k = ``largest``.

    d_r = (r* / r - A) / (1 - A) with A = (k + 1) n_{k+1} / n_1, so that counts above k
    stay as they are and the n_1 still goes to the unseen (Katz 1987). An empty
    list where the counts of counts do not allow it: every d_r must be in (0, 1).
    """
    if any(n[r] == 0 for r in range(1, largest + 1)):
        return []
    above = (largest + 1) * n[largest + 1] / n[1]
    if above >= 1:
        return []
    ratios = [
        (good_turing_count(n, r) / r - above) / (1 - above)
        for r in range(1, largest + 1)
    ]
    return ratios if all(0 < d < 1 for d in ratios) else []


class _Katz(DiscountTable):
    name = "Good-Turing"

    def __init__(self, counts: NgramCounts, largest: int) -> None:
        self.largest = largest
        super().__init__(counts)

    def table(self, order: int, count: Counts) -> Sequence[float]:
        n = counts_of_counts(count, self.largest + 1).tolist()
        for largest in range(self.largest, 0, -1):
            if ratios := katz_ratios(n, largest):
                if largest < self.largest:
                    what = f"only counts up to {largest} are discounted, not"
                    announce(f"Good-Turing up to {self.largest}", order, n[1:], what)
                return [0, *((1 - d) * r for r, d in enumerate(ratios, 1)), 0]
        if len(count):
            announce("Good-Turing", order, n[1:], f"{FALL_BACK} is taken from")
        return [0, FALL_BACK]


def katz(
    counts: NgramCounts,
    largest: int = 5,
    interpolated: bool = False,
    cutoffs: Sequence[int] = (),
) -> BackoffModel:
    """Katz's back-off (1987): counts up to ``largest`` are discounted by Good-Turing.

    P(w | h) = d_r c(hw) / c(h) for an n-gram seen r times, and the reserve goes to the
    words not seen after h in proportion to P(w | h').

    Where the counts of counts of an order give a d_r outside (0, 1), a smaller
    ``largest`` is tried for that order, and last a discount of 0.5 for every count; a
    ``DegenerateCounts`` warning says which. Raises ``ValueError`` for ``largest``
    below 1.
    """
    if isinstance(largest, bool) or not isinstance(largest, int) or largest < 1:
        raise ValueError(
            f"largest={largest!r} discounts no count: expected an integer from 1 on"
        )
    return _Katz(counts, largest).estimate(interpolated, cutoffs)
