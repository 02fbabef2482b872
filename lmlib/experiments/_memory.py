"""How much memory a piece of work needs, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_STATUS = Path("/proc/self/status")


def printed_mb(module: str, *arguments: str) -> float | None:
    """What ``python -m module arguments`` prints: a number of megabytes.

    Linux only, None elsewhere. The module prints ``growth_mb``.
    """
    if not _STATUS.exists():
        return None
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def growth_mb(first: Callable[[], None], work: Callable[[], None]) -> float:
    """High-water mark of resident memory after ``work``, beyond that after ``first``.

    ``first`` does a small piece of the same, which loads and starts everything.
    """
    first()
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> float:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return float(line.split()[1])  # kB
    raise ValueError(f"{_STATUS} has no {name}")
