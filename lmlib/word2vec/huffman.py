"""A Huffman tree over the words: the softmax as a few yes-or-no decisions."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lmlib.word2vec.sampling import normalised


class HuffmanTree:
    """The binary code with the least expected length (Huffman 1952).

    The two rarest trees are joined until one is left; so frequent words end up near
    the root. Word w is reached by ``lengths[w]`` decisions: at inner node
    ``nodes[w, j]`` (0 to |V| - 2, the root is the last) the branch ``bits[w, j]``.
    Rows are padded to the longest code; ``on_path`` is 1 before the padding and 0 in
    it. The expected length is less than one bit above the words' entropy.

    Morin and Bengio 2005 took the tree from WordNet; Mikolov et al. 2013b took this
    one (section 2.1). Raises ``ValueError`` for fewer than two words or bad counts.
    """

    def __init__(self, counts: ArrayLike) -> None:
        self.probabilities = normalised(counts, "counts")
        words = len(self.probabilities)
        if words < 2:
            raise ValueError(
                "a Huffman tree needs at least two words to decide between, got 1"
            )
        parent, bit = _join(np.asarray(counts, dtype=np.float64).tolist())
        codes: list[list[int]] = []
        paths: list[list[int]] = []
        for word in range(words):
            code, path, at = [], [], word
            while at in parent:
                code.append(bit[at])
                at = parent[at]
                path.append(at - words)
            codes.append(code[::-1])
            paths.append(path[::-1])
        self.lengths = np.array([len(code) for code in codes])  # (|V|,)
        longest = int(self.lengths.max())
        self.nodes = _padded(paths, longest)  # (|V|, L)
        self.bits = _padded(codes, longest)  # (|V|, L)
        self.on_path = (np.arange(longest) < self.lengths[:, None]).astype(np.int64)

    def code(self, word: int) -> str:
        """The word's decisions as a string of 0 and 1, from the root on."""
        return "".join(map(str, self.bits[word, : self.lengths[word]].tolist()))

    @property
    def expected_length(self) -> float:
        """Mean decisions a word, sum P(w) length(w): bits, and work."""
        return float(self.probabilities @ self.lengths)


def _join(weights: list[float]) -> tuple[dict[int, int], dict[int, int]]:
    """Parent and branch of every node but the root; inner nodes follow the words."""
    parent: dict[int, int] = {}
    bit: dict[int, int] = {}
    # Equal weights are taken in the order they arose, so the tree is always the same.
    heap = [(weight, i) for i, weight in enumerate(weights)]
    heapq.heapify(heap)
    for new in range(len(weights), 2 * len(weights) - 1):
        first_weight, first = heapq.heappop(heap)
        second_weight, second = heapq.heappop(heap)
        parent[first] = parent[second] = new
        bit[first], bit[second] = 1, 0  # the rarer branch is 1
        heapq.heappush(heap, (first_weight + second_weight, new))
    return parent, bit


def _padded(rows: list[list[int]], width: int) -> NDArray[np.integer[Any]]:
    return np.array([row + [0] * (width - len(row)) for row in rows], dtype=np.int64)
