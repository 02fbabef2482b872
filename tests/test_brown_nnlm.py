"""The experiment behind Table 1, run end to end on a few sentences."""

import json

import numpy as np
import pytest

from lmlib import corpora, results
from lmlib.experiments import __main__ as command
from lmlib.experiments import _brown_runs, brown_nnlm
from lmlib.nnlm import NNLM
from lmlib.papers import bengio_table1


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The experiment on the toy world, its files in a folder of their own."""
    toy = corpora.toy(sentences=200)
    corpus = toy.encode(toy.vocabulary())
    monkeypatch.setattr(brown_nnlm, "corpus_of", lambda limit: corpus)
    monkeypatch.setattr(_brown_runs, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    return corpus


def run(*arguments):
    return command.main(["brown_nnlm", *arguments, "--quiet"])


def test_rows_are_added_to_one_record_as_they_finish(small, tmp_path, capsys):
    assert run("--row", "MLP10", "--seeds", "3") == 0
    first = results.read("brown_nnlm", tmp_path / "results")
    assert run("--row", "MLP3") == 0
    assert run("--row", "MLP9", "--recipe", "paper", "--batch", "64") == 0
    record = results.read("brown_nnlm", tmp_path / "results")
    assert first.figures.items() <= record.figures.items()
    assert record.config["rows"].keys() == {"MLP9", "MLP3", "MLP9 paper recipe"}
    assert record.config["rows"]["MLP9 paper recipe"]["recipe"]["batch"] == 64
    assert record.seeds == [1, 2, 3]
    assert record.paper["MLP10/test_ppl"] == 252
    assert record.rows("test_ppl").keys() >= {
        "MLP3",
        "MLP4",
        "MLP9",
        "MLP10",
        "MLP10 learned weight",
        "MLP10 weights by bin",
        "MLP9 paper recipe",
        "MLP10 paper recipe",
        "Deleted interpolation 3",
    }
    assert "written to" in capsys.readouterr().out


def test_the_figures_are_those_of_the_saved_models(small, tmp_path):
    run("--row", "MLP9", "--seeds", "3")
    figures = results.read("brown_nnlm", tmp_path / "results").figures
    singles = []
    for seed in (1, 2, 3):
        path = tmp_path / "runs" / f"MLP9-seed-{seed}" / "model.safetensors"
        model = NNLM.load(path, small.vocabulary)
        log_p = model.token_log_probabilities(small.ids, small.test_start)
        singles.append(np.exp(-log_p.mean()))
        assert figures[f"MLP9 seed {seed}/test_ppl"] == pytest.approx(singles[-1], 1e-5)
    assert figures["MLP9/test_ppl"] == pytest.approx(np.median(singles), 1e-5)
    # n = 5, h = 100, m = 30, no direct connections: |V| (1 + m + h) + h (1 + 4 m)
    words = len(small.vocabulary)
    assert figures["MLP9/parameters"] == words * 131 + 100 * 121
    # learned on validation, so there no worse than half and half
    for name in ("learned weight", "weights by bin"):
        key = f"MLP10 {name} seed 1/valid_ppl"
        assert figures[key] <= figures["MLP10 seed 1/valid_ppl"] + 1e-3


def test_a_row_that_is_finished_is_not_trained_again(small, tmp_path, monkeypatch):
    run("--row", "MLP9", "--seeds", "1")
    before = results.read("brown_nnlm", tmp_path / "results").figures

    def refuse(self, contexts, targets):
        raise AssertionError("trained again")

    monkeypatch.setattr(NNLM, "loss", refuse)
    run("--row", "MLP9", "--seeds", "1")
    assert results.read("brown_nnlm", tmp_path / "results").figures == before


def test_the_free_row_mixes_its_networks_with_kneser_ney(small, tmp_path):
    options = ("--hidden", "8", "--features", "5", "--epochs", "1", "--seeds", "2")
    assert run("--row", "free", *options) == 0
    assert not (tmp_path / "results").exists()  # a try is no result
    (path,) = (tmp_path / "runs").glob("*/brown_nnlm.json")
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    parts = [figures[f"free network seed {k}/valid_ppl"] for k in (1, 2)]
    assert figures["free networks/valid_ppl"] < max(parts)
    alone = min(figures["MKN interpolated 5/valid_ppl"], *parts)
    assert figures["free/valid_ppl"] <= alone + 1e-3


def test_a_folder_that_cannot_be_written_stops_with_a_message(small, tmp_path, capsys):
    (tmp_path / "results").write_text("in the way", encoding="utf-8")
    assert run("--row", "MLP7", "--seeds", "1") == 1
    assert "cannot be written to" in capsys.readouterr().err
    # nothing is lost: the trained network is there
    assert (tmp_path / "runs" / "MLP7-seed-1" / "model.safetensors").exists()


def test_another_vocabulary_does_not_continue_a_run(small, monkeypatch, capsys):
    run("--row", "MLP9", "--seeds", "1")
    other = corpora.toy(sentences=200)
    other = other.encode(other.vocabulary(min_count=2))
    monkeypatch.setattr(brown_nnlm, "corpus_of", lambda limit: other)
    assert run("--row", "MLP9", "--seeds", "1") == 1
    assert "belongs to another run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--batch", "8"], "--batch belongs to --recipe paper"),
        (["--row", "free", "--recipe", "paper"], "the free row has its own recipe"),
        (["--row", "MLP11"], "invalid choice: 'MLP11'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        command.main(["brown_nnlm", *arguments])
    assert words in capsys.readouterr().err


def test_the_papers_table_is_read_under_our_names():
    figures = bengio_table1()
    assert figures["MLP9/train_ppl"] == 175
    assert "MLP10/train_ppl" not in figures  # the paper gives none
    assert figures["Deleted interpolation 3/test_ppl"] == 336
    assert figures["Kneser-Ney back-off 5/test_ppl"] == 321
    assert figures["class-based back-off 3 500/test_ppl"] == 312
    assert len([k for k in figures if k.endswith("/test_ppl")]) == 21


def test_experiments_are_listed_and_unknown_ones_refused(capsys):
    assert command.main([]) == 0
    assert "brown_nnlm       Table 1 of Bengio et al." in capsys.readouterr().out
    assert command.main(["no_such"]) == 2


def test_a_try_changes_the_network_and_says_so_in_its_name(small, tmp_path):
    options = ("--cell", "lstm", "--hidden", "6", "--epochs", "0.5", "--seeds", "1")
    assert run("--row", "free", *options) == 0
    (path,) = (tmp_path / "runs").glob("*/brown_nnlm.json")
    assert "cell=lstm" in path.parent.name
    rows = json.loads(path.read_text(encoding="utf-8"))["config"]["rows"]
    (row,) = rows.values()
    assert row["config"]["cell"] == "lstm"
    assert row["config"]["hidden"] == 6
    assert row["recipe"]["epochs"] == 0.5
