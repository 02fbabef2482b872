r"""The lines of an ARPA file, parsed one after the other; errors name the line."""

from __future__ import annotations

import gzip
import math
import re
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lmlib.ngrams.arpa import ADDED, LOG_ZERO
from lmlib.ngrams.backoff import Floats
from lmlib.ngrams.trie import Nodes

_COUNT = re.compile(r"ngram\s+(\d+)\s*=\s*(\d+)\s*", re.ASCII)


class ArpaError(ValueError):
    """A file that is not a correct ARPA file; the message has the line's number."""


class ArpaWarning(UserWarning):
    """Something in an ARPA file that is ignored."""


@dataclass
class Section:
    """The n-grams of one order, in the file's order and numbering of words."""

    first_line: int
    log_p: Floats  # nats
    rows: Nodes  # (size, order)
    log_alpha: Floats


class ArpaLines:
    """The lines of a file, one after the other, and what they are expected to be."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self.at = 0  # index of the next line
        self.names: dict[str, int] = {}
        self.added: list[str] = []  # marks that are not of the vocabulary

    def error(self, message: str, line: int | None = None) -> ArpaError:
        """An error about a line, by default the next one, for the caller to raise."""
        number = self.at + 1 if line is None else line
        return ArpaError(f"{self.path}, line {number}: {message}")

    def skip_blank(self) -> str:
        """Go to the next line that is not blank; "" at the end of the file."""
        while self.at < len(self.lines):
            line = self.lines[self.at].strip(" \t\r")
            if line:
                return line
            self.at += 1
        return ""

    def sections(self) -> list[Section]:
        """Everything from the first line to the last."""
        counts = self.header()
        sections = []
        for order, size in enumerate(counts, start=1):
            title = f"\\{order}-grams:"
            if (line := self.skip_blank()) != title:
                raise self.error(f"expected {title}, found {_shown(line)}")
            self.at += 1
            sections.append(self.section(order, size, order == len(counts)))
        if (line := self.skip_blank()) != "\\end\\":
            raise self.error(f"expected \\end\\, found {_shown(line)}")
        self.at += 1
        if line := self.skip_blank():
            raise self.error(f"{_shown(line)} after \\end\\: two files in one?")
        return sections

    def header(self) -> list[int]:
        r"""The counts between ``\data\`` and the first section."""
        while (line := self.skip_blank()) != "\\data\\":
            if not line:
                raise self.error("no \\data\\ line: this is not an ARPA file")
            if line.startswith(ADDED):
                self.added = line.removeprefix(ADDED).split(" ")
            if line in ("iARPA", "qARPA"):
                raise self.error(
                    f"{line} is an inner format of IRSTLM: convert it with its "
                    "compile-lm --text=yes"
                )
            self.at += 1
        self.at += 1
        counts: list[int] = []
        while (line := self.skip_blank()) and not line.startswith("\\"):
            found = _COUNT.fullmatch(line)
            if not found or int(found[1]) != len(counts) + 1:
                raise self.error(
                    f"expected 'ngram {len(counts) + 1}=' and a count, found "
                    f"{_shown(line)}"
                )
            counts.append(int(found[2]))
            self.at += 1
        if not counts or not counts[0]:
            raise self.error("the header announces no words (ngram 1=...)")
        return counts

    def section(self, order: int, size: int, highest: bool) -> Section:
        """The n-grams of one order, as many as the header announced."""
        begin = self.at
        log_p: list[float] = []
        log_alpha: list[float] = []
        ids: list[int] = []
        ignored = 0
        for line in self.lines[begin : begin + size]:
            fields = line.rstrip("\r").replace("\t", " ").split(" ")
            if "" in fields:
                fields = [field for field in fields if field]
            if not fields or fields[0].startswith("\\"):
                break
            log_p.append(self.number(fields[0]))
            if log_p[-1] > 0:
                raise self.error(
                    f"the log10 probability {fields[0]} is above 0, a probability "
                    "above one"
                )
            self.words(fields[1 : order + 1], ids, order)
            if len(fields) == order + 1:
                log_alpha.append(0.0)
            elif len(fields) == order + 2:
                log_alpha.append(self.number(fields[-1]))
                ignored = ignored or (self.at + 1 if highest else 0)
            else:
                raise self.error(f"{len(fields)} fields: {_expected(order, line)}")
            self.at += 1
        line = self.skip_blank()
        if len(log_p) < size or (line and not line.startswith("\\")):
            raise self.error(
                f"the header announces {size} {order}-grams, and not the "
                f"{len(log_p)}{'' if len(log_p) < size else ' and more'} that stand "
                f"here before {_shown(line)}"
            )
        if ignored:
            warnings.warn(
                f"{self.path}, line {ignored}: {order}-grams are the longest ones, so "
                "their back-off weights are ignored",
                ArpaWarning,
                stacklevel=4,
            )
        rows = np.array(ids, np.int32).reshape(size, order)
        return Section(begin + 1, _nats(log_p), rows, _nats(log_alpha))

    def words(self, words: list[str], ids: list[int], order: int) -> None:
        """Append the words' numbers; single words are new, all others known."""
        names = self.names
        if len(words) < order:
            raise self.error(
                f"{len(words) + 1} fields: {_expected(order, self.lines[self.at])}"
            )
        if order > 1:
            try:
                ids.extend([names[word] for word in words])
            except KeyError as missing:
                raise self.error(
                    f"the word {missing} is not among the 1-grams"
                ) from None
        elif words[0] in names:
            raise self.error(f"the word {words[0]!r} stands here a second time")
        else:
            ids.append(len(names))
            names[words[0]] = len(names)

    def number(self, text: str) -> float:
        """A finite number or minus infinity."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if value < math.inf and "_" not in text:
            return value
        hint = ""
        if "," in text:
            hint = " (a decimal comma? ARPA files have a decimal point)"
        raise self.error(f"{text!r} is not a number{hint}")


def arpa_text(path: Path) -> str:
    """The whole file as text, unpacked if it is gzipped, whatever its name."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ArpaError(
                f"{path} is a damaged or truncated gzip file ({error}): copy it again"
            ) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ArpaError(
            f"{path}, line {line}: not UTF-8 (byte {data[error.start]:#04x}); convert "
            "it, for example with iconv -f latin1 -t utf-8"
        ) from error


def _nats(log10: list[float]) -> Floats:
    values = np.array(log10, np.float64)
    values[values <= LOG_ZERO] = -np.inf
    return values * math.log(10)


def _expected(order: int, line: str) -> str:
    return (
        f"expected a log10 probability, {order} words and perhaps a back-off weight, "
        f"found {_shown(line)}"
    )


def _shown(line: str) -> str:
    line = line.strip(" \t\r")
    return repr(line[:60]) if line else "a blank line or the end of the file"
