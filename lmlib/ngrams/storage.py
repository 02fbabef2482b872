"""Saving and loading a model quickly: NumPy arrays in one file that runs no code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from lmlib.files import replacing
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.trie import Trie
from lmlib.vocabulary import Vocabulary

FORMAT = "lmlib n-gram model"
VERSION = 1


def save(model: BackoffModel, path: str | os.PathLike[str]) -> None:
    """Write a model as an ``.npz`` file, all of it or nothing.

    Keys, log-probabilities and weights are exact; how the discounts came about, which
    ``explain`` tells of a model just estimated, is not kept.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "name": model.name,
        "order": model.order,
        "interpolated": model.interpolated,
        "words": model.vocabulary.words,
        "unknown": model.vocabulary.unknown,
    }
    text = json.dumps(header, ensure_ascii=True).encode("ascii")
    arrays: dict[str, Any] = {"header": np.frombuffer(text, np.uint8)}
    for k in range(1, model.order + 1):
        arrays[f"log_p_{k}"] = model.log_p[k - 1]
        if k > 1:
            arrays[f"keys_{k}"] = model.trie.keys[k - 2]
        if k < model.order:
            arrays[f"log_alpha_{k}"] = model.log_alpha[k - 1]
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def load(path: str | os.PathLike[str]) -> BackoffModel:
    """Read what ``save`` wrote.

    Raises ``ValueError`` for a file that is cut short, altered, of another kind or of
    a newer version, by name.
    """
    import zipfile  # these only here, so that importing lmlib.ngrams stays light
    import zlib

    try:
        # Opened here, because np.load leaves a file that is no archive open.
        with (
            Path(path).open("rb") as raw,
            np.lib.npyio.NpzFile(raw, allow_pickle=False) as file,
        ):
            header = json.loads(file["header"].tobytes())
            if header["format"] != FORMAT:
                raise KeyError(header["format"])
            if header["version"] != VERSION:
                raise ValueError(
                    f"it has version {header['version']}, and this program reads "
                    f"version {VERSION}"
                )
            return _model(header, file)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        TypeError,
        NotImplementedError,
        ValueError,
    ) as error:
        raise ValueError(
            f"{Path(path)} is not a whole n-gram model written by save ({error}): "
            "save it again"
        ) from error


def _model(header: dict[str, Any], file: Any) -> BackoffModel:
    vocabulary = Vocabulary(header["words"], header["unknown"])
    orders = range(1, header["order"] + 1)
    trie = Trie(len(vocabulary), [file[f"keys_{k}"] for k in orders[1:]])
    log_p = [file[f"log_p_{k}"] for k in orders]
    log_alpha = [file[f"log_alpha_{k}"] for k in orders[:-1]]
    for k in orders:
        size = trie.size(k)
        if k > 1:
            keys = trie.keys[k - 2]
            if keys.dtype != np.uint64 or bool((keys[1:] <= keys[:-1]).any()):
                raise ValueError(f"the n-grams of order {k} are not sorted keys")
            if size and (
                int(trie.parents(k)[-1]) >= trie.size(k - 1)
                or int(trie.last_words(k).max()) >= len(vocabulary)
            ):
                raise ValueError(f"n-grams of order {k} have unknown parts")
        for values in (log_p[k - 1], *log_alpha[k - 1 : k]):
            if values.shape != (size,) or values.dtype != np.float64:
                raise ValueError(f"order {k} has {size} n-grams, but other values")
            if np.isnan(values).any():
                raise ValueError(f"order {k} has values that are not numbers")
    return BackoffModel(
        vocabulary,
        trie,
        log_p,
        log_alpha,
        header["name"],
        interpolated=header["interpolated"],
    )
