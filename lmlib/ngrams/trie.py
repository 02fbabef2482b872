"""A table of n-grams as a tree of sorted integers: find any n-gram by its parts.

The n-gram w_1 .. w_k is a *node* of order k. Its number is its rank among the n-grams
of that order, sorted; at order 1 the number is the word's id. A node of order k + 1 is
stored as one 64-bit key, the number of its context (w_1 .. w_k) shifted left, plus the
last word's id:

    key(w_1 .. w_{k+1}) = node(w_1 .. w_k) * 2**bits + w_{k+1}

so that one key serves every order and every vocabulary below 2**31 words, and the
children of a node stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import NO_WORD
from lmlib.vocabulary import IntArray

Keys = NDArray[np.uint64]
Nodes = NDArray[np.int32]

# "This n-gram is not in the table": a missing word makes every n-gram absent.
ABSENT = NO_WORD


class Trie:
    """Sorted keys for the orders 2, 3, ...; order 1 is the vocabulary itself."""

    __slots__ = ("bits", "keys", "words")

    def __init__(self, words: int, keys: Sequence[Keys]) -> None:
        self.words = words  # |V|
        self.bits = bits_for(words)
        self.keys = list(keys)  # keys[k - 2] belongs to order k

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.keys) + 1

    def size(self, order: int) -> int:
        """Number of n-grams of an order."""
        return self.words if order == 1 else len(self.keys[order - 2])

    def parents(self, order: int, part: slice = slice(None)) -> Nodes:
        """Number of each n-gram's context, ``(size(order),)`` or a part of them."""
        keys = self.keys[order - 2][part]
        return (keys >> np.uint64(self.bits)).astype(np.int32)

    def stretches(self, order: int, size: int) -> Iterator[slice]:
        """Consecutive parts of about ``size`` n-grams that split no context's children.

        Work on one at a time stays in the processor's cache, however long the text.
        """
        keys = self.keys[order - 2]
        low = 0
        while low < len(keys):
            high = min(low + size, len(keys))
            if high < len(keys):  # to the end of the last context's children
                after = ((int(keys[high - 1]) >> self.bits) + 1) << self.bits
                high = int(np.searchsorted(keys, np.uint64(after)))
            yield slice(low, high)
            low = high

    def last_words(self, order: int) -> Nodes:
        """Id of each n-gram's last word, ``(size(order),)``."""
        if order == 1:
            return np.arange(self.words, dtype=np.int32)
        return self._words_in(self.keys[order - 2])

    def last_words_of(self, order: int, nodes: IntArray) -> Nodes:
        """Last words of some n-grams of an order above 1."""
        return self._words_in(self.keys[order - 2][nodes])

    def _words_in(self, keys: Keys) -> Nodes:
        return (keys & np.uint64((1 << self.bits) - 1)).astype(np.int32)

    def rows(self, order: int) -> Nodes:
        """The words of every n-gram of an order, ``(size(order), order)``."""
        out = np.empty((self.size(order), order), np.int32)
        node = np.arange(self.size(order), dtype=np.int32)
        for k in range(order, 1, -1):
            out[:, k - 1] = self.last_words(k)[node]
            node = self.parents(k)[node]
        out[:, 0] = node
        return out

    def pack(self, contexts: IntArray, words: IntArray | int) -> Keys:
        """Keys of n-grams from their contexts' nodes and their last words."""
        return pack(contexts, words, self.bits)

    def find(self, order: int, contexts: Nodes, words: IntArray) -> Nodes:
        """Nodes of the n-grams (context, word), or ``ABSENT``; absent parts allowed."""
        keys = self.keys[order - 2]
        found = np.full(len(contexts), ABSENT, np.int32)
        asked = np.flatnonzero((contexts >= 0) & (words >= 0))
        if not len(keys) or not len(asked):
            return found
        wanted = self.pack(contexts[asked], words[asked])
        # Sorted questions walk through memory in order: many times faster.
        wanted, places = sort_with_places(wanted)
        at = np.searchsorted(keys, wanted)
        np.minimum(at, len(keys) - 1, out=at)
        hit = keys[at] == wanted
        found[asked[places[hit]]] = at[hit]
        return found

    def children(self, order: int, contexts: IntArray) -> tuple[IntArray, IntArray]:
        """First and one-past-last node of ``order`` that extends each context."""
        low = np.searchsorted(self.keys[order - 2], self.pack(contexts, 0))
        high = np.searchsorted(self.keys[order - 2], self.pack(contexts + 1, 0))
        return low, high

    def walk(self, ids: IntArray) -> Iterator[Nodes]:
        """For k = 1, 2, ..: the node of the k-gram that ends at each position."""
        node = np.asarray(ids, np.int32)
        yield node
        for k in range(2, self.order + 1):
            before = np.empty_like(node)
            before[:1] = ABSENT
            before[1:] = node[:-1]
            node = self.find(k, before, ids)
            yield node

    def last_nodes(self, contexts: IntArray, longest: int) -> list[Nodes]:
        """For j = 1 .. longest: the node of each row's last j words, or ``ABSENT``."""
        width = contexts.shape[1]
        nodes = []
        for j in range(1, min(longest, width) + 1):
            node = contexts[:, width - j].astype(np.int32)  # NO_WORD is ABSENT
            for k in range(2, j + 1):
                node = self.find(k, node, contexts[:, width - j + k - 1])
            nodes.append(node)
        return nodes


def bits_for(words: int) -> int:
    """Bits that hold a word's id."""
    return max(1, (words - 1).bit_length())


def pack(contexts: IntArray, words: IntArray | int, bits: int) -> Keys:
    """``contexts * 2**bits + words`` as unsigned 64-bit integers."""
    keys = contexts.astype(np.uint64)
    keys <<= np.uint64(bits)
    keys += np.asarray(words).astype(np.uint64)
    return keys


def sort_with_places(keys: Keys) -> tuple[Keys, IntArray]:
    """The keys sorted, and where each one stood; equal keys stand in any order.

    Where the key and its place fit into 64 bits together, they are sorted as one
    number: an order of magnitude faster than sorting indices.
    """
    place_bits = max(1, (len(keys) - 1).bit_length())
    if not len(keys) or int(keys.max()) >> (64 - place_bits):
        places = np.argsort(keys)
        return keys[places], places
    joined = keys << np.uint64(place_bits)
    joined |= np.arange(len(keys), dtype=np.uint64)
    joined.sort()
    places = (joined & np.uint64((1 << place_bits) - 1)).astype(np.int64)
    joined >>= np.uint64(place_bits)
    return joined, places
