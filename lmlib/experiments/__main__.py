"""``python -m lmlib.experiments NAME ...`` runs one experiment; no name lists them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """The experiments there are."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(m.name for m in found if not m.name.startswith("_"))


def main(arguments: list[str]) -> int:
    """Run the experiment that the first argument names; the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m lmlib.experiments NAME [--help]")
        for name in names():
            module = importlib.import_module(f"lmlib.experiments.{name}")
            print(f"  {name:16} {(module.__doc__ or '').splitlines()[0]}")
        return 0
    if arguments[0] not in names():
        known = ", ".join(names())
        print(
            f"no experiment {arguments[0]!r}: expected one of {known}", file=sys.stderr
        )
        return 2
    module = importlib.import_module(f"lmlib.experiments.{arguments[0]}")
    try:
        module.main(arguments[1:])
    except ValueError as error:  # says what was given, expected, and what to do
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
