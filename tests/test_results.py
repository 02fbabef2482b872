"""Records say how they were made, and are written whole or not at all."""

import json
import os

import pytest

from lmlib import results


@pytest.fixture
def record():
    made = results.begin("speed_x", "python -m lmlib.experiments x", {"n": 5}, [1, 2])
    made.figures["MLP9/test_ppl"] = 243.2
    made.figures["MLP9/valid_ppl"] = 265.7
    made.figures["MLP10/test_ppl"] = 225.0
    made.paper["MLP9/test_ppl"] = 276
    return made


def test_a_record_comes_back_as_it_was_written(record, tmp_path):
    path = results.write(record, tmp_path)
    assert path.name == "speed_x.json"
    assert results.read("speed_x", tmp_path) == record


def test_a_record_says_how_it_was_made(record):
    assert record.started.endswith("+00:00")
    assert record.versions["numpy"]
    assert record.machine["cores"] == os.cpu_count()
    assert record.commit


def test_rows_put_the_papers_number_beside_ours(record):
    assert record.rows("test_ppl") == {"MLP9": (243.2, 276), "MLP10": (225.0, None)}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("test_ppl", 1.0, "expected 'row/measure'"),
        ("a/test_ppl", float("nan"), "JSON cannot hold"),
        ("a/test_ppl", "12", "expected a number"),
        ("a/test_ppl", True, "expected a number"),
    ],
)
def test_figures_that_cannot_be_plotted_are_refused(
    record, tmp_path, key, value, words
):
    record.figures[key] = value
    with pytest.raises(ValueError, match=words):
        results.write(record, tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_experiment_name_with_a_slash_is_refused():
    with pytest.raises(ValueError, match=r"'\.\./x' names the record's file"):
        results.begin("../x", "", {}, [])


def test_a_missing_record_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(ValueError, match=r"python -m lmlib\.experiments brown_nnlm"):
        results.read("brown_nnlm", tmp_path)


def test_a_damaged_record_is_refused_by_name(record, tmp_path):
    path = results.write(record, tmp_path)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    with pytest.raises(ValueError, match=r"speed_x\.json is not a record"):
        results.read("speed_x", tmp_path)
    path.write_text(json.dumps({**json.loads(whole), "extra": 1}), encoding="utf-8")
    with pytest.raises(ValueError, match="unknown fields"):
        results.read("speed_x", tmp_path)


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_lost(record, tmp_path):
    # A file where the folder should be fails for every user, root too.
    blocked = tmp_path / "results"
    blocked.write_text("in the way", encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be written to"):
        results.write(record, blocked)
    assert blocked.read_text(encoding="utf-8") == "in the way"


def test_every_committed_record_can_be_read():
    for path in results.RESULTS.glob("*.json"):
        record = results.read(path.stem)
        assert record.figures
        assert record.command.startswith("python -m lmlib.experiments")
        assert record.commit not in ("", "unknown")
        assert not record.commit.endswith("-dirty"), "run it again on a clean tree"
