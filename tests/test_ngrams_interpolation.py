"""Jelinek-Mercer and deleted interpolation, by hand and against a slow EM."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from ngram_oracle import contexts_for, texts

from lmlib.language_model import LanguageModel
from lmlib.ngrams import (
    count_ngrams,
    deleted_interpolation,
    frequency_bins,
    jelinek_mercer,
    jelinek_mercer_weights,
    uniform,
)
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def counts():
    # a is followed by b, b, c; 7 tokens: a 3, b 3, c 1
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    return count_ngrams(vocabulary, vocabulary.encode("a b a b a c b".split()), 2)


def test_jelinek_mercer_by_hand(counts):
    # P(b | a) = 0.6 * 2/3 + 0.4 * (0.8 * 3/7 + 0.2 * 1/4)
    p = jelinek_mercer(counts, [0.8, 0.6]).next_distribution(["a"])
    assert p["b"] == pytest.approx(0.6 * 2 / 3 + 0.4 * (0.8 * 3 / 7 + 0.05))
    assert p["<unk>"] == pytest.approx(0.4 * 0.05)


def test_weights_fit_the_held_out_text(counts):
    # held out, every bigram is new: the bigrams get (almost) nothing
    ids = counts.vocabulary.encode("b c c b b c".split())
    weights = jelinek_mercer_weights(counts, ids, 1, iterations=100)
    assert len(weights) == 2
    assert (
        weights[1]
        < 0.5
        < jelinek_mercer_weights(
            counts, counts.vocabulary.encode("a b a b".split()), 1, iterations=100
        )[1]
    )


def test_unusable_weights_are_refused(counts):
    for weights in ([0.5], [0.5, 1.0], [0.0, 0.5]):
        with pytest.raises(ValueError, match="for order 2: expected one for each"):
            jelinek_mercer(counts, weights)


def test_bins_by_hand(counts):
    # T = 7: q = ceil(-log((1 + c(h)) / 7)): c = 3 gives 0.56 -> 1, c = 1 gives
    # 1.25 -> 2, c = 0 gives 1.95 -> 2; no context counts as 7: -0.13 -> 0
    contexts = np.array([[1], [3], [0], [-1]])
    assert frequency_bins(counts, contexts).tolist() == [1, 2, 2, 0]


def test_a_context_cut_by_a_sentence_start_is_binned_as_what_is_left():
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a"])
    ids = vocabulary.encode("<s> a </s>".split() * 20)
    counts = count_ngrams(vocabulary, ids, 3)
    # <s> is followed 20 times of 40 tokens, whatever stands before it
    expected = math.ceil(-math.log(21 / 40))
    assert (
        frequency_bins(counts, np.array([[-1, 1], [2, 1]])).tolist() == [expected] * 2
    )


def test_em_equals_a_loop_over_tokens(counts):
    ids = counts.vocabulary.encode("a b c a a b c b".split())
    model = deleted_interpolation(counts, ids, 1, iterations=5)
    word = {w: i for i, w in enumerate(counts.vocabulary.words)}
    unigram = {"a": 3 / 7, "b": 3 / 7, "c": 1 / 7}
    after = {"a": {"b": 2 / 3, "c": 1 / 3}, "b": {"a": 1.0}, "c": {"b": 1.0}}
    tokens = "a b c a a b c b".split()
    for q in (1, 2):  # "a" (3 times) and "b" (2, before another word) fall into 1
        pairs = [
            (h, w)
            for h, w in itertools.pairwise(tokens)
            if (1 if h in "ab" else 2) == q
        ]
        a = [1 / 3] * 3
        for _ in range(5):
            total = [0.0] * 3
            for h, w in pairs:
                p = [a[0] / 4, a[1] * unigram[w], a[2] * after[h].get(w, 0)]
                for i in range(3):
                    total[i] += p[i] / sum(p)
            a = [t / len(pairs) for t in total]
        context = np.array([[word["a" if q == 1 else "c"]]])
        assert frequency_bins(counts, context).tolist() == [q]
        assert model.weights[q] == pytest.approx(a)


@given(texts(shortest_order=2), texts())
@settings(max_examples=40, deadline=None)
def test_sums_to_one_and_batches_agree(text, other):
    vocabulary, ids, order = text
    held_out = np.array([0] + [i % len(vocabulary) for i in other[1]])
    counts = count_ngrams(vocabulary, np.array(ids), order)
    model = deleted_interpolation(counts, held_out, 0, 5)
    rows = contexts_for(vocabulary, ids, order - 1)
    log_p = model.next_log_probabilities(np.array(rows))
    assert np.exp(log_p).sum(axis=1) == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(
        model.token_log_probabilities(held_out, 1),
        LanguageModel.token_log_probabilities(model, held_out, 1),
    )


def test_zero_over_zero_taken_as_zero_loses_mass_after_new_words(counts):
    # "<unk>" was never a context: what the bigrams weigh is lost, and only there
    ids = counts.vocabulary.encode("a b c a a b c b".split())
    model = deleted_interpolation(counts, ids, 1, literal=True)
    contexts = np.arange(4)[:, None]
    total = np.exp(model.next_log_probabilities(contexts)).sum(axis=1)
    assert total[1:] == pytest.approx(1)
    assert total[0] == pytest.approx(1 - model.weights[2][2])
    assert total[0] < 0.99


def test_deleted_interpolation_needs_a_context(counts):
    with pytest.raises(ValueError, match="at order 1 has no context to bin by"):
        deleted_interpolation(counts.upto(1), np.array([1, 2]))


def test_uniform_gives_every_word_the_same_and_a_sentence_start_nothing():
    model = uniform(Vocabulary(["<unk>", "<s>", "a"]))
    assert model.next_distribution(["a"]) == {"<unk>": 0.5, "a": 0.5, "<s>": 0.0}
