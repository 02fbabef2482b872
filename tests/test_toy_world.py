"""The toy world's truth is exact: checked by listing all its sentences."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.language_model import context_windows
from lmlib.ngrams import DegenerateCounts, count_ngrams, modified_kneser_ney
from lmlib.perplexity import evaluate
from lmlib.toy_world import STOP, ToyWorld, _patterns, _slot, analogies, categories


@pytest.fixture(scope="module")
def world():
    return ToyWorld()


@pytest.fixture(scope="module")
def sentences():
    """Every sentence with its probability, straight from the patterns."""
    total = sum(weight for weight, _ in _patterns())
    table = {}
    for weight, slots in _patterns():
        for choice in itertools.product(*map(_slot, slots)):
            words = (*(word for word, _ in choice), STOP)
            p = Fraction(weight, total) * math.prod(p for _, p in choice)
            table[words] = table.get(words, 0) + p
    return table


def test_all_sentences_together_have_probability_one(sentences):
    assert sum(sentences.values()) == 1


def test_sentence_probabilities_equal_the_patterns_arithmetic(world, sentences):
    for words in list(sentences)[::97]:
        assert world.sentence_probability(words) == sentences[words]
    # 3240 of 11400; the or a, 18 nouns, is or was, 8 verbs, in, the or a, 6 places
    p = Fraction(3240, 11400) / (2 * 18 * 2 * 8 * 2 * 6)
    assert world.sentence_probability("a dog was running in a room .".split()) == p


def test_entropy_and_length_equal_brute_force(world, sentences):
    entropy = -math.fsum(float(p) * math.log(p) for p in sentences.values())
    assert world.sentence_entropy == pytest.approx(entropy, rel=1e-12)
    length = sum(p * len(words) for words, p in sentences.items())
    assert world.mean_length == length
    assert world.perplexity == pytest.approx(math.exp(entropy / float(length)))


def test_ungrammatical_and_unfinished_sentences_have_probability_zero(world):
    for text in ("cat the is .", "the cat", "the cat eats meat .", "", ". the"):
        assert world.sentence_probability(text.split()) == 0


def test_the_chain_rule_gives_the_sentence_probability(world):
    words = "the queen lost her crown .".split()
    ids = world.vocabulary.encode(words)
    want = float(world.sentence_probability(words))
    assert math.exp(world.log_probability(ids)) == pytest.approx(want)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_the_truth_sums_to_one_after_any_context(seed):
    world, rng = ToyWorld(), np.random.default_rng(seed)
    contexts = rng.integers(-1, len(world.vocabulary), (4, 5))
    sample = world.vocabulary.encode(world.sample(3, rng))
    for rows in (contexts, sample[None, :7], np.empty((1, 0), int)):
        p = np.exp(world.next_log_probabilities(rows))
        assert p.sum(axis=1) == pytest.approx(1, abs=1e-12)


def test_samples_come_near_the_entropy(world):
    ids = world.vocabulary.encode(world.sample(3000, np.random.default_rng(0)))
    log_p = world.token_log_probabilities(ids)
    error = log_p.std() / math.sqrt(len(log_p))
    assert abs(-log_p.mean() - world.entropy) < 4 * error
    assert evaluate(world, ids).perplexity == pytest.approx(world.perplexity, rel=0.05)


def test_no_model_beats_the_entropy_and_more_text_comes_nearer(world):
    rng = np.random.default_rng(0)
    test = world.vocabulary.encode(world.sample(3000, rng))
    truth = world.token_log_probabilities(test)
    gaps = []
    for sentences in (300, 3000, 30_000):
        train = world.vocabulary.encode(world.sample(sentences, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateCounts)
            model = modified_kneser_ney(count_ngrams(world.vocabulary, train, 5))
        # Per token, log P_true - log P_model: its mean estimates the divergence.
        gap = truth - model.token_log_probabilities(test)
        assert gap.mean() > -4 * gap.std() / math.sqrt(len(gap))
        gaps.append(gap.mean())
        # After each single context the divergence itself is exact, and never negative.
        contexts = context_windows(test, world.context_size, start=0, stop=400)
        p = world.next_log_probabilities(contexts)
        with np.errstate(invalid="ignore"):
            each = np.exp(p) * (p - model.next_log_probabilities(contexts))
        assert np.nan_to_num(each).sum(axis=1).min() > -1e-12
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.04 * world.entropy


def test_a_sentence_can_be_held_out(world):
    held_out = ["I", "love", "cats", "."]
    tokens = world.sample(3000, np.random.default_rng(0), without=[held_out])
    text = " ".join(tokens)
    assert "I love cats ." not in text
    assert "I love dogs ." in text


def test_the_grammar_lists_its_own_categories_and_analogies(world):
    assert set(categories()) <= set(world.vocabulary.words)
    asked = analogies()
    assert ("man", "woman", "king", "queen") in asked["male : female"]
    # 6 pairs: 6 * 5 ordered questions a relation
    assert {name: len(q) for name, q in asked.items()} == dict.fromkeys(asked, 30)
    for questions in asked.values():
        assert {w for q in questions for w in q} <= set(world.vocabulary.words)


def test_no_vowel_follows_the_article_a(sentences):
    pairs = {pair for words in sentences for pair in itertools.pairwise(words)}
    assert not [b for a, b in pairs if a == "a" and b[0] in "aeiou"]
    assert {b for a, b in pairs if a == "an"} == {"animal"}


def test_bad_requests_are_refused(world):
    with pytest.raises(ValueError, match="sentences=0"):
        world.sample(0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="elements are characters"):
        world.sentence_probability("I love cats .")
    with pytest.raises(ValueError, match=r"expected \(B, k\)"):
        world.next_log_probabilities(np.array([0]))
