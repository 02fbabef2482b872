"""Run notebooks from top to bottom and store their outputs: ``make execute CH=02``.

The file is replaced only if every cell ran. What would differ from run to run without
saying anything about the book (times, the machine's Python) is not stored.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from lmlib.files import write_text

BOOK = Path(__file__).resolve().parent.parent / "book"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> None:
    """Run one notebook in its own folder, as nbval does, and store the result."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("execution", None)
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
    ).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.validate(notebook)
    write_text(path, nbformat.writes(notebook).rstrip("\n") + "\n")


def main(chapter: str) -> int:
    """Execute ``book/CHAPTER*.ipynb``; return the exit status."""
    found = sorted(BOOK.glob(f"{chapter}*.ipynb"))
    if not found:
        names = ", ".join(sorted(p.stem for p in BOOK.glob("*.ipynb"))) or "none"
        print(f"no notebook begins with {chapter!r}; there are: {names}")
        return 1
    for path in found:
        started = time.perf_counter()
        try:
            execute(path)
        except CellExecutionError as error:
            print(f"{path.name} was not changed, since a cell failed:\n{error}")
            return 1
        print(f"{path.name}: executed in {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
