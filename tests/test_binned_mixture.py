"""A mixture with weights for each bin of contexts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.binned_mixture import (
    BinnedMixture,
    binned_weights,
    mixed_log_probabilities,
)
from lmlib.language_model import NO_WORD, LanguageModel, context_windows
from lmlib.mixture import Mixture
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary(["<unk>", "a", "b"])


class Fixed(LanguageModel):
    """The same distribution after every context."""

    def __init__(self, *p):
        self.vocabulary = WORDS
        self.context_size = 0
        self.p = np.array(p, float)

    def next_log_probabilities(self, contexts):
        with np.errstate(divide="ignore"):
            return np.tile(np.log(self.p), (len(contexts), 1))


A, B = Fixed(0, 1, 0), Fixed(0, 0, 1)


def after_a(contexts):
    """Bin 1 after the word "a", bin 0 elsewhere."""
    return (contexts[:, -1] == 1).astype(int)


def test_each_bin_has_its_own_weights():
    weights = {0: np.array([0.25, 0.75]), 1: np.array([1.0, 0.0])}
    mixed = BinnedMixture([A, B], after_a, 1, weights)
    p = np.exp(mixed.next_log_probabilities(np.array([[2], [1], [NO_WORD]])))
    np.testing.assert_allclose(p, [[0, 0.25, 0.75], [0, 1, 0], [0, 0.25, 0.75]])
    # the text a a b: its words stand after nothing, "a" and "a"
    log_p = mixed.token_log_probabilities(np.array([1, 1, 2]))
    np.testing.assert_allclose(np.exp(log_p), [0.25, 1, 0])


def test_a_bin_without_weights_has_those_of_all_bins():
    mixed = BinnedMixture([A, B], after_a, 1, {1: np.array([1.0, 0.0])}, [0.5, 0.5])
    p = np.exp(mixed.next_log_probabilities(np.array([[2], [1]])))
    np.testing.assert_allclose(p, [[0, 0.5, 0.5], [0, 1, 0]])


def test_fit_finds_each_bins_share_on_the_held_out_text():
    # after "a" comes "b" three times of four; elsewhere always "a"
    ids = np.array([1, 2] * 3 + [1, 1])
    mixed = BinnedMixture.fit([A, B], after_a, 1, ids)
    assert mixed.weights[1] == pytest.approx([0.25, 0.75])
    assert mixed.weights[0] == pytest.approx([1, 0])
    # of all eight words, five are "a"
    assert mixed.otherwise == pytest.approx([5 / 8, 3 / 8])


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_learned_weights_beat_equal_ones_and_one_bin_is_a_plain_mixture(seed):
    generator = np.random.default_rng(seed)
    parts = [Fixed(*generator.dirichlet(np.ones(3))) for _ in range(3)]
    ids = generator.integers(0, 3, 60)
    binned = BinnedMixture.fit(parts, after_a, 1, ids, iterations=20)
    # EM starts from equal weights and never makes the text less probable.
    equal = Mixture(parts).log_probability(ids)
    assert binned.log_probability(ids) >= equal - 1e-9
    single = BinnedMixture.fit(parts, lambda c: np.zeros(len(c), int), 1, ids)
    np.testing.assert_allclose(single.weights[0], Mixture.fit(parts, ids).weights)
    table = np.exp(binned.next_log_probabilities(context_windows(ids, 1)))
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        np.exp(binned.token_log_probabilities(ids)), table[np.arange(60), ids]
    )


def test_weights_of_each_bin_are_learned_by_themselves():
    log_p = np.log([[0.9, 0.9, 0.2, 0.2], [0.1, 0.1, 0.8, 0.8]])
    weights, overall = binned_weights(log_p, np.array([4, 4, 7, 7]), iterations=500)
    assert weights[4] == pytest.approx([1, 0], abs=1e-6)
    assert weights[7] == pytest.approx([0, 1], abs=1e-6)
    # one weight for all: 2 log(0.1 + 0.8 w) + 2 log(0.8 - 0.6 w) is largest where
    # 0.8 / (0.1 + 0.8 w) = 0.6 / (0.8 - 0.6 w): 0.64 - 0.48 w = 0.06 + 0.48 w
    assert overall == pytest.approx([0.58 / 0.96, 0.38 / 0.96], abs=1e-4)


def test_mixing_by_hand():
    log_p = np.log([[0.5, 0.2], [0.1, 0.4]])
    mixed = np.exp(mixed_log_probabilities(log_p, np.array([0.5, 0.5])))
    np.testing.assert_allclose(mixed, [0.3, 0.3])
    by_token = np.array([[1.0, 0.25], [0.0, 0.75]])
    mixed = np.exp(mixed_log_probabilities(log_p, by_token))
    np.testing.assert_allclose(mixed, [0.5, 0.35])  # 0.25 * 0.2 + 0.75 * 0.4


def test_what_cannot_be_mixed_is_refused():
    with pytest.raises(ValueError, match="sum of 1"):
        BinnedMixture([A, B], after_a, 1, {0: np.array([0.5, 0.6])})
    with pytest.raises(ValueError, match="1 weights for 2 models"):
        BinnedMixture([A, B], after_a, 1, {0: np.array([1.0])})
    with pytest.raises(ValueError, match="width=0: bins look at one word"):
        BinnedMixture([A, B], after_a, 0, {})
    with pytest.raises(ValueError, match="at least one model"):
        BinnedMixture.fit([], after_a, 1, np.array([1]))
