"""Maximum likelihood: the relative frequency, and zero for what was never seen."""

from __future__ import annotations

import numpy as np

from lmlib.language_model import FloatArray
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.counts import Counts, NgramCounts
from lmlib.ngrams.smoothing import Groups, Smoothing


class _MaximumLikelihood(Smoothing):
    name = "maximum likelihood"
    reserves = False

    def taken(self, order: int, count: Counts, group: Groups) -> FloatArray:
        return np.zeros(len(count))


def maximum_likelihood(counts: NgramCounts) -> BackoffModel:
    """P(w | h) = c(hw) / c(h): makes the counted text as probable as possible.

    A word never seen after h has probability zero, log P = -inf. After a context that
    was itself never seen the formula says 0 / 0; the longest end of the context that
    was seen answers instead, so that every answer is a distribution.
    """
    # With nothing taken, nothing is left for the words below.
    return _MaximumLikelihood(counts).estimate(interpolated=True)
