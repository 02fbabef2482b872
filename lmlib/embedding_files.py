"""Embeddings as files that other programs read: word2vec's text and binary formats.

Both begin with a line ``|V| m``. Then the text format has a line for each word, the
word and m numbers; the binary one has the word, a blank, and m little-endian float32,
with or without a line end after them. Words are UTF-8. There is no more to it, and no
checksum, so a reader must distrust what it reads. gensim reads and writes the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lmlib.embeddings import Embeddings, FloatArray
from lmlib.files import read_text, replacing, write_text
from lmlib.vocabulary import Vocabulary

_FLOAT = np.dtype("<f4")


def save_text(embeddings: Embeddings, path: str | os.PathLike[str]) -> None:
    """Write the text format, in full precision: what is read back is the same.

    Raises ``ValueError`` for a word with white space, which would end it.
    """
    _check_words(embeddings.vocabulary.words)
    lines = [f"{len(embeddings)} {embeddings.dimension}"]
    for word, row in zip(
        embeddings.vocabulary.words, embeddings.vectors.tolist(), strict=True
    ):
        lines.append(" ".join([word, *map(repr, row)]))
    write_text(path, "\n".join(lines) + "\n")


def save_binary(embeddings: Embeddings, path: str | os.PathLike[str]) -> None:
    """Write the binary format; numbers are rounded to float32.

    Raises ``ValueError`` for a word with white space, or a number float32 cannot hold.
    """
    words = embeddings.vocabulary.words
    _check_words(words)
    with np.errstate(over="ignore"):
        rows = embeddings.vectors.astype(_FLOAT)
    if not np.isfinite(rows).all():
        word = words[int(np.flatnonzero(~np.isfinite(rows).all(1))[0])]
        raise ValueError(
            f"the vector of {word!r} is too large for float32, the binary format's "
            "numbers: use save_text"
        )
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(f"{len(words)} {embeddings.dimension}\n".encode())
        for word, row in zip(words, rows, strict=True):
            file.write(word.encode() + b" " + row.tobytes() + b"\n")


def load_text(path: str | os.PathLike[str]) -> Embeddings:
    """Read the text format, float64; the vocabulary is closed.

    Raises ``ValueError`` that names the line: a header that is none or does not agree
    with the lines, a number that is none, a word that stands twice, or not UTF-8.
    """
    lines = read_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    size, dimension = _header(path, lines[0] if lines else "")
    if len(lines) - 1 != size:
        raise ValueError(
            f"{Path(path)} says in its first line that {size} words follow, but there "
            f"are {len(lines) - 1}: it was cut off, or the header is wrong"
        )
    words: list[str] = []
    rows: list[list[float]] = []
    for number, line in enumerate(lines[1:], start=2):
        word, *values = line.rstrip(" \r").split(" ")
        if len(values) != dimension:
            raise ValueError(
                f"{Path(path)}, line {number}: {word!r} has {len(values)} numbers, but "
                f"the first line says {dimension}: the file is damaged"
            )
        try:
            rows.append([float(value) for value in values])
        except ValueError as error:
            raise ValueError(
                f"{Path(path)}, line {number}: {word!r} is followed by something that "
                f"is not a number ({error}): the file is damaged"
            ) from error
        words.append(word)
    return _embeddings(path, words, np.array(rows))


def load_binary(path: str | os.PathLike[str]) -> Embeddings:
    """Read the binary format, float32; the vocabulary is closed.

    Raises ``ValueError`` for a header that is none or promises more or less than the
    file holds, a word that stands twice or is not UTF-8, or numbers that are none.
    """
    data = Path(path).read_bytes()
    line, newline, _ = data[:64].partition(b"\n")
    size, dimension = _header(path, line.decode("utf-8", "replace") if newline else "")
    # The shortest entry is a letter, a blank and the numbers. Checked first, so that a
    # header that lies cannot ask for more memory than the file has.
    width = dimension * _FLOAT.itemsize
    at = len(line) + 1
    if size * (width + 2) > len(data) - at:
        raise ValueError(
            f"{Path(path)} says in its first line that {size} words of {dimension} "
            f"numbers follow, but only {len(data) - at} bytes do: it was cut off, or "
            "the header is wrong"
        )
    words: list[str] = []
    rows = np.empty((size, dimension), _FLOAT)
    for number in range(size):
        blank = data.find(b" ", at)
        end = blank + 1 + width
        if blank < 0 or end > len(data):
            raise ValueError(
                f"{Path(path)} ends in the middle of word {number + 1} of {size}: it "
                "was cut off, or the header is wrong"
            )
        words.append(_decoded(path, data[at:blank].lstrip(b"\n"), number))
        rows[number] = np.frombuffer(data, _FLOAT, dimension, blank + 1)
        at = end
    rest = len(data) - at
    if data[at:].strip(b"\n"):
        raise ValueError(
            f"{Path(path)} has {rest} bytes left after the {size} words of {dimension} "
            "numbers that its first line promises: the header is wrong"
        )
    return _embeddings(path, words, rows)


def _header(path: str | os.PathLike[str], line: str) -> tuple[int, int]:
    parts = line.split()
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(
            f"{Path(path)} begins with {line[:40]!r}: expected the number of words and "
            "the dimension, as in '71291 200', the first line of word2vec's formats"
        )
    size, dimension = int(parts[0]), int(parts[1])
    if size < 1 or dimension < 1:
        raise ValueError(
            f"{Path(path)} says it holds {size} words of dimension {dimension}: "
            "expected at least 1 of each"
        )
    return size, dimension


def _decoded(path: str | os.PathLike[str], word: bytes, number: int) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{Path(path)}: word {number + 1} begins with {word[:20]!r}, which is not "
            "UTF-8: the dimension in the first line is wrong, or the file is damaged"
        ) from error


def _embeddings(
    path: str | os.PathLike[str], words: list[str], rows: FloatArray
) -> Embeddings:
    try:
        return Embeddings(Vocabulary(words, unknown=None), rows)
    except ValueError as error:
        raise ValueError(f"{Path(path)}: {error}") from error


def _check_words(words: Sequence[str]) -> None:
    for word in words:
        if word.split() != [word]:
            raise ValueError(
                f"{word!r} holds white space, which ends a word in this format: "
                "replace it, for example by an underscore"
            )
