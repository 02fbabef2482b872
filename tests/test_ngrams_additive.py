"""Additive smoothing by hand, and its sums."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_oracle import contexts_for, texts

from lmlib.language_model import LanguageModel
from lmlib.ngrams import Additive, count_ngrams
from lmlib.vocabulary import Vocabulary


def test_every_word_is_counted_delta_times_more():
    # a is followed by b twice and by c once; |V| = 4 words
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    ids = vocabulary.encode("a b a b a c".split())
    model = Additive(count_ngrams(vocabulary, ids, 2), delta=0.5)
    p = model.next_distribution(["a"])
    assert p["b"] == pytest.approx((2 + 0.5) / (3 + 0.5 * 4))
    assert p["<unk>"] == pytest.approx(0.5 / 5)
    # <unk> was never a context: every word is equally probable
    assert model.next_distribution(["<unk>"])["a"] == pytest.approx(1 / 4)
    # no context: the words alone, a 3 of 6
    assert model.next_distribution([])["a"] == pytest.approx(3.5 / 8)


def test_laplace_is_delta_one():
    vocabulary = Vocabulary(["<unk>", "a"])
    model = Additive(count_ngrams(vocabulary, np.array([1, 1, 1]), 1))
    assert model.next_distribution([]) == pytest.approx({"a": 4 / 5, "<unk>": 1 / 5})
    assert "delta=1, order 1" in repr(model)


@given(texts(), st.floats(1e-3, 10))
@settings(max_examples=60, deadline=None)
def test_sums_to_one_and_batches_agree(text, delta):
    vocabulary, ids, order = text
    ids = np.array(ids)
    model = Additive(count_ngrams(vocabulary, ids, order), delta)
    rows = contexts_for(vocabulary, ids, max(1, order - 1))
    log_p = model.next_log_probabilities(np.array(rows))
    assert np.exp(log_p).sum(axis=1) == pytest.approx(1, abs=1e-9)
    for start in (0, 1):
        np.testing.assert_allclose(
            model.token_log_probabilities(ids, start),
            LanguageModel.token_log_probabilities(model, ids, start),
        )


@pytest.mark.parametrize("delta", [0, -1, math.inf, math.nan])
def test_a_delta_that_smooths_nothing_is_refused(delta):
    vocabulary = Vocabulary(["<unk>", "a"])
    counts = count_ngrams(vocabulary, np.array([1]), 1)
    with pytest.raises(ValueError, match=f"delta={delta}: expected above zero"):
        Additive(counts, delta)
