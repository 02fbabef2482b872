"""Learning byte-pair merges: join the most frequent pair of neighbours, and again.

The counts of all pairs are kept up to date instead of counted anew: a merge changes
only the words that hold the pair. Equal counts go to the pair with the smaller ids,
as in Hugging Face's ``tokenizers``, so that the same text always gives the same
merges.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmlib.bpe.coding import BPE, BYTES, WORD_END, base_symbols
from lmlib.vocabulary import reject_string


@dataclass(frozen=True)
class Merge:
    """One step of learning: the pair, how often it stood in the text, its name."""

    left: str
    right: str
    count: int

    @property
    def joined(self) -> str:
        """The new symbol."""
        return self.left + self.right


def learn_bpe(
    words: Iterable[str],
    size: int,
    *,
    marks: Sequence[str] = (),
    min_count: int = 2,
    min_character_count: int = 1,
) -> BPE:
    """Learn a vocabulary of ``size`` symbols from the words of a text.

    The alphabet is every character that occurs ``min_character_count`` times, inside
    a word and at its end; rarer ones are spelled in bytes. Learning stops at ``size``
    symbols, or when no pair occurs ``min_count`` times any more.

    Raises ``ValueError`` when the text is empty, or the alphabet alone is larger than
    ``size``.
    """
    counts, start = count_words(words, size, marks, min_character_count)
    symbols, merges = list(start.vocabulary.words), []
    known = set(symbols)
    for merge in learn_merges(counts, start, min_count):
        if len(symbols) >= size:
            break
        merges.append((merge.left, merge.right))
        if merge.joined not in known:
            known.add(merge.joined)
            symbols.append(merge.joined)
    return BPE(symbols, merges, marks=marks)


def count_words(
    words: Iterable[str], size: int, marks: Sequence[str], min_character_count: int
) -> tuple[dict[str, int], BPE]:
    """How often each word that is no mark occurs, and the symbols before any merge."""
    reject_string(words, "words")
    counts = Counter(words)
    for mark in marks:
        counts.pop(mark, None)
    if not counts:
        raise ValueError(
            "the text has no words: merges are learned from at least one word"
        )
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    alphabet = [c for c, n in characters.items() if n >= min_character_count]
    start = BPE(base_symbols(alphabet, marks), [], marks=marks)
    if len(start) > size:
        raise ValueError(
            f"size={size} symbols cannot hold the {len(start)} that every word is "
            f"spelled with ({len(alphabet)} characters, inside and at the end of a "
            "word, 257 for bytes, and the marks): give a larger size, or a larger "
            "min_character_count"
        )
    return dict(counts), start


def learn_merges(
    counts: Mapping[str, int], start: BPE, min_count: int = 2
) -> Iterator[Merge]:
    """The merges one after the other, for words with their counts.

    ``start`` spells the words. Ends when no pair occurs ``min_count`` times.
    """
    names = list(start.vocabulary.words)
    ids = {name: i for i, name in enumerate(names)}
    reserved = {*BYTES, *start.marks}
    atoms = {ids[name] for name in (*BYTES, WORD_END) if name in ids}
    # A word may hold "</w>" or "<p>" literally; a symbol of that name would be taken
    # for something else, so such pairs stay apart.
    ending = {i for i, name in enumerate(names) if name.endswith(WORD_END)}
    rows = [[ids[s] for s in start.spell(word)] for word in counts]
    times = list(counts.values())

    pair_counts: dict[tuple[int, int], int] = defaultdict(int)
    where: dict[tuple[int, int], set[int]] = defaultdict(set)

    def count_pairs(row: int, sign: int) -> list[tuple[int, int]]:
        pairs = list(zip(rows[row], rows[row][1:], strict=False))
        for pair in pairs:
            pair_counts[pair] += sign * times[row]
        return pairs

    for row in range(len(rows)):
        for pair in count_pairs(row, 1):
            where[pair].add(row)
    heap = [(-count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(heap)
    while heap:
        negative, pair = heapq.heappop(heap)
        count = pair_counts[pair]
        if count != -negative:  # an old entry: put it back where it belongs now
            if count >= min_count:
                heapq.heappush(heap, (-count, pair))
            continue
        if count < min_count:
            return
        left, right = names[pair[0]], names[pair[1]]
        joined = left + right
        false_end = joined.endswith(WORD_END) and pair[1] not in ending
        if not atoms.isdisjoint(pair) or joined in reserved or false_end:
            continue
        if joined not in ids:
            if pair[1] in ending:
                ending.add(len(names))
            ids[joined] = len(names)
            names.append(joined)
        yield Merge(left, right, count)
        changed: set[tuple[int, int]] = set()
        for row in where.pop(pair):
            count_pairs(row, -1)
            rows[row] = _join(rows[row], pair, ids[joined])
            for new in count_pairs(row, 1):
                if ids[joined] in new:
                    where[new].add(row)
                    changed.add(new)
        del pair_counts[pair]
        for new in changed:
            heapq.heappush(heap, (-pair_counts[new], new))


def _join(row: list[int], pair: tuple[int, int], joined: int) -> list[int]:
    """The row with every occurrence of the pair joined, from the left."""
    out: list[int] = []
    i = 0
    while i < len(row):
        if i + 1 < len(row) and (row[i], row[i + 1]) == pair:
            out.append(joined)
            i += 2
        else:
            out.append(row[i])
            i += 1
    return out
