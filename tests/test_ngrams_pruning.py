"""Entropy pruning: what it costs is what it says it costs."""

import math

import numpy as np
import pytest

from lmlib.ngrams import (
    absolute_discounting,
    count_ngrams,
    maximum_likelihood,
    prune,
)
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def model():
    vocabulary = Vocabulary(["<unk>", *"abcdefgh"])
    rng = np.random.default_rng(2)
    # each word is followed by one of three, mostly by the first
    ids = [1]
    for draw in rng.choice(3, 400, p=[0.7, 0.2, 0.1]):
        ids.append(1 + (3 * ids[-1] + int(draw)) % 8)
    return absolute_discounting(count_ngrams(vocabulary, np.array(ids), 2), 0.5, False)


def relative_entropy(model, other, context):
    """P(h) sum_w P(w | h) log(P(w | h) / P'(w | h)) by summing over all words."""
    row = np.array([[context]])
    p, q = (m.next_log_probabilities(row)[0] for m in (model, other))
    p_context = math.exp(model.next_log_probabilities(np.array([[-1]]))[0, context])
    return p_context * float(np.sum(np.exp(p) * (p - q)))


def test_what_goes_costs_less_than_the_threshold_by_the_definition(model):
    # Drop exactly one bigram, the cheapest, and compare D with the sum over all words.
    thresholds = np.geomspace(1e-9, 1, 400)
    size = model.trie.size(2)
    first = next(t for t in thresholds if prune(model, t).trie.size(2) < size)
    pruned = prune(model, first)
    assert pruned.trie.size(2) == size - 1
    gone = set(model.trie.keys[0].tolist()) - set(pruned.trie.keys[0].tolist())
    context = gone.pop() >> model.trie.bits
    cost = math.expm1(relative_entropy(model, pruned, context))
    step = thresholds[1] / thresholds[0]
    assert first / step <= cost < first


def test_more_is_pruned_at_a_higher_threshold_down_to_the_words_alone(model):
    sizes = [prune(model, t).trie.size(2) for t in (0, 1e-4, 1e-3, 1e9)]
    assert sizes[0] == model.trie.size(2)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0
    words = prune(model, 1e9).next_distribution(["a"])
    assert words == pytest.approx(model.next_distribution([]))


def test_an_ngram_that_begins_a_kept_one_stays():
    vocabulary = Vocabulary(["<unk>", *"abcd"])
    ids = vocabulary.encode(list("abcabcabdabcabcaddda"))
    model = absolute_discounting(count_ngrams(vocabulary, ids, 3), 0.5)
    for threshold in (1e-3, 1e-2, 3e-2, 0.1):
        pruned = prune(model, threshold)
        if pruned.trie.size(3):
            assert pruned.trie.parents(3).max() < pruned.trie.size(2)
        pairs = {tuple(row) for row in pruned.trie.rows(2).tolist()}
        assert {tuple(row[:2]) for row in pruned.trie.rows(3).tolist()} <= pairs


def test_probabilities_of_what_stays_do_not_change(model):
    pruned = prune(model, 1e-3)
    rows = pruned.trie.rows(2)
    np.testing.assert_allclose(
        pruned.last_log_probabilities(rows), model.last_log_probabilities(rows)
    )


def test_what_cannot_be_pruned_is_refused(model):
    with pytest.raises(ValueError, match="threshold -1: expected 0 or more"):
        prune(model, -1)
    with pytest.raises(ValueError, match="back-off weights of zero"):
        prune(maximum_likelihood(model.smoothing.counts), 0.1)
