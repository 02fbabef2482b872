"""Checkpoints: tensors and their story in one file that cannot run code.

A checkpoint is one safetensors file; what is not a tensor (step, configuration,
history) is JSON in its header, so the two can never belong to different moments. The
header holds a SHA-256 of the tensors too: a file cut short or altered is refused by
name. Chapter 6.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lmlib.files import replacing

_FORMAT = "lmlib tensors 1"
_KEPT = 2  # generations of a run's checkpoints


class DamagedFile(ValueError):
    """A tensor file that is cut short or altered; the message names it."""


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    about: Mapping[str, Any],
) -> None:
    """Write tensors and a JSON-able description, all of it or nothing.

    Raises ``ValueError`` when the folder cannot be written; an older file stays.
    """
    path = Path(path)
    held = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    header = {
        "format": _FORMAT,
        "sha256": _digest(held),
        "about": json.dumps(about, ensure_ascii=True),
    }
    try:
        with replacing(path) as temporary:
            save_file(held, temporary, metadata=header)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror or error}): choose a folder "
            "you may write to, with room; an older file there is unchanged"
        ) from error


def read_tensors(
    path: str | os.PathLike[str], expected: Mapping[str, Any] | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and description that ``write_tensors`` wrote.

    ``expected`` names parts of the description that must be as given, such as the
    vocabulary's fingerprint. Raises ``DamagedFile`` for a file cut short or altered,
    ``ValueError`` for a missing one, for one of another origin, and for one whose
    description differs from ``expected``.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise DamagedFile(
            f"{path} is damaged or cut short ({error}): use an older copy, or make "
            "it again"
        ) from error
    if header.get("format") != _FORMAT:
        raise ValueError(
            f"{path} was not written by this package (format "
            f"{header.get('format')!r}, expected {_FORMAT!r})"
        )
    if header.get("sha256") != _digest(tensors):
        raise DamagedFile(
            f"{path} is damaged: its tensors are not the ones that were written; use "
            "an older copy, or make it again"
        )
    about: dict[str, Any] = json.loads(header["about"])
    for key, value in (expected or {}).items():
        if about.get(key) != value:
            raise ValueError(
                f"{path} belongs to something else: its {key} is {about.get(key)!r}, "
                f"here it is {value!r}; give the matching {key}, or another file"
            )
    return tensors, about


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names and bytes, in order of name."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(name.encode())
        flat = tensors[name].reshape(-1)
        total.update(flat.view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


class Checkpoints:
    """The checkpoints of one run in its own folder: the last two are kept.

    ``identity`` says what the run is (configuration, seed, the vocabulary's
    fingerprint, all JSON-able). A checkpoint with another identity is refused, so a
    run is never continued with other data or another shape. ``every`` is how many
    updates lie between two.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        identity: Mapping[str, Any],
        every: int = 1000,
    ) -> None:
        if every < 1:
            raise ValueError(f"every={every} updates: expected at least 1")
        self.folder = Path(folder)
        self.every = every
        # As JSON gives it back, for comparison: tuples become lists.
        self.identity: dict[str, Any] = json.loads(json.dumps(identity))

    def paths(self) -> list[Path]:
        """Checkpoint files, newest first."""
        found = self.folder.glob("step-*.safetensors")
        named = [p for p in found if re.fullmatch(r"step-\d+\.safetensors", p.name)]
        return sorted(named, key=lambda p: int(p.stem.removeprefix("step-")))[::-1]

    def save(
        self, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]
    ) -> Path:
        """Write the state after ``step`` updates, then drop all but the last two."""
        path = self.folder / f"step-{step:08d}.safetensors"
        about = {"step": step, "identity": self.identity, "state": state}
        write_tensors(path, tensors, about)
        for old in self.paths()[_KEPT:]:
            old.unlink(missing_ok=True)
        return path

    def load(self) -> tuple[int, dict[str, Tensor], dict[str, Any]] | None:
        """Step, tensors and state of the newest whole checkpoint; None without any.

        A damaged one is passed over with a warning that names it. Raises
        ``ValueError`` when all are damaged, and for a checkpoint of another run.
        """
        damaged = []
        for path in self.paths():
            try:
                tensors, about = read_tensors(path)
            except DamagedFile as error:
                damaged.append(path.name)
                warnings.warn(
                    f"{error}; going on from the checkpoint before it", stacklevel=2
                )
                continue
            self._check_identity(path, about.get("identity", {}))
            return about["step"], tensors, about["state"]
        if damaged:
            raise DamagedFile(
                f"every checkpoint in {self.folder} is damaged "
                f"({', '.join(damaged)}): remove them to start again"
            )
        return None

    def _check_identity(self, path: Path, found: Mapping[str, Any]) -> None:
        for key in sorted({*found, *self.identity}):
            if found.get(key) != self.identity.get(key):
                raise ValueError(
                    f"{path} belongs to another run: its {key} is "
                    f"{found.get(key)!r}, this run's is {self.identity.get(key)!r}; "
                    "choose another folder, or remove it to start again"
                )
