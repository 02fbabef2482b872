"""Reading and writing files: UTF-8 always said, never half-written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def read_text(path: str | os.PathLike[str]) -> str:
    """The file as text; ``ValueError`` says where it stops being UTF-8."""
    data = Path(path).read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{Path(path)} is not UTF-8: byte {data[error.start]:#04x} at offset "
            f"{error.start} (line {line}); convert it, for example with "
            "iconv -f latin1 -t utf-8"
        ) from error


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name only if all went well.

    A reader sees the old file or the new one, never half of one; on an error the old
    file stays and the temporary one is removed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        # mkstemp makes files private to the owner; give the usual permissions.
        if os.name == "posix":
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8 with ``\\n`` line ends, all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
