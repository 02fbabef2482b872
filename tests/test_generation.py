"""Drawing words: reproducible, truncated as asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.generation import filter_log_probabilities, generate
from lmlib.toy_world import STOP, ToyWorld

LOG_P = np.log([0.5, 0.3, 0.15, 0.05])


def probabilities(**how):
    return np.exp(filter_log_probabilities(LOG_P, **how))


def test_top_k_keeps_the_k_most_probable_words():
    # 0.5 and 0.3 renormalised: 5/8 and 3/8
    assert probabilities(top_k=2) == pytest.approx([0.625, 0.375, 0, 0])


def test_top_p_keeps_the_smallest_set_that_reaches_p():
    # 0.5 + 0.3 = 0.8 < 0.9, so the third word is needed: 0.95 in all
    want = np.array([0.5, 0.3, 0.15, 0]) / 0.95
    assert probabilities(top_p=0.9) == pytest.approx(want)
    assert probabilities(top_p=0.5) == pytest.approx([1, 0, 0, 0])


def test_temperature_sharpens_and_zero_keeps_the_best_word():
    # squares 0.25, 0.09, 0.0225, 0.0025 sum to 0.365
    want = np.array([0.25, 0.09, 0.0225, 0.0025]) / 0.365
    assert probabilities(temperature=0.5) == pytest.approx(want)
    assert probabilities(temperature=0) == pytest.approx([1, 0, 0, 0])


def test_ties_go_to_the_lower_id():
    log_p = np.log(np.full(4, 0.25))
    kept = np.exp(filter_log_probabilities(log_p, top_k=1))
    assert kept.tolist() == [1, 0, 0, 0]


@given(
    st.lists(st.floats(-20, 0), min_size=1, max_size=9),
    st.floats(0, 3),
    st.none() | st.integers(1, 9),
    st.none() | st.floats(0.01, 1),
)
@settings(max_examples=200, deadline=None)
def test_what_is_left_sums_to_one(logs, temperature, top_k, top_p):
    p = np.exp(filter_log_probabilities(np.array(logs), temperature, top_k, top_p))
    assert p.sum() == pytest.approx(1)
    assert logs[np.argmax(p)] == pytest.approx(max(logs))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"temperature": -1}, "temperature=-1: expected 0 or more"),
        ({"temperature": float("nan")}, "temperature=nan: expected 0 or more"),
        ({"top_k": 0}, "top_k=0 keeps no word"),
        ({"top_p": 0}, "top_p=0: expected above 0"),
        ({"top_p": 1.5}, r"top_p=1\.5: expected above 0, at most 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(how, words):
    with pytest.raises(ValueError, match=words):
        filter_log_probabilities(LOG_P, **how)


def test_the_same_generator_state_gives_the_same_words():
    world = ToyWorld()
    texts = [generate(world, 30, np.random.default_rng(3)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0] != generate(world, 30, np.random.default_rng(4))


def test_words_are_drawn_as_often_as_they_are_probable():
    world, rng = ToyWorld(), np.random.default_rng(0)
    first = [generate(world, 1, rng)[0] for _ in range(2000)]
    p = world.next_distribution([])["the"]
    # two thousand draws: three standard deviations are 3 sqrt(p(1-p)/2000)
    assert abs(first.count("the") / 2000 - p) < 3 * np.sqrt(p * (1 - p) / 2000)


def test_generation_goes_on_from_a_context_and_stops_at_the_stop_word():
    world = ToyWorld()
    text = generate(
        world, 50, np.random.default_rng(1), ["the", "queen", "lost"], stop=STOP
    )
    assert text == ["her", "crown", "."]


def test_a_negative_length_and_a_string_context_are_refused():
    with pytest.raises(ValueError, match="length=-1"):
        generate(ToyWorld(), -1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="elements are characters"):
        generate(ToyWorld(), 1, np.random.default_rng(0), "the")
