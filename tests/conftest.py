"""What several tests need: benchmarks and optional libraries, or a clear skip.

On a reader's machine a test whose corpus or peer is missing skips, and says how to get
it. In CI nothing may skip, or a green run would mean less than it seems: a skip is a
failure there, except for benchmark texts where no folder was named.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lmlib.corpora import Corpus, MissingCorpus, brown

IN_CI = os.environ.get("CI", "").lower() == "true"
DATA_VARIABLES = ("NLTK_DATA", "LMLIB_DATA")


@pytest.fixture(scope="session")
def brown_corpus() -> Corpus:
    """The Brown corpus, or a skip with the command that fetches it."""
    try:
        return brown()
    except MissingCorpus as missing:
        pytest.skip(f"{missing} (looked in NLTK_DATA, among others)")


@pytest.fixture(scope="session")
def benchmark() -> Callable[[str], Path]:
    """``benchmark("sst2")`` is that folder of LMLIB_DATA, or a skip."""

    def find(name: str) -> Path:
        folder = Path(os.environ.get("LMLIB_DATA", "")) / name
        if "LMLIB_DATA" not in os.environ or not folder.is_dir():
            pytest.skip(f"no folder {name!r}: set LMLIB_DATA, see data/README.md")
        return folder

    return find


@pytest.fixture(scope="session")
def optional() -> Callable[[str], ModuleType]:
    """``optional("kenlm")`` is that module, or a skip."""

    def load(name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except ImportError as missing:
            pytest.skip(f"{name} is not installed ({missing}): make oracles")

    return load


def is_allowed(reason: str) -> bool:
    """Whether a skip may stay a skip in CI: a benchmark whose folder was not named."""
    named = [variable for variable in DATA_VARIABLES if variable in reason]
    return bool(named) and not any(variable in os.environ for variable in named)


def fail_on_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI, turn a skip into a failure that carries its reason."""
    if not IN_CI or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if not is_allowed(reason):
        report.outcome = "failed"
        report.longrepr = f"In CI nothing may skip, but: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """See ``fail_on_skip``."""
    report = yield
    fail_on_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """See ``fail_on_skip``."""
    report = yield
    fail_on_skip(report)
    return report
