"""Reading ARPA files as SRILM, KenLM and IRSTLM write them, and refusing wrong ones."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmlib.ngrams.arpa_lines import ArpaError, ArpaLines, Section, arpa_text
from lmlib.ngrams.backoff import BackoffModel, Floats
from lmlib.ngrams.trie import ABSENT, Keys, Nodes, Trie
from lmlib.vocabulary import UNKNOWN, Vocabulary


def read_arpa(
    path: str | os.PathLike[str], vocabulary: Vocabulary | None = None
) -> BackoffModel:
    r"""Read a model from an ARPA file, plain or gzipped; all of it or nothing.

    Blanks or tabs separate the fields; text before ``\data\``, blank lines between
    sections and Windows line ends are allowed; a missing or empty weight is one; log10
    values of -99 or less are the logarithm of zero; a weight at the highest order is
    ignored with an ``ArpaWarning``. ``<s>`` has probability zero whatever the file
    says, because it is never predicted.

    The vocabulary has the file's words in the file's order, unless one is given; then
    it must hold the same words. Marks that ``write_arpa`` added are left out.

    Raises ``ArpaError``, a ``ValueError`` that names the line, for anything else.
    """
    path = Path(path)
    reader = ArpaLines(path, arpa_text(path).split("\n"))
    sections = reader.sections()
    names = reader.names
    words = [word for word in names if word not in reader.added]
    if vocabulary is None:
        unknown = next((w for w in (UNKNOWN, "<UNK>") if w in names), None)
        if not words:
            raise ArpaError(f"{path} has no word with a probability")
        vocabulary = Vocabulary(words, unknown)
    elif set(words) != set(vocabulary.words):
        odd = sorted(set(words) ^ set(vocabulary.words))[0]
        raise ArpaError(
            f"{path} has {len(words):,} words and the vocabulary given "
            f"{len(vocabulary):,}, and not the same ones ({odd!r} is only in one): "
            "read it without a vocabulary"
        )
    # From the file's numbering to the vocabulary's.
    new = np.full(len(names), ABSENT, np.int32)
    for word in words:
        new[names[word]] = vocabulary.id(word)
    return _assemble(reader, sections, vocabulary, new)


def _assemble(
    reader: ArpaLines,
    sections: list[Section],
    vocabulary: Vocabulary,
    new: Nodes,
) -> BackoffModel:
    """Sort each order's n-grams under their contexts, which must be there."""
    keys: list[Keys] = []
    log_p: list[Floats] = []
    log_alpha: list[Floats] = []
    for order, section in enumerate(sections, start=1):
        rows = new[section.rows]
        if order == 1:
            kept = np.flatnonzero(rows[:, 0] != ABSENT)
            places: NDArray[np.int64] = kept[np.argsort(rows[kept, 0])]
        else:
            trie = Trie(len(vocabulary), keys)
            node = rows[:, 0]
            for k in range(2, order):
                node = trie.find(k, node, rows[:, k - 1])
            missing = np.flatnonzero(node == ABSENT)
            if len(missing):
                row = rows[missing[0]]
                raise reader.error(
                    f"{' '.join(vocabulary.decode(row))!r} stands without its context "
                    f"{' '.join(vocabulary.decode(row[:-1]))!r} among the "
                    f"{order - 1}-grams",
                    section.first_line + int(missing[0]),
                )
            packed = trie.pack(node, rows[:, -1])
            places = np.argsort(packed, kind="stable")
            packed = packed[places]
            twice = np.flatnonzero(packed[1:] == packed[:-1])
            if len(twice):
                place = int(places[twice[0] + 1])
                raise reader.error(
                    f"{' '.join(vocabulary.decode(rows[place]))!r} stands here a "
                    "second time",
                    section.first_line + place,
                )
            keys.append(packed)
        log_p.append(section.log_p[places])
        if order < len(sections):
            log_alpha.append(section.log_alpha[places])
    if vocabulary.start_id is not None:
        log_p[0][vocabulary.start_id] = -np.inf
    trie = Trie(len(vocabulary), keys)
    return BackoffModel(vocabulary, trie, log_p, log_alpha, reader.path.name)
