"""Texts as ids in a file that is read where it lies, however large. Chapter 10.

Two bytes an id where the vocabulary fits (uint16, up to 65,536 symbols), else four.
The file is NumPy's ``.npy``, opened as a memory map: only the windows that training
asks for are read. The vocabulary's fingerprint stands in a small JSON file beside it,
so that ids are never read with another vocabulary.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lmlib.files import read_text, replacing, write_text
from lmlib.vocabulary import IntArray, Vocabulary

_FORMAT = "lmlib token file 1"


def write_tokens(
    path: str | os.PathLike[str], parts: Iterable[IntArray], vocabulary: Vocabulary
) -> int:
    """Write parts of a text as one row of ids, all or nothing; returns their number.

    Raises ``ValueError`` for ids beyond the vocabulary, and when there are none.
    """
    path = Path(path)
    dtype = np.dtype("<u2" if len(vocabulary) <= 2**16 else "<u4")
    pieces = [
        np.asarray(vocabulary.check_ids(np.asarray(part)), dtype) for part in parts
    ]
    ids = np.concatenate(pieces) if pieces else np.empty(0, dtype)
    if not len(ids):
        raise ValueError(f"no tokens for {path}: give at least one")
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, ids, allow_pickle=False)
    about = {
        "format": _FORMAT,
        "tokens": len(ids),
        "vocabulary": vocabulary.fingerprint,
    }
    write_text(_beside(path), json.dumps(about, indent=1) + "\n")
    return len(ids)


def open_tokens(path: str | os.PathLike[str], vocabulary: Vocabulary) -> IntArray:
    """The ids of a token file, ``(T,)``, as a read-only memory map.

    Raises ``ValueError`` for a missing file, one cut short, and one of another
    vocabulary.
    """
    path = Path(path)
    try:
        about: dict[str, Any] = json.loads(read_text(_beside(path)))
        if about["format"] != _FORMAT:
            raise ValueError(f"format {about['format']!r}")
        ids: IntArray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is no token file, or missing, or cut short ({error}): write it "
            "again with write_tokens"
        ) from error
    if about["vocabulary"] != vocabulary.fingerprint:
        raise ValueError(
            f"{path} was written with another vocabulary: open it with that one, or "
            "write it again with this one"
        )
    if ids.ndim != 1 or len(ids) != about["tokens"]:
        raise ValueError(
            f"{path} has shape {ids.shape}, {_beside(path).name} tells of "
            f"{about['tokens']:,} tokens: write it again"
        )
    return ids


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")
