"""Words as numbers, the two oldest ways: ordinal codes and one-hot vectors. Chapter 1.

An ordinal code gives word number i the number i, and with it an order and distances
that the words do not have. A one-hot vector gives it the i-th standard basis vector
e_i: no order, every two words equally far apart, and |V| numbers of which one is 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lmlib.vocabulary import IntArray


def ordinal_distances(codes: ArrayLike) -> NDArray[np.float64]:
    """abs(i - j) between all pairs of ordinal codes, ``(K,)`` to ``(K, K)``.

    >>> ordinal_distances([1, 2, 3]).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    values = np.asarray(codes, np.float64)
    if values.ndim != 1:
        raise ValueError(
            f"codes have shape {values.shape}: expected one number a category, (K,)"
        )
    return np.abs(values[:, None] - values[None, :])


def one_hot(ids: IntArray | int, size: int) -> NDArray[np.float64]:
    """Standard basis vectors e_i, ``(...)`` ids to ``(..., size)``.

    >>> one_hot(1, 3).tolist()
    [0.0, 1.0, 0.0]

    Raises ``ValueError`` for an id outside 0 to size - 1.
    """
    if size < 1:
        raise ValueError(f"size={size}: a one-hot vector needs at least 1 component")
    array = np.asarray(ids)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"ids have type {array.dtype}: expected integers")
    bad = (array < 0) | (array >= size)
    if bad.any():
        raise ValueError(
            f"id {int(array[bad].flat[0])} has no place in a one-hot vector of size "
            f"{size}: expected 0 to {size - 1}"
        )
    out = np.zeros((*array.shape, size))
    np.put_along_axis(out, array[..., None], 1.0, axis=-1)
    return out


def euclidean_distances(vectors: ArrayLike) -> NDArray[np.float64]:
    """Straight-line distances between all pairs of rows, ``(K, D)`` to ``(K, K)``."""
    x = _rows(vectors)
    distances: NDArray[np.float64] = np.linalg.norm(x[:, None] - x[None, :], axis=-1)
    return distances


def cosine_similarities(vectors: ArrayLike) -> NDArray[np.float64]:
    """Cosine of the angle between all pairs of rows, ``(K, D)`` to ``(K, K)``.

    Raises ``ValueError`` for a zero vector, which has no direction.
    """
    x = _rows(vectors)
    norms = np.linalg.norm(x, axis=1)
    if (norms == 0).any():
        raise ValueError(
            f"row {int(np.argmin(norms))} is the zero vector, which has no direction: "
            "leave it out"
        )
    unit = x / norms[:, None]
    cosines: NDArray[np.float64] = unit @ unit.T
    return cosines


def _rows(vectors: ArrayLike) -> NDArray[np.float64]:
    x = np.asarray(vectors, np.float64)
    if x.ndim != 2:
        raise ValueError(f"vectors have shape {x.shape}: expected (K, D), one a row")
    return x


def one_hot_bytes(tokens: int, size: int, itemsize: int = 8) -> int:
    """Bytes of ``tokens`` dense one-hot vectors of length ``size``.

    ``itemsize`` is the bytes of one number: 8 for float64, 4 for float32.
    """
    if tokens < 0 or size < 1 or itemsize < 1:
        raise ValueError(
            f"tokens={tokens}, size={size}, itemsize={itemsize}: expected at least "
            "0, 1 and 1"
        )
    return tokens * size * itemsize
