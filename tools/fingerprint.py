"""One number for the state of a set of files: what makes second runs quick.

Contents are hashed, not dates: a checkout or a copy changes dates and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGNORED = {"__pycache__", ".ipynb_checkpoints", "_build", "runs", ".venv", ".git"}


def files_below(names: Iterable[str]) -> Iterator[Path]:
    """Every file of the named files and folders of the repository, in fixed order."""
    for name in names:
        path = ROOT / name
        if path.is_file():
            yield path
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(set(folders) - IGNORED)
            yield from (Path(folder) / file for file in sorted(files))


def fingerprint(names: Iterable[str], extra: object = None) -> str:
    """SHA-256 over the files' names and contents and over ``extra`` (as JSON)."""
    digest = hashlib.sha256(json.dumps(extra, sort_keys=True).encode())
    for path in files_below(names):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"\n{path.relative_to(ROOT).as_posix()} {content}".encode())
    return digest.hexdigest()
