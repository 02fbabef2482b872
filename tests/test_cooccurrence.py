"""Counts, positive PMI and the SVD, against arithmetic by hand and dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib import corpora, toy_world
from lmlib.analogies import solve, solve_relations
from lmlib.clusters import category_purity
from lmlib.cooccurrence import cooccurrence, positive_pmi, svd_embeddings
from lmlib.vocabulary import Vocabulary

pytest.importorskip("scipy", reason="scipy is not installed: pip install scipy")
ABC = Vocabulary(["a", "b", "c"], None)


def test_counts_by_hand():
    # a b a c: neighbours at distance 1 are ab, ba, ac; at distance 2 aa, bc.
    text = ABC.encode("a b a c".split())
    assert cooccurrence(ABC, text, 1).toarray().tolist() == [
        [0, 2, 1],
        [2, 0, 0],
        [1, 0, 0],
    ]
    # An a beside an a is counted from both sides.
    assert cooccurrence(ABC, text, 2).toarray().tolist() == [
        [2, 2, 1],
        [2, 0, 1],
        [1, 1, 0],
    ]
    # Weighted: distance 1 counts 2/2, distance 2 counts 1/2.
    assert cooccurrence(ABC, text, 2, weighted=True).toarray().tolist() == [
        [1, 2, 1],
        [2, 0, 0.5],
        [1, 0.5, 0],
    ]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 4), max_size=9), min_size=1, max_size=4))
def test_counts_are_those_of_two_loops_and_cross_no_border(rows):
    texts = [np.array(row, dtype=np.int32) for row in rows]
    if sum(map(len, texts)) < 2:
        return
    vocabulary = Vocabulary(list("abcde"), None)
    expected = np.zeros((5, 5))
    for row in rows:
        for t, word in enumerate(row):
            for s in range(max(0, t - 3), min(len(row), t + 4)):
                if s != t:
                    expected[word, row[s]] += 1
    np.testing.assert_array_equal(
        cooccurrence(vocabulary, texts, 3).toarray(), expected
    )


def test_positive_pmi_by_hand():
    counts = cooccurrence(ABC, ABC.encode("a b a c".split()), 1)
    # 6 in all; P(a) = 3/6, P(b) = 2/6, P(c) = 1/6; P(a, b) = 2/6, P(a, c) = 1/6.
    # log((2/6) / (3/6 * 2/6)) = log 2, and log((1/6) / (3/6 * 1/6)) = log 2.
    log2 = np.log(2)
    expected = [[0, log2, log2], [log2, 0, 0], [log2, 0, 0]]
    np.testing.assert_allclose(positive_pmi(counts).toarray(), expected)
    # A shift of 2 takes exactly log 2 away, and nothing positive is left.
    np.testing.assert_allclose(positive_pmi(counts, shift=2).toarray(), 0, atol=1e-15)


def test_smoothing_lowers_the_pmi_of_rare_context_words():
    counts = cooccurrence(ABC, ABC.encode("a b a b a b a c".split()), 1)
    plain = positive_pmi(counts).toarray()
    smooth = positive_pmi(counts, smoothing=0.75).toarray()
    assert smooth[0, 2] < plain[0, 2]  # c is rare
    assert smooth[2, 0] > plain[2, 0]  # a is frequent


def test_the_best_approximation_is_that_of_the_dense_svd():
    counts = np.random.default_rng(0).poisson(2, (12, 12)).astype(float)
    vocabulary = Vocabulary(list("abcdefghijkl"), None)
    import scipy.sparse

    matrix = scipy.sparse.csr_array(counts + counts.T)
    left, values, _ = np.linalg.svd(matrix.toarray())
    for power in (0.0, 0.5, 1.0):
        found = svd_embeddings(vocabulary, matrix, 4, power).vectors
        # Up to signs, so the products of rows are compared.
        wanted = left[:, :4] * values[:4] ** power
        np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-9)
        assert (found[np.abs(found).argmax(0), range(4)] > 0).all()


def test_a_word_that_met_nobody_has_the_zero_vector():
    text = np.array([0, 1, 0, 2, 1, 0, 2, 1])
    vocabulary = Vocabulary(["a", "b", "c", "never"], None)
    found = svd_embeddings(vocabulary, cooccurrence(vocabulary, text, 2), 2)
    assert found.vectors[3].tolist() == [0, 0]
    assert found.vectors[:3].any(axis=1).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cooccurrence(ABC, np.array([0, 1]), 0), "window=0: expected"),
        (lambda: cooccurrence(ABC, np.array([0, 3])), "id 3 is outside 0 to 2"),
        (lambda: cooccurrence(ABC, np.array([0])), "the text has 1 words"),
        (lambda: positive_pmi(pair_counts(), shift=0.5), r"shift=0\.5"),
        (lambda: positive_pmi(pair_counts() * 0), "counts are empty or negative"),
        (lambda: svd_embeddings(ABC, pair_counts(), 0), "dimension=0: a matrix"),
        (lambda: svd_embeddings(ABC, pair_counts(), 3), "dimension=3: a matrix"),
    ],
)
def test_bad_requests_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_more_dimensions_than_the_rank_are_refused():
    vocabulary = Vocabulary(list("abcdef"), None)
    counts = cooccurrence(vocabulary, np.array([0, 1, 0, 1, 0]), 1)  # rank 2
    with pytest.raises(ValueError, match="dimension=4 is more than the matrix has"):
        svd_embeddings(vocabulary, counts, 4)


def pair_counts():
    counts = cooccurrence(ABC, ABC.encode("a b a c".split()), 1)
    counts.eliminate_zeros()
    return counts


def test_svd_features_of_the_toy_world_hold_its_grammar(optional):
    optional("sklearn")
    corpus = corpora.toy()
    vocabulary = corpus.vocabulary()
    ids = vocabulary.encode(corpus.tokens)
    ends = np.flatnonzero(ids == vocabulary.id(toy_world.STOP)) + 1
    texts = [text for text in np.split(ids, ends) if len(text)]
    matrix = positive_pmi(cooccurrence(vocabulary, texts, 3))
    found = svd_embeddings(vocabulary, matrix, 50, power=1.0)
    assert category_purity(found, toy_world.categories()) >= 0.95
    for answers in solve_relations(found, toy_world.analogies()).values():
        assert answers.accuracy >= 0.9
    assert solve(found, [("man", "woman", "king", "queen")]).answers == ("queen",)
