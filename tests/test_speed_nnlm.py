"""The speed comparison: every way makes the same updates, and the record is honest."""

import pytest
import torch

from lmlib import corpora, results
from lmlib.experiments import _nnlm_steps as ways
from lmlib.experiments import speed_nnlm
from lmlib.experiments.speed_nnlm import Turns, figures, measure, notes
from lmlib.vocabulary import Vocabulary


def batches(words):
    def batch(number):
        generator = torch.Generator().manual_seed(number)
        shape = (ways.BATCH, ways.SHAPE.order - 1)
        contexts = torch.randint(words, shape, generator=generator)
        return contexts, contexts.sum(1) % words

    return batch


def test_every_way_makes_the_same_updates():
    vocabulary = Vocabulary([str(i) for i in range(40)], unknown=None)
    steps = {
        way: ways.make_step(way, vocabulary)
        for way in (ways.PLAIN, ways.FUSED, ways.IN_PLACE, ways.HALF)
    }
    turns = measure(steps, batches(40), updates=30, block=7)
    assert turns[ways.PLAIN].tokens == [7 * 512] * 4 + [2 * 512]
    plain = turns[ways.PLAIN].losses
    assert plain[-1] < plain[0]  # the updates do change the loss
    for way, tolerance in [
        (ways.FUSED, 1e-5),
        (ways.IN_PLACE, 1e-5),
        (ways.HALF, 1e-3),
    ]:
        assert turns[way].losses == pytest.approx(plain, rel=tolerance)


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match="way 'faster': expected one of"):
        ways.make_step("faster", Vocabulary(["a"], unknown=None))


def test_a_velocity_that_was_cleared_is_missed():
    vocabulary = Vocabulary([str(i) for i in range(40)], unknown=None)
    step = ways.make_step(ways.IN_PLACE, vocabulary)
    step.model.zero_grad()
    with pytest.raises(ValueError, match="do not call zero_grad"):
        step(*batches(40)(0))


def turns_of(*speeds):
    return Turns([100] * len(speeds), [100 / s for s in speeds], [3.0] * len(speeds))


def test_the_figures_are_medians_of_ratios_and_shares():
    turns = {
        ways.PLAIN: turns_of(10, 20, 10),
        ways.FUSED: turns_of(40, 60, 50),
        ways.PRODUCTS: turns_of(80, 80, 100),
    }
    found = figures(turns, {ways.PLAIN: 200.0, ways.FUSED: 40.0}, words=1000)
    # Ratios 4, 3, 5; shares 1/2, 3/4, 1/2; memory 40 / 200.
    assert found["MLP9 lmlib/ratio_to_plain"] == pytest.approx(4)
    assert found["MLP9 lmlib/ratio_to_plain_lowest"] == pytest.approx(3)
    assert found["MLP9 lmlib/share_of_product_rate"] == pytest.approx(0.5)
    assert found["MLP9 lmlib/peak_share_of_plain"] == pytest.approx(0.2)
    # 100/10 + 100/20 + 100/10 seconds.
    assert found["MLP9 plain PyTorch/seconds"] == pytest.approx(25)
    # 50 tokens a second, each 3 products of 2 x 1000 x 100 operations.
    assert found["MLP9 lmlib/gflops"] == pytest.approx(50 * 600_000 / 1e9)


def test_the_notes_say_whether_each_claim_was_met():
    def said(ratio, share):
        found = {
            "MLP9 lmlib/ratio_to_plain": ratio,
            "MLP9 lmlib/peak_share_of_plain": share,
            "MLP9 products alone/ratio_to_plain": 3.5,
        }
        return notes(found, [ways.PLAIN, ways.FUSED, ways.PRODUCTS])

    assert "Missed: 3.20 times (lmlib)" in said(3.2, 0.2)[0]
    assert "would reach 3.50 times" in said(3.2, 0.2)[0]
    assert "Met: 4.10 times" in said(4.1, 0.2)[0]
    assert "Met: 0.20 of it" in said(4.1, 0.2)[1]
    assert "Missed: 0.30 of it" in said(4.1, 0.3)[1]
    assert "bfloat16 was left out" in said(4.1, 0.3)[2]


def test_the_experiment_writes_its_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(corpora, "brown", lambda: corpora.toy())
    monkeypatch.setattr(speed_nnlm, "peak_mb", lambda way: 1.0)
    monkeypatch.setattr(speed_nnlm, "bfloat16_is_faster", lambda: False)
    speed_nnlm.main(["--updates", "4", "--block", "2", "--folder", str(tmp_path)])
    record = results.read("speed_nnlm", tmp_path)
    assert record.config["updates"] == 4
    assert record.figures["MLP9 plain PyTorch/tokens_per_second"] > 0
    assert "speed_nnlm.json" in capsys.readouterr().out


def test_peak_memory_of_a_way_is_a_number_or_unknown_here():
    peak = speed_nnlm.peak_mb(ways.IN_PLACE)
    # Parameters and velocities of MLP9 are 2 x 9.3 MB; a plain step's logits are not
    # among them: 512 x 17,907 x 4 bytes = 35 MB each.
    assert peak is None or 15 < peak < 100
