"""Absolute discounting: every count seen loses the same amount."""

from __future__ import annotations

from collections.abc import Sequence

from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.counts import Counts, NgramCounts, counts_of_counts
from lmlib.ngrams.smoothing import DiscountTable, announce

FALL_BACK = 0.5


def single_discount(order: int, count: Counts) -> float:
    """D = n_1 / (n_1 + 2 n_2) (Ney, Essen and Kneser 1994).

    Where no n-gram occurs once, or none twice, that is 0 or 1 and useless: 0.5 is
    taken, and a ``DegenerateCounts`` warning says so.
    """
    n_1, n_2 = counts_of_counts(count, 2)[1:].tolist()
    if n_1 and n_2:
        return float(n_1 / (n_1 + 2 * n_2))
    if len(count):
        announce("the single discount", order, [n_1, n_2], "0.5 is taken from")
    return FALL_BACK


def check_discount(discount: float | None) -> None:
    """``ValueError`` unless the discount is None or inside (0, 1)."""
    if discount is not None and not 0 < discount < 1:
        raise ValueError(
            f"discount {discount} is outside (0, 1): an n-gram seen once would keep "
            "a count of zero or less, or lose nothing; give one inside, or None for "
            "n_1 / (n_1 + 2 n_2)"
        )


class _AbsoluteDiscounting(DiscountTable):
    name = "absolute discounting"

    def __init__(self, counts: NgramCounts, discount: float | None) -> None:
        self.discount = discount
        super().__init__(counts)

    def table(self, order: int, count: Counts) -> Sequence[float]:
        if self.discount is not None:
            return [0, self.discount]
        return [0, single_discount(order, count)]


def absolute_discounting(
    counts: NgramCounts,
    discount: float | None = None,
    interpolated: bool = True,
    cutoffs: Sequence[int] = (),
) -> BackoffModel:
    """P(w | h) = max(c(hw) - D, 0) / c(h) + gamma(h) P(w | h').

    With D = n_1 / (n_1 + 2 n_2) an order unless given (Ney, Essen and Kneser 1994;
    Chen and Goodman 1998, section 2.6), or its back-off form.

    Raises ``ValueError`` for a discount outside (0, 1) or unusable cut-offs.
    """
    check_discount(discount)
    return _AbsoluteDiscounting(counts, discount).estimate(interpolated, cutoffs)
