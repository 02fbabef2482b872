"""Density estimates on a line: the picture behind generalisation. Chapter 2.

An n-gram table is a histogram over sentences: probability only where data fell. A
smooth estimate puts some around each observation. On one axis the difference can be
seen; with ten words at a time it decides everything (Bengio et al. 2003, section 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Density = Callable[[ArrayLike], NDArray[np.float64]]


def _sample(points: ArrayLike) -> NDArray[np.float64]:
    x = np.asarray(points, np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError(
            f"points have shape {x.shape}: expected at least one number, (N,)"
        )
    return x


def histogram(points: ArrayLike, edges: ArrayLike) -> Density:
    """Share of the points in each bin over the bin's width; zero in empty bins.

    Not parametric: it has as many numbers as bins, and each is learned alone. Raises
    ``ValueError`` for points outside the edges, whose share would be lost.
    """
    x, borders = _sample(points), np.asarray(edges, np.float64)
    outside = x[(x < borders[0]) | (x >= borders[-1])]
    if len(outside):
        raise ValueError(
            f"the point {outside[0]} is outside the edges {borders[0]} to "
            f"{borders[-1]}: give edges that hold all points"
        )
    heights, _ = np.histogram(x, borders)
    density = heights / (len(x) * np.diff(borders))  # (bins,)
    padded = np.concatenate([[0.0], density, [0.0]])

    def at(values: ArrayLike) -> NDArray[np.float64]:
        return padded[np.searchsorted(borders, values, side="right")]

    return at


def gaussian(points: ArrayLike) -> Density:
    """One normal density with the points' mean and spread: two parameters in all."""
    x = _sample(points)
    if not x.std() > 0:
        raise ValueError(
            f"all {len(x)} points are {x[0]}, so they have no spread to fit: give at "
            "least two different ones"
        )
    return kernel([float(x.mean())], float(x.std()))


def kernel(points: ArrayLike, width: float) -> Density:
    """A narrow normal density around every point, averaged (Parzen 1962)."""
    x = _sample(points)
    if width <= 0:
        raise ValueError(f"width={width}: expected a positive spread around each point")

    def at(values: ArrayLike) -> NDArray[np.float64]:
        z = (np.asarray(values, np.float64)[..., None] - x) / width  # (..., N)
        bumps = np.exp(-0.5 * z**2) / (width * math.sqrt(2 * math.pi))
        mean: NDArray[np.float64] = bumps.mean(axis=-1)
        return mean

    return at
