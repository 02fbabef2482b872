"""A vocabulary: the fixed set of words a model chooses from, each with a number.

Every probability in this book is a probability over one vocabulary. Two models with
different vocabularies answer different questions, so a vocabulary carries a
*fingerprint* and comparisons check it. Chapter 1.

Left out on purpose: stemming, lower-casing, stop words. A language model predicts
every token of the text as it stands.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmlib.files import read_text, write_text

IntArray = NDArray[np.integer[Any]]

UNKNOWN = "<unk>"  # stands for every word that is rare or was never seen
SENTENCE_START = "<s>"
SENTENCE_END = "</s>"
TEXT_MARK = "<text>"  # before each text of a corpus
PARAGRAPH_MARK = "<p>"  # before each paragraph


class Vocabulary:
    """Words and their ids, 0 to |V| - 1, in an order that never depends on hashing.

    ``unknown`` names the word that stands for all others (Bengio et al. 2003
    merge rare words into one symbol). With ``unknown=None`` the vocabulary is closed,
    and encoding a word outside it is an error.

    >>> v = Vocabulary(["<unk>", "the", "cat"])
    >>> v.encode(["the", "dog"]).tolist()
    [1, 0]
    """

    __slots__ = ("_fingerprint", "_ids", "unknown", "words")

    def __init__(self, words: Sequence[str], unknown: str | None = UNKNOWN) -> None:
        reject_string(words, "words")
        self.words: tuple[str, ...] = tuple(words)
        self.unknown = unknown
        self._ids = {word: i for i, word in enumerate(self.words)}
        self._fingerprint: str | None = None
        if not self.words:
            raise ValueError("a vocabulary needs at least one word, got none")
        for word in self.words:
            if not isinstance(word, str) or word == "":
                raise ValueError(f"{word!r} is not a word: expected a non-empty string")
        if len(self._ids) < len(self.words):
            word, times = Counter(self.words).most_common(1)[0]
            raise ValueError(
                f"{word!r} stands {times} times in the word list: "
                "each word needs exactly one id, so remove the repetitions"
            )
        if unknown is not None and unknown not in self._ids:
            raise ValueError(
                f"the unknown symbol {unknown!r} is not among the "
                f"{len(self.words)} words: add it, or say unknown=None for a "
                "closed vocabulary"
            )

    @classmethod
    def from_tokens(
        cls,
        tokens: Iterable[str],
        min_count: int = 1,
        unknown: str | None = UNKNOWN,
        marks: Sequence[str] = (),
    ) -> Vocabulary:
        """Every word that occurs at least ``min_count`` times, most frequent first.

        Equal counts are ordered by spelling, so that the same text always gives the
        same ids. The unknown symbol has id 0 and ``marks`` (such as ``<s>``) follow;
        both are kept whatever their counts.

        Raises ``ValueError`` for an empty text, a string in place of tokens, or
        ``min_count`` below 1.
        """
        reject_string(tokens, "tokens")
        if min_count < 1:
            raise ValueError(
                f"min_count={min_count} would keep words that never occur: "
                "expected at least 1"
            )
        counts = Counter(tokens)
        if not counts:
            raise ValueError(
                "the text is empty: a vocabulary is counted from at least one token"
            )
        first = ([unknown] if unknown is not None else []) + list(marks)
        kept = [w for w, n in counts.items() if n >= min_count and w not in set(first)]
        if unknown is None and min_count > 1 and len(kept) < len(counts):
            raise ValueError(
                f"min_count={min_count} drops words, but unknown=None leaves no "
                f"symbol to stand for them: name one, such as unknown={UNKNOWN!r}"
            )
        kept.sort(key=lambda word: (-counts[word], word))
        return cls(first + kept, unknown)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and self.unknown == other.unknown

    def __hash__(self) -> int:
        return hash((self.words, self.unknown))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words, unknown={self.unknown!r})"

    @property
    def unknown_id(self) -> int | None:
        """Id of the unknown symbol, or None for a closed vocabulary."""
        return None if self.unknown is None else self._ids[self.unknown]

    @property
    def start_id(self) -> int | None:
        """Id of the sentence start ``<s>``, which is context and never predicted."""
        return self._ids.get(SENTENCE_START)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the words in order and the unknown symbol."""
        if self._fingerprint is None:
            text = json.dumps([self.unknown, *self.words], ensure_ascii=True)
            self._fingerprint = hashlib.sha256(text.encode("ascii")).hexdigest()
        return self._fingerprint

    def id(self, word: str) -> int:
        """Id of one word; an unseen word has the unknown symbol's id."""
        found = self._ids.get(word, self.unknown_id)
        if found is None:
            raise ValueError(
                f"{word!r} is not among the {len(self)} words, and this vocabulary "
                "has no unknown symbol to stand for it: build it with "
                f"unknown={UNKNOWN!r}, or correct the word"
            )
        return found

    def encode(self, tokens: Iterable[str]) -> NDArray[np.int32]:
        """Ids of the tokens, ``(T,)``; unseen words become the unknown symbol."""
        reject_string(tokens, "tokens")
        unknown = self.unknown_id
        if unknown is None:
            return np.fromiter((self.id(token) for token in tokens), np.int32)
        get = self._ids.get
        return np.fromiter((get(token, unknown) for token in tokens), np.int32)

    def decode(self, ids: Iterable[int] | IntArray) -> list[str]:
        """Words of the ids.

        Raises ``ValueError`` for an id outside 0 to |V| - 1.
        """
        array = self.check_ids(np.asarray(ids))
        return [self.words[i] for i in array.tolist()]

    def check_ids(self, ids: IntArray) -> IntArray:
        """The ids themselves, or a ``ValueError`` that names the first bad one."""
        if ids.size and not np.issubdtype(ids.dtype, np.integer):
            raise ValueError(
                f"ids have type {ids.dtype}: expected integers; encode words first"
            )
        bad = (ids < 0) | (ids >= len(self))
        if bad.any():
            raise ValueError(
                f"id {int(ids[bad].flat[0])} is outside 0 to {len(self) - 1}: the ids "
                "were made with another vocabulary"
            )
        return ids

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary as JSON; any Unicode in a word survives."""
        data = {"format": "lmlib vocabulary 1", "unknown": self.unknown}
        write_text(path, json.dumps({**data, "words": self.words}, indent=0) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read what ``save`` wrote; ``ValueError`` names a file that is not one."""
        try:
            data = json.loads(read_text(path))
            if data["format"] != "lmlib vocabulary 1":
                raise KeyError(data["format"])
            return cls(data["words"], data["unknown"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{Path(path)} is not a vocabulary written by Vocabulary.save "
                f"({error}): write it again"
            ) from error


def reject_string(tokens: object, what: str) -> None:
    """``ValueError`` when a string stands where a list of tokens is expected."""
    if isinstance(tokens, str | bytes):
        raise ValueError(
            f"{what} is the string {tokens[:20]!r}, whose elements are characters: "
            "expected a list of words, for example text.split()"
        )
