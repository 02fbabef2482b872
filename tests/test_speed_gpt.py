"""The speed comparison of GPTs: the ways compute the same, the claims are honest."""

import numpy as np
import pytest
import torch

from lmlib.experiments import _gpt_steps as ways
from lmlib.experiments import speed_gpt
from lmlib.gpt import GPT, GPTConfig
from lmlib.vocabulary import Vocabulary

SHAPE = GPTConfig(layers=2, width=24, heads=2, positions=12, dropout=0.0)
KEYS = [(way, p) for way in (ways.PLAIN, ways.OURS) for p in speed_gpt.PRECISIONS]


def batch(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(50, (ways.TEXTS, 13), generator=generator)


@pytest.mark.parametrize("way", [ways.PLAIN, ways.HUGGING_FACE])
def test_without_dropout_every_way_makes_the_same_updates(way, optional):
    if way == ways.HUGGING_FACE:
        optional("transformers")
    ours = ways.make_step(ways.OURS, "float32", SHAPE, 50)
    theirs = ways.make_step(way, "float32", SHAPE, 50)
    for number in range(5):
        expected = ours(batch(number)).item()
        assert theirs(batch(number)).item() == pytest.approx(expected, abs=1e-5)


def test_the_plain_decoders_logits_are_ours():
    vocabulary = Vocabulary([str(i) for i in range(50)], unknown=None)
    model = GPT(vocabulary, SHAPE, np.random.default_rng(0))
    plain = ways.PlainGPT(model).eval()
    ids = batch()[:, :-1]
    torch.testing.assert_close(plain.logits(ids), model.eval()(ids))


def test_bfloat16_updates_stay_near_those_in_float32():
    exact = ways.make_step(ways.OURS, "float32", SHAPE, 50)
    for way in (ways.OURS, ways.PLAIN):
        half = ways.make_step(way, "bfloat16", SHAPE, 50)
        exact = ways.make_step(way, "float32", SHAPE, 50)
        for number in range(3):
            expected = exact(batch(number)).item()
            assert half(batch(number)).item() == pytest.approx(expected, rel=0.01)


def test_speeds_are_measured_in_turns():
    steps = {key: ways.make_step(*key, SHAPE, 50) for key in KEYS}
    speeds = speed_gpt.measure(steps, turns=2, updates=1, config=SHAPE, words=50)
    assert [len(s) for s in speeds.values()] == [2] * 4
    assert all(value > 0 for s in speeds.values() for value in s)


def test_ratios_are_medians_within_turns_and_the_better_precision_counts():
    speeds = {
        (ways.PLAIN, "float32"): [10, 20, 10],
        (ways.OURS, "float32"): [20, 30, 30],  # ratios 2, 1.5, 3: median 2
        (ways.PRODUCTS, "float32"): [40, 30, 60],  # 2, 1, 2: median 2
        (ways.PLAIN, "bfloat16"): [40, 40, 40],
        (ways.OURS, "bfloat16"): [20, 30, 24],
    }
    memory = {(ways.PLAIN, "float32"): 900.0, (ways.OURS, "float32"): 400.0}
    found = speed_gpt.figures(speeds, memory)
    assert found["SMALL lmlib float32/ratio_to_plain"] == 2
    assert found["SMALL products alone float32/ratio_to_lmlib"] == 2
    # Plain is better in bfloat16 (40), ours in float32 (30): 20/40, 30/40, 30/40.
    assert found["SMALL lmlib better precision/ratio_to_plain"] == 0.75
    said = speed_gpt.notes(found)
    assert "Missed: 0.75 times." in said[0]
    assert "Hugging Face was left out" in said[1]
    assert any("Lower: 400 MB beside 900 MB." in note for note in said)


def test_generation_is_timed_with_and_without_cache(monkeypatch):
    monkeypatch.setattr(speed_gpt, "GENERATED", 5)
    found = speed_gpt.generation_figures(SHAPE, repeats=1)
    for length in (1, 5):
        row = f"5 tokens after {length} with"
        expected = (
            found[f"{row} cache/tokens_per_second"]
            / found[f"{row}out cache/tokens_per_second"]
        )
        assert found[f"{row} cache/speed_up"] == pytest.approx(expected)
    assert sum("5 tokens after" in note for note in speed_gpt.notes(found)) == 2


def test_unknown_ways_are_refused():
    with pytest.raises(ValueError, match="way 'faster': expected one of"):
        ways.make_step("faster", "float32", SHAPE, 50)
    with pytest.raises(ValueError, match="precision 'float8'"):
        ways.make_step(ways.OURS, "float8", SHAPE, 50)
