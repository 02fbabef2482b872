"""Records of long runs: one JSON file a run in ``data/results/``, with provenance.

A number in the book is either computed in a cell or read from a record. A record is
written by its experiment alone, whole or not at all, and says how it was made: the
command, configuration, seeds, commit, versions and machine. Figures are flat,
``"row/measure": number``, with rows named as in the paper. See ``data/README.md``.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from lmlib.files import read_text, write_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "data" / "results"

_VERSIONS = ("numpy", "torch", "nltk", "kenlm", "gensim", "transformers")


@dataclass
class Record:
    """One experiment's outcome and how it came about.

    ``figures`` and ``paper`` map ``"row/measure"`` to a number (``paper`` holds the
    published value of the same row and measure); ``notes`` are sentences a reader
    needs to judge them, such as why ours and the paper's differ.
    """

    experiment: str
    command: str
    config: dict[str, Any]
    seeds: list[int]
    figures: dict[str, float]
    paper: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    started: str = ""
    commit: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.experiment or "/" in self.experiment or "\\" in self.experiment:
            raise ValueError(
                f"experiment {self.experiment!r} names the record's file: expected a "
                "name without slashes"
            )
        for name in ("figures", "paper"):
            for key, value in getattr(self, name).items():
                _check_figure(name, key, value)

    def rows(self, measure: str) -> dict[str, tuple[float, float | None]]:
        """Row to (ours, the paper's or None) for one measure, in the record's order."""
        ending = "/" + measure
        return {
            key.removesuffix(ending): (value, self.paper.get(key))
            for key, value in self.figures.items()
            if key.endswith(ending)
        }


def _check_figure(where: str, key: str, value: object) -> None:
    row, _, measure = key.rpartition("/")
    if not row or not measure:
        raise ValueError(
            f"{where} has the key {key!r}: expected 'row/measure', such as "
            "'MLP9/test_ppl'"
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}[{key!r}] is {value!r}: expected a number")
    if not math.isfinite(value):
        raise ValueError(
            f"{where}[{key!r}] is {value}, which JSON cannot hold and nobody can plot: "
            "say in the notes what failed, and leave the figure out"
        )


def begin(
    experiment: str, command: str, config: dict[str, Any], seeds: list[int]
) -> Record:
    """A record with provenance filled in and no figures yet."""
    return Record(
        experiment=experiment,
        command=command,
        config=config,
        seeds=seeds,
        figures={},
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        commit=_commit(),
        versions=_versions(),
        machine=_machine(),
    )


def write(record: Record, folder: str | os.PathLike[str] = RESULTS) -> Path:
    """Write ``folder/experiment.json``, replacing an older one in a single step."""
    record.__post_init__()  # figures may have been added since
    path = Path(folder) / f"{record.experiment}.json"
    try:
        text = json.dumps(asdict(record), indent=1, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")
    except OSError as error:
        raise ValueError(
            f"the record cannot be written to {path} ({error.strerror}): choose a "
            "folder you may write to; an older record there is unchanged"
        ) from error
    return path


def read(experiment: str, folder: str | os.PathLike[str] = RESULTS) -> Record:
    """The record of an experiment; ``ValueError`` says how to make a missing one."""
    path = Path(folder) / f"{experiment}.json"
    if not path.exists():
        raise ValueError(
            f"there is no record {path}: make it with "
            f"python -m lmlib.experiments {experiment}"
        )
    try:
        data = json.loads(read_text(path))
        known = {f.name for f in fields(Record)}
        if set(data) - known:
            raise KeyError(f"unknown fields {sorted(set(data) - known)}")
        return Record(**data)
    except (json.JSONDecodeError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} is not a record of this project ({error}): run "
            f"python -m lmlib.experiments {experiment} again"
        ) from error


def _commit() -> str:
    """Commit of the working tree, with "-dirty" where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _VERSIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": model,
        "cores": os.cpu_count(),
    }
