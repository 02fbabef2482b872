"""Maximum likelihood: relative frequencies, zeros, and nothing else."""

import math

import numpy as np
import pytest

from lmlib.ngrams import count_ngrams, maximum_likelihood
from lmlib.perplexity import evaluate
from lmlib.vocabulary import Vocabulary

SENTENCES = [
    "<s> the cat runs </s>",
    "<s> the cat sleeps </s>",
    "<s> the dog runs </s>",
    "<s> a dog sleeps </s>",
    "<s> the bird sleeps </s>",
]
MARKS = ("<s>", "</s>")


def bigram(sentences):
    tokens = " ".join(sentences).split()
    vocabulary = Vocabulary.from_tokens(" ".join(SENTENCES).split(), marks=MARKS)
    return maximum_likelihood(count_ngrams(vocabulary, vocabulary.encode(tokens), 2))


def test_probabilities_are_relative_frequencies():
    model = bigram(SENTENCES)
    # "the" begins 4 of 5 sentences; after it come cat, cat, dog, bird
    assert model.next_distribution(["<s>"])["the"] == pytest.approx(4 / 5)
    assert model.next_distribution(["the"])["cat"] == pytest.approx(2 / 4)
    # P(the dog sleeps </s>) = 4/5 * 1/4 * 1/2 * 1: never seen, yet possible
    ids = model.vocabulary.encode("<s> the dog sleeps </s>".split())
    assert math.exp(model.log_probability(ids)) == pytest.approx(1 / 10)


def test_a_word_never_seen_after_its_context_is_impossible():
    model = bigram(SENTENCES)
    ids = model.vocabulary.encode("<s> a cat runs </s>".split())
    assert model.log_probability(ids) == -math.inf
    assert evaluate(model, ids).perplexity == math.inf


def test_a_context_never_seen_is_answered_by_its_longest_seen_end():
    # "<unk>" never occurs; the words alone: of 20 tokens "the" is 4
    model = bigram(SENTENCES)
    assert model.next_distribution(["<unk>"])["the"] == pytest.approx(4 / 20)


def test_doubling_the_corpus_changes_nothing():
    once, twice = bigram(SENTENCES), bigram(SENTENCES * 2)
    contexts = np.arange(len(once.vocabulary))[:, None]
    np.testing.assert_allclose(
        once.next_log_probabilities(contexts), twice.next_log_probabilities(contexts)
    )


def test_sentence_starts_are_never_predicted_and_can_be_the_whole_context():
    model = bigram(SENTENCES)
    start = model.vocabulary.start_id
    table = model.next_log_probabilities(np.array([[start], [-1], [5]]))
    assert (table[:, start] == -np.inf).all()
    assert model.next_distribution(["<s>"])["a"] == pytest.approx(1 / 5)


def test_one_repeated_word_is_certain():
    vocabulary = Vocabulary(["<unk>", "a"])
    model = maximum_likelihood(count_ngrams(vocabulary, np.full(9, 1), 3))
    assert model.next_distribution(["a", "a"]) == {"a": 1.0, "<unk>": 0.0}


def test_a_table_says_how_large_it_is():
    model = bigram(SENTENCES)
    # 10 words with their marks; 13 bigrams: <s> the, <s> a, the cat, the dog, the bird,
    # a dog, cat runs, cat sleeps, dog runs, dog sleeps, bird sleeps, and two ends
    assert repr(model) == ("BackoffModel(maximum likelihood, order 2: 10 + 13 n-grams)")
    # a key, log P for 13; log P and log alpha for 10: 8 bytes each
    assert model.nbytes == 8 * (13 + 13 + 10 + 10)
