"""Words to subword ids and back: the merges in the order in which they were learned.

Every word is spelled in characters, the last one written with ``</w>``; then the
merge that was learned first is applied, and so on until none applies. A character
that the alphabet lacks is spelled in its UTF-8 bytes (``<0xE2>``), so any word can be
written and comes back whole.
"""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmlib.files import read_text, write_text
from lmlib.vocabulary import IntArray, Vocabulary, reject_string

WORD_END = "</w>"
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_FORMAT = "lmlib byte-pair encoding 1"


class BPE:
    """A subword vocabulary with its merges.

    ``symbols`` lists the vocabulary by id, ``merges`` the pairs to join, first learned
    first. ``marks`` are words such as ``<text>`` that have an id of their own and are
    never split. Characters outside the alphabet become bytes where ``symbols`` has
    them (``base_symbols`` adds them), or else the symbol ``unknown``.

    >>> bpe = BPE(["a", "b", "a</w>", "b</w>", "ab</w>"], [("a", "b</w>")])
    >>> bpe.split(["ab", "ba"])
    ['ab</w>', 'b', 'a</w>']

    Raises ``ValueError`` for a merge whose parts or result are not symbols.
    """

    def __init__(
        self,
        symbols: Sequence[str],
        merges: Sequence[tuple[str, str]],
        *,
        marks: Sequence[str] = (),
        unknown: str | None = None,
    ) -> None:
        self.vocabulary = Vocabulary(symbols, unknown)
        self.merges = [(left, right) for left, right in merges]
        self.marks = tuple(marks)
        ids = {symbol: i for i, symbol in enumerate(self.vocabulary.words)}
        for mark in self.marks:
            if mark not in ids:
                raise ValueError(f"the mark {mark!r} is not among the symbols: add it")
        self._mark_ids = {ids[mark] for mark in self.marks}
        self.has_bytes = all(byte in ids for byte in BYTES) and WORD_END in ids
        # (left id, right id) -> (rank, id of the joined symbol)
        self._ranks: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, (left, right) in enumerate(self.merges):
            missing = [s for s in (left, right, left + right) if s not in ids]
            if missing:
                raise ValueError(
                    f"merge {rank}, {left!r} + {right!r}, needs {missing[0]!r}, which "
                    "is not among the symbols: merges and symbols are of two models"
                )
            self._ranks.setdefault((ids[left], ids[right]), (rank, ids[left + right]))
        self._ids = ids
        self._bytes = [self._bytes_of(symbol) for symbol in self.vocabulary.words]
        self._cache: dict[str, list[int]] = {mark: [ids[mark]] for mark in self.marks}

    def _bytes_of(self, symbol: str) -> tuple[bytes, bool]:
        """What a symbol stands for, and whether a word ends with it."""
        if symbol in self.marks or symbol == self.vocabulary.unknown:
            return symbol.encode(), symbol in self.marks
        if self.has_bytes and symbol in BYTES:
            return bytes([BYTES.index(symbol)]), False
        ends = symbol.endswith(WORD_END)
        return symbol.removesuffix(WORD_END).encode(), ends

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"BPE({len(self)} symbols, {len(self.merges)} merges)"

    def spell(self, word: str) -> list[str]:
        """A word in characters, before any merge.

        >>> BPE(["a", "b", "a</w>", "b</w>"], []).spell("ab")
        ['a', 'b</w>']

        Raises ``ValueError`` for an empty word, and for a character that nothing
        stands for.
        """
        if not isinstance(word, str) or word == "":
            raise ValueError(f"{word!r} is not a word: expected a non-empty string")
        if word in self.marks:
            return [word]
        spelled: list[str] = []
        for i, character in enumerate(word):
            last = i == len(word) - 1
            symbol = character + WORD_END if last else character
            if symbol in self._ids:
                spelled.append(symbol)
            elif self.has_bytes:
                spelled += [BYTES[byte] for byte in _utf8(character, word)]
                spelled += [WORD_END] if last else []
            elif self.vocabulary.unknown is not None:
                spelled.append(self.vocabulary.unknown)
            else:
                raise ValueError(
                    f"{symbol!r} in the word {word!r} is not in the alphabet, and "
                    "there are neither bytes nor an unknown symbol to stand for it: "
                    "build the symbols with base_symbols"
                )
        return spelled

    def split(self, words: Iterable[str]) -> list[str]:
        """Words as subwords, in one row."""
        symbols = self.vocabulary.words
        return [symbols[i] for i in self.encode(words).tolist()]

    def encode(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Ids of the words' subwords, ``(T,)``, in one row."""
        return np.fromiter(
            (i for row in self.encode_each(words) for i in row), np.int32
        )

    def encode_each(self, words: Iterable[str]) -> list[list[int]]:
        """Ids of the subwords of each word; remembered from one call to the next."""
        reject_string(words, "words")
        words = list(words)
        new = [word for word in dict.fromkeys(words) if word not in self._cache]
        self._cache.update(zip(new, self._encode_new(new), strict=True))
        return [self._cache[word] for word in words]

    def _encode_new(self, words: Sequence[str]) -> Iterable[list[int]]:
        ids = self._ids
        return [self.merge([ids[s] for s in self.spell(word)]) for word in words]

    def merge(self, ids: Sequence[int]) -> list[int]:
        """Apply the merges to one word's ids: the first learned first, left to right.

        A heap of the pairs that could be joined and a linked list of what is left, so
        that a word of n characters costs n log n steps, not n^2.
        """
        symbols = list(ids)
        after = [*range(1, len(symbols)), -1]
        before = [-1, *range(len(symbols) - 1)]
        heap: list[tuple[int, int, int]] = []  # (rank, position, joined id)

        def offer(left: int, right: int) -> None:
            if left >= 0 and right >= 0:
                found = self._ranks.get((symbols[left], symbols[right]))
                if found is not None:
                    heapq.heappush(heap, (found[0], left, found[1]))

        for position in range(len(symbols) - 1):
            offer(position, position + 1)
        while heap:
            rank, left, joined = heapq.heappop(heap)
            right = after[left]
            if symbols[left] < 0 or right < 0:
                continue  # one of the two was joined to another symbol meanwhile
            if self._ranks.get((symbols[left], symbols[right])) != (rank, joined):
                continue
            symbols[left], symbols[right] = joined, -1
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            offer(before[left], left)
            offer(left, after[left])
        return [symbol for symbol in symbols if symbol >= 0]

    def decode(self, ids: Iterable[int] | IntArray) -> list[str]:
        """Words of the ids; exactly those that were encoded, if they were.

        Pieces at the end that no ``</w>`` closes make a last word. Bytes that are no
        UTF-8 (a model may draw such) become U+FFFD.

        Raises ``ValueError`` for an id outside 0 to |V| - 1.
        """
        words: list[str] = []
        pending: list[bytes] = []

        def close() -> None:
            words.append(b"".join(pending).decode("utf-8", "replace"))
            pending.clear()

        for i in self.vocabulary.check_ids(np.asarray(ids)).tolist():
            piece, ends = self._bytes[i]
            if i in self._mark_ids and pending:
                close()
            pending.append(piece)
            if ends:
                close()
        if pending:
            close()
        return words

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write symbols and merges as JSON."""
        data = {
            "format": _FORMAT,
            "marks": self.marks,
            "unknown": self.vocabulary.unknown,
            "symbols": self.vocabulary.words,
            "merges": self.merges,
        }
        write_text(path, json.dumps(data, ensure_ascii=True) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BPE:
        """Read what ``save`` wrote; ``ValueError`` names a file that is not one."""
        try:
            data = json.loads(read_text(path))
            if data["format"] != _FORMAT:
                raise KeyError(data["format"])
            return cls(
                data["symbols"],
                data["merges"],
                marks=data["marks"],
                unknown=data["unknown"],
            )
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{Path(path)} was not written by BPE.save ({error}): write it again"
            ) from error


def base_symbols(alphabet: Iterable[str], marks: Sequence[str] = ()) -> list[str]:
    """The symbols before any merge: marks, bytes, characters inside and at the end."""
    characters = sorted(set(alphabet))
    ends = [character + WORD_END for character in characters]
    return [*marks, *BYTES, WORD_END, *characters, *ends]


def _utf8(character: str, word: str) -> bytes:
    try:
        return character.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the word {word!r} holds U+{ord(character):04X}, half of a pair of UTF-16 "
            "codes and no character: decode the text again from its bytes"
        ) from error
