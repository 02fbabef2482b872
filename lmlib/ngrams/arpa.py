r"""ARPA files: the text format that SRILM, KenLM and IRSTLM exchange models in.

    \data\
    ngram 1=3
    ngram 2=2

    \1-grams:
    -0.4771 <unk>
    -0.4771 the -0.3010
    -0.4771 cat

    \2-grams:
    -0.1761 the cat
    ...

    \end\

Each line has log10 P(w | h), the n-gram, and log10 alpha(h) where the n-gram is the
context of longer ones. -99 stands for the logarithm of zero. Chapter 3.
"""

from __future__ import annotations

import gzip
import io
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from lmlib.files import replacing
from lmlib.ngrams.backoff import BackoffModel, Floats
from lmlib.vocabulary import SENTENCE_END, SENTENCE_START

LOG_ZERO = -99.0  # log10 of zero, by custom
ADDED = "# lmlib added for KenLM: "  # before \\data\\, where comments may stand
_BLANKS = " \t\r\n\v\f\0"  # what some reader of ARPA files takes for a blank


def write_arpa(
    model: BackoffModel, path: str | os.PathLike[str], marks: bool = True
) -> None:
    """Write a model as ARPA text, gzipped where the name ends in ``.gz``.

    Numbers have 12 significant digits. ``marks`` adds ``<s>`` and ``</s>`` with
    probability zero where the vocabulary lacks them, because KenLM refuses files
    without; a comment above the data says so, and ``read_arpa`` leaves them out again.
    Highest orders without any n-gram are not written.

    Raises ``ValueError`` for a word that holds a blank, which the format cannot say.
    """
    for word in model.vocabulary.words:
        if any(blank in word for blank in _BLANKS):
            raise ValueError(
                f"{word!r} holds a blank, which separates words in an ARPA file: "
                "replace it before the vocabulary is built, or use save"
            )
    with replacing(path) as temporary:
        if Path(path).suffix == ".gz":
            # No date and no name in the header: same model, same bytes.
            with (
                temporary.open("wb") as raw,
                gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
                io.TextIOWrapper(packed, "utf-8", newline="\n") as file,
            ):
                file.writelines(arpa_lines(model, marks))
        else:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(arpa_lines(model, marks))


def arpa_lines(model: BackoffModel, marks: bool = True) -> Iterator[str]:
    """The lines that ``write_arpa`` writes."""
    trie, words = model.trie, model.vocabulary.words
    order = max(k for k in range(1, model.order + 1) if trie.size(k))
    extra = [w for w in (SENTENCE_START, SENTENCE_END) if w not in model.vocabulary]
    if not marks:
        extra = []
    if extra:
        yield f"{ADDED}{' '.join(extra)}\n"
    yield "\\data\\\n"
    yield f"ngram 1={len(words) + len(extra)}\n"
    yield from (f"ngram {k}={trie.size(k)}\n" for k in range(2, order + 1))
    names = list(words)
    for k in range(1, order + 1):
        if k > 1:
            above, last = trie.parents(k).tolist(), trie.last_words(k).tolist()
            names = [f"{names[p]} {words[w]}" for p, w in zip(above, last, strict=True)]
        yield f"\n\\{k}-grams:\n"
        log_p = _log10(model.log_p[k - 1])
        if k < order:
            log_alpha = _log10(model.log_alpha[k - 1])
            yield from _with_back_off(log_p, names, log_alpha)
        else:
            lines = zip(log_p, names, strict=True)
            yield from (f"{p:.12g}\t{name}\n" for p, name in lines)
        if k == 1:
            yield from (f"{LOG_ZERO:g}\t{word}\n" for word in extra)
    yield "\n\\end\\\n"


def _with_back_off(
    log_p: Iterable[float], names: Iterable[str], log_alpha: Iterable[float]
) -> Iterator[str]:
    for p, name, alpha in zip(log_p, names, log_alpha, strict=True):
        if alpha:
            yield f"{p:.12g}\t{name}\t{alpha:.12g}\n"
        else:  # an absent weight is one
            yield f"{p:.12g}\t{name}\n"


def _log10(log: Floats) -> list[float]:
    values: list[float] = np.maximum(log / math.log(10), LOG_ZERO).tolist()
    return values
