"""Perplexities on Brown against independently computed ones.

The expected numbers come from another program, written for the purpose, over the same
stream: cased, with text and paragraph marks, 17,907 words, one unbroken text.
"""

import pytest

from lmlib.corpora import Corpus, EncodedCorpus
from lmlib.ngrams import (
    NgramCounts,
    count_ngrams,
    deleted_interpolation,
    modified_kneser_ney,
)
from lmlib.perplexity import evaluate


@pytest.fixture(scope="module")
def corpus(brown_corpus: Corpus) -> EncodedCorpus:
    return brown_corpus.encode(brown_corpus.vocabulary(min_count=4))


@pytest.fixture(scope="module")
def counts(corpus: EncodedCorpus) -> NgramCounts:
    return count_ngrams(corpus.vocabulary, corpus.train, 5)


def perplexities(model, corpus):
    valid = evaluate(model, corpus.upto_valid, corpus.valid_start)
    test = evaluate(model, corpus.ids, corpus.test_start)
    return [valid.perplexity, test.perplexity]


@pytest.mark.parametrize(
    ("order", "valid", "test"),
    [(3, 332.2, 309.8), (4, 330.1, 307.9), (5, 329.3, 307.1)],
)
def test_interpolated_modified_kneser_ney(corpus, counts, order, valid, test):
    model = modified_kneser_ney(counts.upto(order))
    assert perplexities(model, corpus) == pytest.approx([valid, test], abs=0.2)


@pytest.mark.parametrize(
    ("order", "valid", "test"),
    [(3, 355.0, 332.9), (4, 369.0, 346.5), (5, 376.0, 353.8)],
)
def test_back_off_gets_worse_with_the_order(corpus, counts, order, valid, test):
    model = modified_kneser_ney(counts.upto(order), interpolated=False)
    assert perplexities(model, corpus) == pytest.approx([valid, test], abs=0.2)


@pytest.mark.parametrize(
    ("order", "valid", "test"),
    [(3, 341.8, 320.1), (4, 344.0, 322.0), (5, 344.9, 322.8)],
)
def test_with_cut_offs_back_off_stays_flat(corpus, counts, order, valid, test):
    model = modified_kneser_ney(counts.upto(order), False, cutoffs=(0, 0, 1))
    assert perplexities(model, corpus) == pytest.approx([valid, test], abs=0.2)


def test_deleted_interpolation(corpus, counts):
    # The other program took 0 / 0 as 0: `literal`. Spreading that mass gains 3.
    trigrams, held_out = counts.upto(3), (corpus.upto_valid, corpus.valid_start)
    literal = deleted_interpolation(trigrams, *held_out, literal=True)
    assert perplexities(literal, corpus) == pytest.approx([358.8, 332.5], abs=0.2)
    assert evaluate(literal, corpus.train).perplexity == pytest.approx(31.9, abs=0.2)
    whole = deleted_interpolation(trigrams, *held_out)
    assert perplexities(whole, corpus) == pytest.approx([355.7, 329.7], abs=0.2)
