"""The speed record: what is timed, what the slopes mean, and honest verdicts."""

import numpy as np
import pytest

from lmlib import corpora
from lmlib.experiments import speed_ngrams
from lmlib.experiments._ngram_trial import in_a_fresh_process, trial
from lmlib.experiments.speed_ngrams import (
    ROW,
    beside_kenlm,
    beside_nltk,
    drawn_text,
    growth,
    more_toy_world,
    notes,
    slope,
)
from lmlib.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def corpus():
    toy = corpora.toy(sentences=300)
    return toy.encode(toy.vocabulary())


def test_the_slope_is_the_power_of_the_size():
    assert slope([1, 2, 4], [3, 6, 12]) == pytest.approx(1)
    assert slope([1, 2, 4], [1, 4, 16]) == pytest.approx(2)


def test_a_trial_times_every_part(corpus):
    found = trial(corpus.vocabulary, corpus.ids, 3, corpus.valid_start)
    parts = found["count"] + found["estimate"] + found["score"]
    assert parts == pytest.approx(found["total"])
    assert found["cpu"] > 0


def test_a_fresh_process_reports_its_peak(corpus, tmp_path):
    np.save(tmp_path / "ids.npy", corpus.ids)
    words = len(corpus.vocabulary)
    found = in_a_fresh_process(tmp_path / "ids.npy", words, 3, corpus.valid_start, 1)
    assert found["total"] > 0
    if "peak_mb" in found:  # Linux
        assert found["peak_mb"] > found["added_mb"] > 0


def test_growth_has_a_figure_for_every_size_and_slopes(tmp_path, monkeypatch):
    sizes = []

    def pretend(path, words, order, start, repeats):
        sizes.append(len(np.load(path)) - start)
        return {"total": start / 1e6, "cpu": 1.0, "peak_mb": 9.0, "added_mb": start}

    monkeypatch.setattr(speed_ngrams, "in_a_fresh_process", pretend)
    ids = np.zeros(2_100_000, np.int32)
    found = growth("zeros", 1, ids, [1, 2], tmp_path, 1)
    assert sizes == [speed_ngrams.HELD_OUT] * 2
    assert found["zeros 2 M/seconds"] == 2
    assert found["zeros/seconds_slope"] == pytest.approx(1)
    assert found["zeros/cpu_seconds_slope"] == pytest.approx(0, abs=1e-12)
    assert found["zeros/memory_slope"] == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::lmlib.ngrams.smoothing.DegenerateCounts")
def test_peers_are_measured_on_the_same_tokens(corpus, optional, tmp_path):
    optional("nltk.lm")
    found = beside_nltk(corpus, 300, scored=5)
    assert found["ours on 300 tokens/score_ratio_to_nltk.lm"] > 0
    optional("kenlm")
    found = beside_kenlm(corpus, tmp_path, 1)
    assert found[f"{ROW}/score_ratio_to_KenLM"] > 0


def test_more_of_the_toy_world_is_whole_sentences():
    toy = corpora.toy(sentences=100)
    vocabulary = Vocabulary.from_tokens(toy.tokens)
    more = more_toy_world(vocabulary, toy, 3_000, np.random.default_rng(1))
    assert len(more) == 3_000
    told = " ".join([*toy.tokens, ""]).split(" . ")
    drawn = " ".join(vocabulary.decode(more)).split(" . ")
    assert set(drawn[:-1]) <= set(told)  # the last one is cut
    assert len(set(drawn)) > 50


def test_drawn_text_has_the_corpus_frequencies(corpus, monkeypatch):
    monkeypatch.setattr(speed_ngrams, "HELD_OUT", 0)
    words, ids = drawn_text(corpus, 1)
    assert len(ids) == 10**6
    share = np.bincount(corpus.train, minlength=words) / len(corpus.train)
    assert np.bincount(ids, minlength=words) / 10**6 == pytest.approx(share, abs=0.002)


def test_verdicts_follow_the_figures():
    found = {
        f"{ROW}/seconds": 0.7,
        f"{ROW}/peak_mb": 700.0,
        "mixed/seconds_slope": 1.05,
        "mixed/memory_slope": 1.2,
    }
    said = notes(found)
    verdicts = [("Met" in note, "Missed" in note) for note in said[:4]]
    assert verdicts == [(True, False), (False, True), (True, False), (False, True)]
