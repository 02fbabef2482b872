"""Counting n-grams: how often each sequence of up to n words occurs.

All n-grams are counted by sorting integers, one sort an order, without a Python loop
over the text; time and memory grow linearly with it. Chapter 2.

The text is one stream of ids. Where the vocabulary has ``<s>``, it starts a sentence:
no n-gram reaches across it, and it is counted as context but never as a predicted
word. Without ``<s>`` the stream is one unbroken text, as in Bengio et al. (2003).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import check_stream
from lmlib.ngrams.trie import ABSENT, Keys, Nodes, Trie, bits_for
from lmlib.vocabulary import IntArray, Vocabulary, reject_string

Counts = NDArray[np.int64]

STRETCH = 2**16  # positions packed at a time: their arrays stay in the cache
LONGEST = 7  # orders above are refused: their tables hold almost every position


class NgramCounts:
    """Counts of all n-grams of the orders 1 to ``order``, made by ``count_ngrams``.

    ``trie`` finds an n-gram's node; ``of(k)[node]`` is how often it was predicted;
    ``shorter(k)[node]`` is the node of its last k - 1 words.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        trie: Trie,
        words: tuple[Nodes, Counts],
        counts: Sequence[Counts],
        shorter: Sequence[Nodes],
    ) -> None:
        self.vocabulary = vocabulary
        self.trie = trie
        self._words = words  # ids that occur, and how often
        self._counts = list(counts)
        self._shorter = list(shorter)
        self._followed: dict[int, Counts] = {}

    @property
    def order(self) -> int:
        """Length n of the longest n-grams."""
        return self.trie.order

    @property
    def tokens(self) -> int:
        """Number of predicted tokens: all but ``<s>``."""
        return int(self._words[1].sum())

    def of(self, order: int) -> Counts:
        """How often each n-gram of an order occurs; at order 1 by word id, ``(|V|,)``.

        ``<s>`` has count 0: it is never predicted.
        """
        self._check_order(order)
        return self._unigrams if order == 1 else self._counts[order - 2]

    def shorter(self, order: int) -> Nodes:
        """Node of each n-gram without its first word, at ``order - 1``."""
        return self._shorter[order - 2]

    def followed(self, order: int) -> Counts:
        """How often each n-gram below the highest order was the context of a word.

        That is its count, but for ``<s>`` and for the end of the text. Of order 0,
        the empty context, it is the number of tokens, ``(1,)``.
        """
        if order == 0:
            return np.array([self.tokens])
        if order not in self._followed:
            weights = self.of(order + 1)
            parents = self.trie.parents(order + 1)
            total = np.bincount(parents, weights, self.trie.size(order))
            self._followed[order] = total.astype(np.int64)
        return self._followed[order]

    def upto(self, order: int) -> NgramCounts:
        """The same counts without the orders above ``order``; nothing is copied."""
        self._check_order(order)
        return NgramCounts(
            self.vocabulary,
            Trie(self.trie.words, self.trie.keys[: order - 1]),
            self._words,
            self._counts[: order - 1],
            self._shorter[: order - 1],
        )

    def distinct(self, order: int) -> int:
        """Number of different n-grams of an order."""
        self._check_order(order)
        return len(self._words[0]) if order == 1 else len(self._counts[order - 2])

    def count(self, words: Sequence[str]) -> int:
        """How often a sequence of 1 to ``order`` words occurs.

        The count of ``<s>``, which is never predicted, is how often a word follows it.
        """
        reject_string(words, "words")
        self._check_order(len(words))
        row = self.vocabulary.encode(words)
        if row.tolist() == [self.vocabulary.start_id] and self.order > 1:
            return int(self.followed(1)[row[0]])
        node = self.trie.last_nodes(row[None, :], len(words))[-1][0]
        return 0 if node == ABSENT else int(self.of(len(words))[node])

    def most_common(
        self, order: int, number: int = 10
    ) -> list[tuple[tuple[str, ...], int]]:
        """The most frequent n-grams of an order with their counts; ties by id."""
        count = self.of(order)
        best = np.argsort(-count, kind="stable")[:number]
        best = best[count[best] > 0]
        rows = self.trie.rows(order)[best]
        return [
            (tuple(self.vocabulary.decode(row)), int(count[node]))
            for row, node in zip(rows, best, strict=True)
        ]

    def occurs(self, ids: IntArray, order: int) -> NDArray[np.bool_]:
        """Whether the ``order`` words that end at each position were counted, ``(T,)``.

        False where the text has not yet ``order`` words.
        """
        self._check_order(order)
        ids = check_stream(self.vocabulary, ids)
        if order == 1:
            seen: NDArray[np.bool_] = self.of(1)[ids] > 0
            return seen
        node = next(itertools.islice(self.trie.walk(ids), order - 1, None))
        found: NDArray[np.bool_] = node != ABSENT
        return found

    def counts_of_counts(self, order: int, largest: int = 10) -> Counts:
        """n_r, the number of n-grams that occur r times, for r = 0 .. ``largest``.

        n_0 is the number of words that never occur at order 1, and 0 above.
        """
        return counts_of_counts(self.of(order), largest)

    @functools.cached_property
    def _unigrams(self) -> Counts:
        out = np.zeros(self.trie.words, np.int64)
        out[self._words[0]] = self._words[1]
        return out

    def _check_order(self, order: int) -> None:
        if not 1 <= order <= self.order:
            raise ValueError(
                f"n-grams of {order} words were not counted: expected 1 to "
                f"{self.order} words, or count with a higher order"
            )


def count_ngrams(vocabulary: Vocabulary, ids: IntArray, order: int) -> NgramCounts:
    """Count all n-grams of a text up to ``order`` words.

    Raises ``ValueError`` for an order outside 1 to 7, ids of another vocabulary, and a
    text shorter than the order or with nothing to predict.
    """
    ids = check_stream(vocabulary, ids)
    _check_text(vocabulary, ids, order)
    start_id = vocabulary.start_id
    stream: Nodes = ids.astype(np.int32, copy=False)
    node = stream  # node of the k-gram that ends at each position, from k = 1
    trie = Trie(len(vocabulary), [])
    counts: list[Counts] = []
    shorter: list[Nodes] = []
    # Room for all orders alike: fresh memory costs more than the work done in it.
    room, places = np.empty(len(ids), np.uint64), np.empty(len(ids), np.int32)
    new, spare = np.empty_like(stream), np.empty_like(stream)
    for k in range(2, order + 1):
        grams = _sorted_grams(node, stream, k, trie, start_id, room, places)
        new.fill(ABSENT)
        keys, count, suffix = _distinct(*grams, node, new if k < order else None)
        trie.keys.append(keys)
        counts.append(count)
        shorter.append(suffix)
        node, new, spare = new, spare, new
    return NgramCounts(vocabulary, trie, _word_counts(vocabulary, ids), counts, shorter)


def _distinct(
    sorted_keys: Keys, ends: Nodes, node: Nodes, new: Nodes | None
) -> tuple[Keys, Counts, Nodes]:
    """Each key once, its count, and the node of the n-gram without its first word.

    ``new``, if given, receives the number of its key where each n-gram ends.
    """
    first = np.empty(len(ends), bool)
    first[:1] = True
    np.not_equal(sorted_keys[1:], sorted_keys[:-1], out=first[1:])
    size = int(np.count_nonzero(first))
    keys, counts = np.empty(size, np.uint64), np.empty(size, np.int64)
    shorter = np.empty(size, np.int32)
    done = 0
    for low in range(0, len(ends), STRETCH):
        part = slice(low, low + STRETCH)
        starts = np.flatnonzero(first[part])
        found = slice(done, done + len(starts))
        keys[found] = sorted_keys[part][starts]
        shorter[found] = node[ends[part][starts]]
        starts += low
        counts[found] = starts  # until the next key's start is known
        counts[max(0, done - 1) : found.stop - 1] = np.diff(
            counts[max(0, done - 1) : found.stop]
        )
        if new is not None:
            rank = np.cumsum(first[part], dtype=np.int32)
            rank += done - 1
            new[ends[part]] = rank
        done = found.stop
    counts[-1:] = len(ends) - counts[-1:]
    return keys, counts, shorter


def _sorted_grams(
    node: Nodes,
    ids: Nodes,
    order: int,
    trie: Trie,
    start_id: int | None,
    room: Keys,
    ends: Nodes,
) -> tuple[Keys, Nodes]:
    """The sorted keys of all n-grams of an order, and where in the text each ends.

    ``node`` tells the context that ends at each position. Keys and positions are
    packed, in stretches that stay in the cache, into one number where 64 bits hold
    them together; sorting that is an order of magnitude faster than sorting indices.
    Both answers lie in ``room`` and ``ends``, which the next order writes over.
    """
    place_bits = bits_for(len(ids))
    context_bits = bits_for(trie.size(order - 1))
    together = context_bits + trie.bits + place_bits <= 64
    filled = 0
    for low in range(order - 1, len(ids), STRETCH):
        high = min(low + STRETCH, len(ids))
        places = np.arange(low, high, dtype=np.int32)
        contexts, words = node[low - 1 : high - 1], ids[low:high]
        if start_id is not None:
            usable = (contexts != ABSENT) & (words != start_id)
            places, contexts = places[usable], contexts[usable]
            words = words[usable]
        part = slice(filled, filled + len(places))
        keys = room[part]
        keys[:] = contexts
        keys <<= np.uint64(trie.bits)
        keys |= words.astype(np.uint64)
        if together:
            keys <<= np.uint64(place_bits)
            keys |= places.astype(np.uint64)
        else:
            ends[part] = places
        filled = part.stop
    keys, ends = room[:filled], ends[:filled]
    if not together:
        by_key = np.argsort(keys)
        return keys[by_key], ends[by_key]
    keys.sort()
    for low in range(0, filled, STRETCH):
        part = slice(low, low + STRETCH)
        ends[part] = keys[part] & np.uint64((1 << place_bits) - 1)
        keys[part] >>= np.uint64(place_bits)
    return keys, ends


def counts_of_counts(counts: IntArray, largest: int) -> Counts:
    """How many of the counts are r, for r = 0 .. ``largest``."""
    return np.array([np.count_nonzero(counts == r) for r in range(largest + 1)])


def _word_counts(vocabulary: Vocabulary, ids: IntArray) -> tuple[Nodes, Counts]:
    if len(vocabulary) <= 4 * len(ids):  # else a table of |V| would dwarf the text
        dense = np.bincount(ids, minlength=len(vocabulary))
        words = np.flatnonzero(dense).astype(np.int32)
        count = dense[words]
    else:
        words, count = np.unique(ids, return_counts=True)
    predicted = words != (ABSENT if (s := vocabulary.start_id) is None else s)
    return words[predicted], count[predicted]


def _check_text(vocabulary: Vocabulary, ids: IntArray, order: int) -> None:
    if isinstance(order, bool) or not isinstance(order, int | np.integer):
        raise ValueError(f"order {order!r} is not an integer: expected 1 to {LONGEST}")
    if not 1 <= order <= LONGEST:
        raise ValueError(
            f"order {order} is outside 1 to {LONGEST}: an n-gram has at least one "
            f"word, and few sequences of more than {LONGEST} are ever seen twice"
        )
    if not len(ids):
        raise ValueError("the text is empty: n-grams are counted from at least 1 token")
    if len(ids) < order:
        raise ValueError(
            f"the text has {len(ids)} tokens, fewer than the order {order}: give a "
            "longer text or a lower order"
        )
    if len(ids) >= 2**31:
        raise ValueError(f"the text has {len(ids)} tokens: expected fewer than 2**31")
    if vocabulary.start_id is not None and bool((ids == vocabulary.start_id).all()):
        raise ValueError(
            "the text holds nothing but '<s>', which is never predicted: give it at "
            "least one word"
        )
