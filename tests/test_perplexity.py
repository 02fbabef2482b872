"""Perplexity says what it is over, and refuses comparisons that mean nothing."""

import math

import numpy as np
import pytest

from lmlib.language_model import LanguageModel
from lmlib.perplexity import evaluate
from lmlib.vocabulary import Vocabulary


class Uniform(LanguageModel):
    """1/|V| for every word but ``<s>``."""

    def __init__(self, words):
        self.vocabulary = Vocabulary(words)
        self.context_size = 0

    def next_log_probabilities(self, contexts):
        possible = np.full(len(self.vocabulary), 1.0)
        if self.vocabulary.start_id is not None:
            possible[self.vocabulary.start_id] = 0
        with np.errstate(divide="ignore"):
            row = np.log(possible / possible.sum())
        return np.tile(row, (len(contexts), 1))


def test_a_uniform_model_has_the_vocabulary_size_as_perplexity():
    model = Uniform(["<unk>", "a", "b", "c"])
    score = evaluate(model, np.array([1, 2, 3, 0]))
    assert score.perplexity == pytest.approx(4)
    assert score.bits == pytest.approx(2)
    assert score.cross_entropy == pytest.approx(math.log(4))


def test_perplexity_is_the_geometric_mean_of_one_over_p():
    class Half(Uniform):
        def next_log_probabilities(self, contexts):
            return np.tile(np.log([0.5, 0.125, 0.375]), (len(contexts), 1))

    model = Half(["<unk>", "a", "b"])
    # 1/P is 2 and 8: their geometric mean is sqrt(16) = 4
    assert evaluate(model, np.array([0, 1])).perplexity == pytest.approx(4)


def test_an_impossible_word_makes_perplexity_infinite():
    class Never(Uniform):
        def next_log_probabilities(self, contexts):
            return np.tile([0.0, -np.inf], (len(contexts), 1))

    assert evaluate(Never(["<unk>", "a"]), np.array([0, 1])).perplexity == math.inf


def test_a_tiny_probability_does_not_overflow():
    class Tiny(Uniform):
        def next_log_probabilities(self, contexts):
            return np.tile([0.0, -1e4], (len(contexts), 1))

    assert evaluate(Tiny(["<unk>", "a"]), np.array([1])).perplexity == math.inf


def test_the_sentence_start_is_context_and_is_not_scored():
    model = Uniform(["<unk>", "<s>", "</s>", "a"])
    score = evaluate(model, np.array([1, 3, 2, 1, 3, 3, 2]))
    assert score.tokens == 5  # a </s> a a </s>
    assert score.perplexity == pytest.approx(3)  # <unk>, </s>, a: never <s>


def test_unknown_words_are_counted_or_skipped_and_the_score_says_so():
    model = Uniform(["<unk>", "a"])
    counted = evaluate(model, np.array([0, 1, 0]))
    skipped = evaluate(model, np.array([0, 1, 0]), unknown="skipped")
    assert (counted.tokens, counted.unknown_tokens) == (3, 2)
    assert (skipped.tokens, skipped.unknown_tokens) == (1, 0)
    assert "2 unknown counted" in str(counted)
    assert "|V| = 2" in str(counted)
    with pytest.raises(ValueError, match="counted in one perplexity and skipped in"):
        counted.check_comparable(skipped)
    with pytest.raises(ValueError, match="expected 'counted' or 'skipped'"):
        evaluate(model, np.array([0]), unknown="ignored")


def test_scores_over_one_vocabulary_are_ordered_by_perplexity():
    a = Uniform(["<unk>", "a", "b", "c"])
    better = evaluate(a, np.array([1, 2]))

    class Sure(Uniform):
        def next_log_probabilities(self, contexts):
            return np.tile(np.log([0.1, 0.4, 0.4, 0.1]), (len(contexts), 1))

    best = evaluate(Sure(["<unk>", "a", "b", "c"]), np.array([1, 2]))
    assert best < better
    assert max(best, better) is better


def test_perplexities_over_different_vocabularies_are_not_compared():
    ids = np.array([1])
    small, large = Uniform(["<unk>", "a"]), Uniform(["<unk>", "a", "b"])
    with pytest.raises(ValueError, match=r"different vocabularies \(2 and 3 words\)"):
        _ = evaluate(small, ids) < evaluate(large, ids)
    with pytest.raises(ValueError, match="different vocabularies"):
        _ = evaluate(small, ids) == evaluate(large, ids)


def test_nothing_to_score_is_an_error():
    model = Uniform(["<unk>", "<s>", "a"])
    for ids, start in (([], 0), ([2], 1), ([1, 1], 0)):
        with pytest.raises(ValueError, match="nothing to score"):
            evaluate(model, np.array(ids, int), start)
