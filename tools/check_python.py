"""Stop with a clear message where Python is too old: runs on any Python 3 itself."""
# ruff: noqa: UP032, UP036

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "Python 3.11 or newer is needed, this is {}.{} ({}): "
        "make COMMAND PYTHON=/path/to/python3.11".format(
            sys.version_info[0], sys.version_info[1], sys.executable
        )
    )
