"""Build the site, every warning an error, and check that every page is there.

Nothing is done where the sources are those of the last good build. Otherwise the whole
site is built from scratch: Sphinx repeats no warning for a page that it does not read
again, so a second, incremental build could pass where the first had failed.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys

import yaml
from fingerprint import ROOT, fingerprint

SITE = ROOT / "_build" / "html"
STAMP = ROOT / "_build" / "sources.sha256"
# Chapters include the library's source, the API pages its docstrings.
SOURCES = ("book", "lmlib", "data/results", "_config.yml", "tools/build_book.py")


def pages() -> list[str]:
    """The documents named in the table of contents, without suffix."""
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))

    def walk(entry: dict) -> list[str]:
        found = [entry["file"]] if "file" in entry else []
        for key in ("parts", "chapters", "sections"):
            for child in entry.get(key, ()):
                found += walk(child)
        return found

    return [toc["root"], *walk(toc)]


def missing_pages() -> list[str]:
    """Pages of the table of contents that have no HTML file."""
    return [page for page in pages() if not (SITE / f"{page}.html").is_file()]


def state() -> str:
    """Fingerprint of everything that the site is made from."""
    installed = sorted(
        f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions()
    )
    return fingerprint(SOURCES, installed)


def main() -> int:
    """Build where needed; return the exit status."""
    now = state()
    green = STAMP.is_file() and STAMP.read_text(encoding="utf-8") == now
    if green and not missing_pages():
        print(f"The book is up to date: {SITE / 'index.html'}")
        return 0
    shutil.rmtree(ROOT / "_build", ignore_errors=True)
    start = "from jupyter_book.cli.main import main; main()"  # it has no __main__
    command = [sys.executable, "-c", start, "build", "book"]
    # -n: a reference to nothing is a warning; -W: a warning is an error.
    command += ["--path-output", ".", "-n", "-W", "--keep-going"]
    done = subprocess.run(command, cwd=ROOT)
    if done.returncode:
        print("The book was not built: see the warnings above.", file=sys.stderr)
        return done.returncode
    # Another major version of jupyter-book can exit 0 having built nothing.
    if missing := missing_pages():
        print(f"No page was built for: {', '.join(missing)}", file=sys.stderr)
        return 1
    STAMP.write_text(now, encoding="utf-8")
    print(f"The book is built: {SITE / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
