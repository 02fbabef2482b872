"""From a text to training blocks: subsampling, dynamic windows, stretches of text."""

# B stretches of T words, w the widest window, S = T + 2w columns.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from lmlib.vocabulary import IntArray, reject_string

STRETCH = 32  # T: longer wastes products outside the window, shorter wastes edges


@dataclass(frozen=True)
class Blocks:
    """B stretches of text, each T words with w further words on either side.

    Position t of a stretch is column t + w. ``windows[b, t, o]`` is 1 where column
    t + o is one of the words that predict word t, else 0.
    """

    columns: Tensor  # (B, S) word ids
    windows: Tensor  # (B, T, 2w + 1)

    @property
    def reach(self) -> int:
        """w, the widest window."""
        return self.windows.shape[2] // 2

    @property
    def targets(self) -> Tensor:
        """Ids of the words in the middle, ``(B, T)``."""
        w = self.reach
        return self.columns[:, w : self.columns.shape[1] - w]

    def mask(self, values: Tensor | None = None) -> Tensor:
        """``windows``, or other values of that shape, over the columns, ``(B, T, S)``.

        Row t of a stretch begins at column t, so the windows form a diagonal band.
        """
        values = self.windows if values is None else values
        rows, columns = values.shape[1], self.columns.shape[1]
        dense = values.new_zeros(len(values), rows, columns)
        stride = (rows * columns, columns + 1, 1)
        dense.as_strided(values.shape, stride).copy_(values)
        return dense


class TextBlocks:
    """The training text, cut anew into blocks for every pass.

    ``texts`` are rows of ids; windows never reach from one text into another. In each
    pass every occurrence survives with its word's ``keep`` probability, and the
    survivors close ranks. Each draws a window uniformly from 1 to ``window`` words on
    either side (the *dynamic window*, which gives near words more weight), or takes
    the full one if ``dynamic`` is false. The stretches come in a random order.
    """

    def __init__(
        self,
        texts: Sequence[IntArray],
        window: int,
        keep: NDArray[np.floating[Any]],
        dynamic: bool = True,
    ) -> None:
        self.window = window
        self.keep = keep
        self.dynamic = dynamic
        self.ids = np.concatenate([np.asarray(text) for text in texts]).astype(np.int64)
        self.text = np.repeat(np.arange(len(texts)), [len(text) for text in texts])

    def epoch(
        self, blocks: int, generator: np.random.Generator, dtype: torch.dtype
    ) -> Iterator[tuple[Blocks, float]]:
        """One pass: batches of ``blocks`` stretches, and the share of it then done."""
        w = self.window
        kept = generator.random(len(self.ids)) < self.keep[self.ids]
        ids, text = self.ids[kept], self.text[kept]
        n = len(ids)
        if n == 0:  # a short text of frequent words
            return
        stretches = -(-n // STRETCH)
        size = np.full(n, w)
        if self.dynamic:
            size = generator.integers(1, w + 1, n)
        room = np.minimum(size[:, None], _room(text))  # (n, 2) words left and right
        shape = np.zeros(stretches * STRETCH, np.int64)
        shape[:n] = room @ [w + 1, 1]
        shapes = torch.from_numpy(shape.reshape(stretches, STRETCH))
        padded = np.zeros(stretches * STRETCH + 2 * w, np.int64)
        padded[w : w + n] = ids
        every = np.lib.stride_tricks.sliding_window_view(padded, STRETCH + 2 * w)
        columns = torch.from_numpy(every[::STRETCH].copy())
        table = _window_shapes(w, dtype)
        order = torch.from_numpy(generator.permutation(stretches))
        for start in range(0, stretches, blocks):
            rows = order[start : start + blocks]
            done = min(1.0, (start + blocks) / stretches)
            yield Blocks(columns[rows], F.embedding(shapes[rows], table)), done


def _window_shapes(w: int, dtype: torch.dtype) -> Tensor:
    """Every window: row left * (w + 1) + right, ``((w + 1)^2, 2w + 1)``."""
    side = torch.arange(w + 1)
    left, right = side.repeat_interleave(w + 1)[:, None], side.repeat(w + 1)[:, None]
    offset = torch.arange(-w, w + 1)
    inside = (offset >= -left) & (offset <= right) & (offset != 0)
    return inside.to(dtype)


def _room(text: IntArray) -> NDArray[np.int64]:
    """Words of the same text before and after each position, ``(n, 2)``."""
    n = len(text)
    position = np.arange(n)
    begins = np.flatnonzero(np.r_[True, text[1:] != text[:-1]][:n])
    ends = np.r_[begins[1:], n]
    lengths = ends - begins
    first, last = np.repeat(begins, lengths), np.repeat(ends, lengths) - 1
    return np.stack([position - first, last - position], axis=1)


def as_texts(texts: IntArray | Sequence[IntArray], words: int) -> list[IntArray]:
    """One row of ids or several, as a list of rows checked against |V| = ``words``."""
    reject_string(texts, "texts")
    if isinstance(texts, np.ndarray) and texts.ndim == 1:
        texts = [texts]
    rows = [np.asarray(text) for text in texts]
    for row in rows:
        if row.ndim != 1 or (row.size and not np.issubdtype(row.dtype, np.integer)):
            raise ValueError(
                f"a text has shape {row.shape} and type {row.dtype}: expected one row "
                "of word ids; encode words with the vocabulary first"
            )
        bad = (row < 0) | (row >= words)
        if bad.any():
            raise ValueError(
                f"id {int(row[bad][0])} is outside 0 to {words - 1}: the ids were made "
                "with another vocabulary"
            )
    if sum(map(len, rows)) < 2:
        raise ValueError(
            f"the text has {sum(map(len, rows))} words: a word and a neighbour are "
            "needed to learn from"
        )
    return rows
