"""Drawing words: the alias table, the noise of negative sampling, subsampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.floating[Any]]


class AliasTable:
    """Draws from a fixed distribution in constant time (Walker 1977, Vose 1991).

    Cut the probabilities, times n, into n columns of height one, each holding at most
    two outcomes: outcome i up to ``threshold[i]`` and ``alias[i]`` above it. A draw is
    then a column and a height, whatever n is. Raises ``ValueError`` for weights that
    are negative, not finite, or all zero.

    >>> table = AliasTable([3, 0, 1])
    >>> table.sample(4, np.random.default_rng(0)).tolist()
    [2, 0, 0, 0]
    """

    def __init__(self, weights: ArrayLike) -> None:
        self.probabilities = normalised(weights, "weights")  # (n,)
        n = len(self.probabilities)
        height = (self.probabilities * n).tolist()
        self.threshold = np.ones(n)
        self.alias = np.arange(n)
        low = [i for i, h in enumerate(height) if h < 1]
        high = [i for i, h in enumerate(height) if h >= 1]
        while low and high:
            small, large = low.pop(), high[-1]
            self.threshold[small] = height[small]
            self.alias[small] = large
            height[large] -= 1 - height[small]  # it fills up the small one's column
            if height[large] < 1:
                low.append(high.pop())
        # Rounding may leave columns of height 1 - 1e-16: they stay their own. But one
        # of probability zero must never be drawn.
        for i in low:
            if self.probabilities[i] == 0:
                self.threshold[i], self.alias[i] = 0, int(self.probabilities.argmax())

    def sample(
        self, size: int | tuple[int, ...], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Independent draws of the given shape."""
        mark = generator.random(size) * len(self.threshold)
        column = mark.astype(np.int64)
        above = mark - column >= self.threshold[column]
        return np.where(above, self.alias[column], column)


def normalised(weights: ArrayLike, what: str) -> FloatArray:
    """The weights divided by their sum, float64, or a ``ValueError`` about them."""
    array = np.asarray(weights, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{what} have shape {array.shape}: expected one number for each word"
        )
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        raise ValueError(
            f"{what} hold {array[bad][0]} at position {int(bad.argmax())}: expected "
            "finite numbers, none below zero"
        )
    if array.sum() == 0:
        raise ValueError(f"{what} are all zero: at least one word must have occurred")
    result: FloatArray = array / array.sum()
    return result


def noise_distribution(counts: ArrayLike, power: float = 0.75) -> FloatArray:
    """P_n(w) proportional to count(w)^power, ``(|V|,)``.

    Between the unigram distribution (power 1) and the uniform one (power 0); Mikolov
    et al. 2013b found 3/4 best (section 2.2). Words that never occur stay at zero.
    """
    if not 0 <= power <= 1:
        raise ValueError(
            f"power={power} of the noise is outside 0 (uniform) to 1 (unigram)"
        )
    p = normalised(counts, "counts")
    return normalised(np.where(p > 0, p**power, 0), "counts")


def keep_probabilities(counts: ArrayLike, threshold: float) -> FloatArray:
    """Probability that an occurrence of each word is kept in a pass, ``(|V|,)``.

    min(1, sqrt(t/f) + t/f) for relative frequency f and threshold t. Mikolov et al.
    2013b print sqrt(t/f) (eq. 5); the second term is in their released code, which
    everyone follows. A threshold of 0 keeps everything.
    """
    if threshold < 0:
        raise ValueError(
            f"subsample={threshold} is below zero: expected a relative frequency such "
            "as 1e-3, or 0 to keep every word"
        )
    f = normalised(counts, "counts")
    if threshold == 0:
        return np.ones_like(f)
    ratio = np.divide(threshold, f, out=np.ones_like(f), where=f > 0)
    result: FloatArray = np.minimum(1, np.sqrt(ratio) + ratio)
    return result
