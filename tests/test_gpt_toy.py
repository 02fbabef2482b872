"""The toy experiment, cut short: a record, a small checkpoint, honest notes."""

import math

import pytest

from lmlib import corpora, results
from lmlib.experiments import gpt_toy
from lmlib.gpt import GPT
from lmlib.toy_world import ToyWorld


def test_it_writes_a_record_and_a_checkpoint(tmp_path, monkeypatch):
    small = corpora.toy(sentences=400)
    monkeypatch.setattr(corpora, "toy", lambda: small)
    path = tmp_path / "toy.safetensors"
    gpt_toy.main(
        ["--steps", "40", "--folder", str(tmp_path), "--checkpoint", str(path)]
    )
    record = results.read("gpt_toy", tmp_path)
    words = len(ToyWorld().vocabulary)
    # Better than guessing, worse than the truth.
    ours = record.figures["TOY/test_ppl"]
    assert record.figures["true distribution/test_ppl"] < ours < words
    truth = math.log(record.figures["true distribution/test_ppl"])
    excess = math.log(ours) / truth - 1
    assert record.figures["TOY/excess_entropy"] == pytest.approx(excess)
    assert "Missed" in record.notes[0]
    assert path.stat().st_size < 2e6
    model = GPT.load(path, ToyWorld().vocabulary)
    assert (
        sum(p.numel() for p in model.parameters()) == record.figures["TOY/parameters"]
    )
