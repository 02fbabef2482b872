"""A skip is a message on a reader's machine and a failure in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = """
import pytest

def test_that_lacks_a_peer(optional):
    optional("a_module_that_does_not_exist")

def test_that_lacks_a_benchmark(benchmark):
    benchmark("a-folder-that-does-not-exist")
"""


@pytest.fixture
def outcome(tmp_path):
    """Run the two tests with these variables; the closing lines."""
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_two.py").write_text(SKIPS, encoding="utf-8")

    def run(**variables: str) -> str:
        names = ("CI", "LMLIB_DATA", "NLTK_DATA", "PYTEST_ADDOPTS")
        clean = {k: v for k, v in os.environ.items() if k not in names}
        options = ["-p", "no:cacheprovider", "-rs", "--rootdir", str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, str(tmp_path)],
            cwd=tmp_path,
            env={**clean, **variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            encoding="utf-8",
        )
        return done.stdout

    return run


def test_a_reader_sees_skips_with_the_remedy(outcome):
    seen = outcome()
    assert "2 skipped" in seen
    assert "make oracles" in seen
    assert "set LMLIB_DATA" in seen


def test_ci_fails_where_a_peer_is_missing(outcome):
    seen = outcome(CI="true")
    assert "1 failed, 1 skipped" in seen
    assert "In CI nothing may skip" in seen


def test_ci_fails_where_a_benchmark_is_missing_from_a_named_folder(outcome, tmp_path):
    assert "2 failed" in outcome(CI="true", LMLIB_DATA=str(tmp_path))
