"""Mixtures average probabilities; their weights are fixed or learned."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.language_model import LanguageModel
from lmlib.mixture import Mixture, mixture_weights
from lmlib.vocabulary import Vocabulary


class Fixed(LanguageModel):
    """The same distribution after every context."""

    def __init__(self, p, words=("<unk>", "a", "b")):
        self.vocabulary = Vocabulary(words)
        self.context_size = 0
        self.p = np.asarray(p, float)

    def next_log_probabilities(self, contexts):
        with np.errstate(divide="ignore"):
            return np.tile(np.log(self.p), (len(contexts), 1))


def test_probabilities_are_averaged_with_the_weights():
    mixed = Mixture([Fixed([1, 0, 0]), Fixed([0, 0.5, 0.5])], [0.25, 0.75])
    # 0.25 * 1; 0.75 * 0.5; 0.75 * 0.5
    p = np.exp(mixed.next_log_probabilities(np.empty((1, 0), int)))
    assert p[0] == pytest.approx([0.25, 0.375, 0.375])
    tokens = np.exp(mixed.token_log_probabilities(np.array([0, 2])))
    assert tokens == pytest.approx([0.25, 0.375])


def test_weights_are_equal_when_none_are_given():
    mixed = Mixture([Fixed([1, 0, 0]), Fixed([0, 1, 0])])
    assert mixed.weights.tolist() == [0.5, 0.5]


def test_one_step_of_em_by_hand():
    # token 1: parts say 0.8 and 0.2; token 2: 0.4 and 0.6. From (1/2, 1/2) the first
    # part explains 0.8 / 1.0 and 0.4 / 1.0, on average 0.6.
    log_p = np.log([[0.8, 0.4], [0.2, 0.6]])
    assert mixture_weights(log_p, iterations=1) == pytest.approx([0.6, 0.4])


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_em_never_makes_the_text_less_probable(seed):
    p = np.random.default_rng(seed).random((3, 20))
    likelihood = [
        np.log(mixture_weights(np.log(p), k) @ p).sum() for k in range(0, 12, 2)
    ]
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(likelihood))


def test_fit_finds_the_share_that_generated_the_text():
    # "a" is drawn 3 times of 4: only the first part explains "a", the second "b"
    parts = [Fixed([0, 1, 0]), Fixed([0, 0, 1])]
    mixed = Mixture.fit(parts, np.array([1, 1, 1, 2] * 5))
    assert mixed.weights == pytest.approx([0.75, 0.25])


def test_what_cannot_be_mixed_is_refused():
    a, b = Fixed([1, 0, 0]), Fixed([1, 0], words=("<unk>", "a"))
    with pytest.raises(ValueError, match=r"different vocabularies \(3 and 2 words\)"):
        Mixture([a, b])
    with pytest.raises(ValueError, match="at least one model"):
        Mixture([])
    with pytest.raises(ValueError, match="1 weights for 2 models"):
        Mixture([a, a], [1.0])
    with pytest.raises(ValueError, match="sum of 1"):
        Mixture([a, a], [0.5, 0.6])
    with pytest.raises(ValueError, match="token 1 is impossible under every model"):
        Mixture.fit([Fixed([1, 0, 0])], np.array([0, 1]))
    with pytest.raises(ValueError, match=r"expected \(models, tokens\)"):
        mixture_weights(np.empty((2, 0)))
