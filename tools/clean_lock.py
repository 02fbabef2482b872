"""Remove local version labels from a lock file and check that the rest is plain.

``torch==2.13.0+cpu`` is one index's build of torch 2.13.0; a lock that names it cannot
be installed from PyPI. Every line must be ``name==version``, with a comment perhaps.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LINE = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+(\s+# via .*)?")


def clean(text: str) -> str:
    """The lock without local labels; ``ValueError`` names a line that is no pin."""
    lines = [
        re.sub(r"^(\S+==[^\s+]+)\+\S+", r"\1", line)
        for line in text.splitlines()
        if line.strip() and not line.startswith("#")
    ]
    for line in lines:
        if not LINE.fullmatch(line):
            raise ValueError(f"{line!r} is not of the form name==version")
        if line.startswith("lmlib=="):
            raise ValueError("the lock must not name lmlib itself")
    return (
        "# Every dependency of every extra, for Python 3.11, used as constraints.\n"
        "# Written by `make lock` from pyproject.toml.\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(clean(path.read_text(encoding="utf-8")), encoding="utf-8")
