"""The small programs that `make` calls."""

from __future__ import annotations

import clean_lock
import execute
import fingerprint
import nbformat
import pytest


def test_a_lock_loses_local_labels_and_keeps_the_rest():
    text = "numpy==2.4.6  # via lmlib\ntorch==2.13.0+cpu  # via lmlib\n"
    lines = clean_lock.clean(text).splitlines()
    assert lines[-2:] == ["numpy==2.4.6  # via lmlib", "torch==2.13.0  # via lmlib"]


@pytest.mark.parametrize(
    "line",
    [
        "--extra-index-url https://example.org/simple",
        "numpy @ file:///wheels/numpy.whl",
        "-e .",
        "numpy>=2",
        "lmlib==0.1.0",
    ],
)
def test_a_lock_with_anything_but_names_and_versions_is_refused(line):
    with pytest.raises(ValueError, match=r"name==version|lmlib itself"):
        clean_lock.clean(f"tqdm==4.70.1\n{line}\n")


def test_a_fingerprint_sees_contents_names_and_extra_but_no_dates(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(fingerprint, "ROOT", tmp_path)
    page, cache = tmp_path / "book" / "a.md", tmp_path / "book" / "__pycache__"
    page.parent.mkdir()
    page.write_text("one")
    first = fingerprint.fingerprint(["book"])
    page.write_text("one")  # another date
    cache.mkdir()
    (cache / "a.pyc").write_text("ignored")
    assert fingerprint.fingerprint(["book"]) == first
    assert fingerprint.fingerprint(["book"], {"CI": "true"}) != first
    page.write_text("two")
    assert fingerprint.fingerprint(["book"]) != first
    page.write_text("one")
    page.rename(page.with_name("b.md"))
    assert fingerprint.fingerprint(["book"]) != first


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """A folder of one notebook, in place of the book's."""
    monkeypatch.setattr(execute, "BOOK", tmp_path)
    new = nbformat.v4

    def write(*sources: str):
        path = tmp_path / "01_small.ipynb"
        cells = [new.new_code_cell(source) for source in sources]
        nbformat.write(new.new_notebook(cells=cells), path)
        return path

    return write


def test_executing_stores_outputs_and_no_trace_of_the_machine(chapter):
    path = chapter("print(6 * 7)", "0.5")
    assert execute.main("01") == 0
    notebook = nbformat.read(path, as_version=4)
    assert [cell.execution_count for cell in notebook.cells] == [1, 2]
    assert notebook.cells[0].outputs[0].text == "42\n"
    assert notebook.metadata == execute.METADATA
    assert all(cell.metadata == {} for cell in notebook.cells)


def test_a_failing_cell_leaves_the_file_as_it_was(chapter, capsys):
    path = chapter("print(6 * 7)", "1 / 0")
    before = path.read_bytes()
    assert execute.main("01") == 1
    assert path.read_bytes() == before
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_chapter_that_does_not_exist_is_named_with_those_that_do(chapter, capsys):
    chapter("1")
    assert execute.main("07") == 1
    said = capsys.readouterr().out
    assert "'07'" in said
    assert "01_small" in said
