"""How much context there is: nothing reaches across ``<s>`` or before the text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import NO_WORD
from lmlib.vocabulary import IntArray


def cut_at_start(contexts: IntArray, start_id: int | None) -> IntArray:
    """The contexts ``(B, k)`` with ``NO_WORD`` before the last ``<s>`` of each row."""
    if start_id is None or not contexts.shape[1]:
        return contexts
    is_start = contexts == start_id
    later = np.cumsum(is_start[:, ::-1], axis=1)[:, ::-1] - is_start
    return np.where(later > 0, NO_WORD, contexts)


def available(ids: IntArray, longest: int, start_id: int | None) -> NDArray[np.int64]:
    """Words of context before each position, at most ``longest``, ``(T,)``.

    >>> available(np.array([9, 1, 2, 9, 3]), 2, start_id=9).tolist()
    [0, 1, 2, 2, 1]
    """
    places = np.arange(len(ids))
    if start_id is None:
        return np.minimum(places, longest)
    begin = np.maximum.accumulate(np.where(ids == start_id, places, 0))
    length = places.copy()
    length[1:] -= begin[:-1]
    return np.minimum(length, longest)
