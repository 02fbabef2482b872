"""Witten-Bell: a context that saw many different words will see new ones again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmlib.language_model import FloatArray
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.counts import Counts, NgramCounts
from lmlib.ngrams.smoothing import Groups, Smoothing


class _WittenBell(Smoothing):
    name = "Witten-Bell"

    def taken(self, order: int, count: Counts, group: Groups) -> FloatArray:
        total = group.sum(count).astype(np.float64)
        types = group.sum((count > 0).astype(np.float64))
        # c(hw) / (c(h) + T(h)) is the share of c(hw) - c(hw) T(h) / (c(h) + T(h)).
        lost = types / np.maximum(total + types, 1)
        taken: FloatArray = count * group.spread(lost)
        return taken


def witten_bell(
    counts: NgramCounts, interpolated: bool = True, cutoffs: Sequence[int] = ()
) -> BackoffModel:
    """P(w | h) = (c(hw) + T(h) P(w | h')) / (c(h) + T(h)).

    T(h) is the number of different words seen after h: each time a new one came was
    one time in c(h) that the context surprised us (Witten and Bell 1991, method C;
    Chen and Goodman 1998, section 2.5). In the back-off form seen words have
    c(hw) / (c(h) + T(h)).
    """
    return _WittenBell(counts).estimate(interpolated, cutoffs)
