"""The count-based rows: their names, their order, and that classes are kept."""

import numpy as np
import pytest

from lmlib import corpora
from lmlib.corpora import EncodedCorpus
from lmlib.experiments import brown_ngrams
from lmlib.experiments.brown_ngrams import CLASSES, figures, learned_classes, rows
from lmlib.ngrams import count_ngrams
from lmlib.papers import bengio_table1

pytestmark = pytest.mark.filterwarnings(
    "ignore::lmlib.ngrams.smoothing.DegenerateCounts"
)


@pytest.fixture(scope="module")
def corpus() -> EncodedCorpus:
    toy = corpora.toy(sentences=600)
    return toy.encode(toy.vocabulary(min_count=2))


@pytest.fixture(scope="module")
def found(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    models = list(rows(corpus, [5], folder))
    return {row: figures(row, model, corpus) for row, model in models}


def test_every_count_based_row_of_the_paper_has_a_model(corpus, monkeypatch, tmp_path):
    # The toy world has fewer words than the paper's rows have classes.
    def quick(counts, number, folder):
        return learned_classes(counts, 3, tmp_path)

    monkeypatch.setattr(brown_ngrams, "learned_classes", quick)
    ours = {row for row, _ in rows(corpus, CLASSES, tmp_path)}
    papers = {key.rpartition("/")[0] for key in bengio_table1()}
    counted = {row for row in papers if not row.startswith("MLP")}
    assert len(counted) == 11
    assert counted <= ours


def test_rows_are_scored_on_all_three_parts(found):
    for row, measures in found.items():
        for split in ("train", "valid", "test"):
            assert 1 < measures[f"{row}/{split}_ppl"] < 10_000
    assert found["MKN back-off 5"]["MKN back-off 5/table_mb"] > 0


def test_a_row_under_two_names_is_one_model(found):
    for n in (3, 4, 5):
        a, b = f"Kneser-Ney back-off {n}", f"MKN back-off cut-off {n}"
        assert found[a][f"{a}/test_ppl"] == found[b][f"{b}/test_ppl"]


def test_smoothing_beats_adding_to_the_counts(found):
    best = found["MKN interpolated 3"]["MKN interpolated 3/test_ppl"]
    assert best < found["Additive 3"]["Additive 3/test_ppl"]


def test_learned_classes_are_read_back_for_the_same_text_only(corpus, tmp_path):
    counts = count_ngrams(corpus.vocabulary, corpus.train, 2)
    first = learned_classes(counts, 4, tmp_path)
    again = learned_classes(counts, 4, tmp_path)
    assert again.of.tolist() == first.of.tolist()
    assert again.history == first.history
    assert again.class_words() == first.class_words()
    learned_classes(count_ngrams(corpus.vocabulary, corpus.train[:-9], 2), 4, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_record_is_written(tmp_path, monkeypatch):
    toy = corpora.toy(sentences=300)
    monkeypatch.setattr(corpora, "brown", lambda: toy)
    places = ["--out", str(tmp_path), "--runs", str(tmp_path / "runs")]
    brown_ngrams.main(["--classes", "3", *places])
    record = brown_ngrams.results.read("brown_ngrams", tmp_path)
    assert record.paper["Deleted interpolation 3/test_ppl"] == 336
    assert np.isfinite(list(record.figures.values())).all()
    assert any("cut-off" in note for note in record.notes)
