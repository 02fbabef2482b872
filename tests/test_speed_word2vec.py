"""The comparison with gensim, on a small part of the text; its verdicts by hand."""

import pytest

from lmlib import results
from lmlib.experiments import speed_word2vec
from lmlib.experiments.speed_word2vec import _compared


def test_a_small_run_writes_a_record_with_every_row(tmp_path, optional, capsys):
    optional("gensim.models")
    optional("scipy")
    small = "--repeats 1 --seeds 2 --epochs 1 --dimension 8 --words 150000 --threads 1"
    speed_word2vec.main([*small.split(), "--out", str(tmp_path)])
    record = results.read("speed_word2vec", tmp_path)
    assert record.seeds == [1, 2]
    assert record.config["words"] == 150_000
    for architecture in ("skip-gram", "cbow"):
        for peer in ("", "gensim "):
            assert record.figures[f"{peer}{architecture}/words_per_second"] > 0
            assert -1 <= record.figures[f"{peer}{architecture}/spearman"] <= 1
            assert record.figures[f"{peer}{architecture}/accuracy_sd"] >= 0
        ours, theirs = (
            record.figures[f"{peer}{architecture} run 1/words_per_second"]
            for peer in ("", "gensim ")
        )
        ratio = record.figures[f"{architecture}/ratio_to_gensim"]
        assert ratio == pytest.approx(ours / theirs)
    assert record.figures["SVD/accuracy"] > 10 * record.figures["chance/accuracy"]
    assert record.figures["all/questions"] >= 60
    assert "Claim: cbow at least 0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(0.3, "Met:"), (0.5, "Met, ours is better:"), (0.1, "Missed, gensim is better:")],
)
def test_differences_are_held_against_the_noise(ours, verdict):
    # Noise 2 sqrt(0.03^2 + 0.04^2) = 0.1; gensim has 0.25.
    found = {
        "cbow/accuracy": ours,
        "cbow/accuracy_sd": 0.03,
        "gensim cbow/accuracy": 0.25,
        "gensim cbow/accuracy_sd": 0.04,
    }
    said = _compared(found, "cbow", "accuracy")
    assert verdict in said
    assert "within noise (0.1)" in said


def test_settings_that_make_no_run_are_refused(capsys):
    with pytest.raises(SystemExit):
        speed_word2vec.main(["--seeds", "1"])
    assert "2 seeds" in capsys.readouterr().err
