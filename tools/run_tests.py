"""Run the tests, or say that nothing changed since they last passed.

"Nothing" means: no source, test or notebook, no installed package, no variable that a
test reads, no file of the benchmark folders, the same browser. ``--force`` runs anyway.
``--notebooks`` only compares the notebooks with their stored outputs, always.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

from fingerprint import ROOT, fingerprint

STAMP = ROOT / ".pytest_cache" / "last-green-run"
SOURCES = (
    "lmlib",
    "tests",
    "book",
    "tools",
    "data",
    "_config.yml",
    "pyproject.toml",
    "requirements.txt",
    "README.md",
    "CITATION.cff",
    "Makefile",
)
VARIABLES = (
    "CI",
    "NLTK_DATA",
    "LMLIB_DATA",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "ATEN_CPU_CAPABILITY",
    "PYTHONHASHSEED",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# By default xdist splits the cells of one notebook over its workers: loadfile. A killed
# kernel would hang for nbval's default of 2,000 s a cell.
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=600")
WORKERS = ("-n", "2", "--dist", "loadfile")
# Two workers with two threads each fight for two cores: a training of 6 s took 340.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def data_files() -> list[tuple[str, int, int]]:
    """Name, size and date of each file in the folders that hold benchmarks."""
    found = []
    for variable in ("NLTK_DATA", "LMLIB_DATA"):
        if folder := os.environ.get(variable):
            for path in sorted(Path(folder).rglob("*")):
                found.append((str(path), path.stat().st_size, path.stat().st_mtime_ns))
    return found


def state() -> str:
    """Fingerprint of everything that the tests' outcome depends on."""
    packages = sorted(
        f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions()
    )
    variables = {name: os.environ.get(name) for name in VARIABLES}
    browsers = [shutil.which(name) for name in BROWSERS]
    extra = [sys.version, packages, variables, browsers, data_files()]
    return fingerprint(SOURCES, extra)


def run(arguments: list[str]) -> tuple[int, str]:
    """Run pytest, show what it prints, and return its status and closing line."""
    command = [sys.executable, "-m", "pytest", *arguments]
    last = ""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode, last


def main() -> int:
    """Parse the command line and run; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--notebooks", action="store_true")
    options = parser.parse_args()
    if options.notebooks:
        return run([*NBVAL, *WORKERS, "book"])[0]
    before = state()
    if not options.force and STAMP.is_file():
        green, _, closing = STAMP.read_text(encoding="utf-8").partition("\n")
        if green == before:
            print(f"Nothing changed since the last green run: {closing.strip()}")
            print("make test FORCE=1 repeats it.")
            return 0
    STAMP.unlink(missing_ok=True)
    status, closing = run([*NBVAL, *WORKERS, "tests", "book"])
    # A file edited during the run was perhaps not the one that was tested.
    if status == 0 and state() == before:
        STAMP.parent.mkdir(exist_ok=True)
        STAMP.write_text(f"{before}\n{closing}\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
