"""Neighbours, analogies, correlations, clusters and maps, on vectors done by hand."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib import corpora, toy_world
from lmlib.analogies import METHODS, chance, solve, solve_relations
from lmlib.clusters import category_purity, k_means, purity
from lmlib.embeddings import (
    Embeddings,
    largest,
    principal_map,
    similarity_correlation,
    tsne_map,
)
from lmlib.nnlm import NNLM, NNLMConfig
from lmlib.recipes import Recipe, fit
from lmlib.relations import (
    BIBLE_PAIRS,
    bible_relations,
    bible_similarities,
    questions_from_pairs,
)
from lmlib.vocabulary import Vocabulary

# East, north-east, north, west; lengths differ and must not matter.
COMPASS = {"east": [2, 0], "northeast": [3, 3], "north": [0, 1], "west": [-5, 0]}


def embeddings(vectors):
    return Embeddings(Vocabulary(list(vectors), None), list(vectors.values()))


# --- neighbours ----------------------------------------------------------------------


def test_neighbours_are_ordered_by_angle():
    found = embeddings(COMPASS).neighbours(["east", "north"], 3)
    # 45, 90 and 180 degrees from east: cosines sqrt(1/2), 0 and -1.
    assert [word for word, _ in found[0]] == ["northeast", "north", "west"]
    np.testing.assert_allclose([c for _, c in found[0]], [0.5**0.5, 0, -1], atol=1e-15)
    # East and west are equally far from north: the lower id comes first.
    assert [word for word, _ in found[1]] == ["northeast", "east", "west"]


def test_similarity_is_the_cosine():
    assert embeddings(COMPASS).similarity("east", "northeast") == pytest.approx(
        0.5**0.5
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 5))
def test_the_largest_scores_are_those_of_a_full_sort(seed, words, rows):
    # Whole numbers, so that there are many ties.
    scores = np.random.default_rng(seed).integers(0, 9, (rows, words)).astype(float)
    for k in {1, words // 5 + 1, words}:
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(largest(scores, k), expected)


def test_a_word_without_a_vector_is_named():
    some = embeddings(COMPASS)
    for ask in (
        lambda: some["south"],
        lambda: some.neighbours(["south"], 1),
        lambda: some.similarity("east", "south"),
        lambda: solve(some, [("east", "north", "west", "south")]),
        lambda: similarity_correlation(some, [("east", "south", i) for i in range(3)]),
    ):
        with pytest.raises(ValueError, match="'south' is not among the 4 words"):
            ask()


def test_the_unknown_symbols_vector_stands_for_no_other_word():
    some = Embeddings(Vocabulary(["<unk>", "a"]), np.eye(2))
    assert some["<unk>"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="'b' is not among the 2 words"):
        some["b"]


def test_a_zero_vector_is_near_nothing():
    some = embeddings({**COMPASS, "here": [0, 0]})
    with pytest.raises(ValueError, match="'here' has the zero vector"):
        some.neighbours(["here"], 1)
    with pytest.raises(ValueError, match="'here' has the zero vector"):
        some.similarity("east", "here")
    with pytest.raises(ValueError, match="'here' has the zero vector"):
        k_means(some, ["east", "here"], 2)
    # West's cosine with east is -1, yet "here" with its 0 is not put before it.
    words = [word for word, _ in some.neighbours(["east"], 3)[0]]
    assert words == ["northeast", "north", "west"]
    with pytest.raises(ValueError, match=r"k=4 neighbours .* there are 3 other words"):
        some.neighbours(["east"], 4)


@pytest.mark.parametrize("k", [0, 4])
def test_more_neighbours_than_words_are_refused(k):
    with pytest.raises(ValueError, match=f"k={k} neighbours .* 3 other words"):
        embeddings(COMPASS).neighbours(["east"], k)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.empty((2, 0)), "dimension 0"),
        (np.zeros((3, 2)), r"shape \(3, 2\): expected one row for each of the 2 words"),
        (np.array([[1, 2], [np.nan, 1]]), "the vector of 'b' holds nan or infinity"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, words):
    with pytest.raises(ValueError, match=words):
        Embeddings(Vocabulary(["a", "b"], None), vectors)


def test_a_selection_keeps_the_vectors():
    some = embeddings(COMPASS).select(["west", "east"])
    assert some.vocabulary.words == ("west", "east")
    assert some.vectors.tolist() == [[-5, 0], [2, 0]]


# --- analogies -----------------------------------------------------------------------

# (royal, male, female, bread): queen = king - man + woman exactly.
COURT = {
    "man": [0, 1, 0, 0],
    "woman": [0, 0, 1, 0],
    "king": [1, 1, 0, 0],
    "queen": [1, 0, 1, 0],
    "bread": [0, 0, 0, 1],
}
QUEEN = ("man", "woman", "king", "queen")


@pytest.mark.parametrize("method", ["3CosAdd", "3CosMul"])
def test_king_minus_man_plus_woman_is_queen(method):
    found = solve(embeddings(COURT), [QUEEN, ("king", "queen", "man", "woman")], method)
    assert found.answers == ("queen", "woman")
    assert found.ranks == (1, 1)
    assert found.accuracy == 1


def scores_by_hand(vectors, question, method):
    """The formulas, one word at a time."""

    def cos(x, y):
        x, y = np.array(vectors[x], float), np.array(vectors[y], float)
        return x @ y / np.sqrt((x @ x) * (y @ y))

    a, b, c, _ = question
    if method == "only c":
        return {x: cos(x, c) for x in vectors}
    if method == "3CosAdd":
        return {x: cos(x, b) - cos(x, a) + cos(x, c) for x in vectors}
    return {
        x: ((cos(x, b) + 1) / 2) * ((cos(x, c) + 1) / 2) / ((cos(x, a) + 1) / 2 + 1e-3)
        for x in vectors
    }


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_answers_and_ranks_are_those_of_the_formulas(seed):
    rows = np.random.default_rng(seed).normal(size=(8, 3))
    vectors = dict(zip("abcdefgh", rows, strict=True))
    questions = [tuple("abcd"), tuple("ghab"), tuple("ecfa")]
    for method in METHODS:
        found = solve(embeddings(vectors), questions, method)
        for i, question in enumerate(questions):
            scores = scores_by_hand(vectors, question, method)
            order = sorted(scores, key=scores.get, reverse=True)
            others = [word for word in order if word not in question[:3]]
            assert found.answers[i] == others[0]
            assert found.ranks[i] == others.index(question[3]) + 1
            assert found.own_word_first[i] == (order[0] in question[:3])


def test_own_words_that_would_have_won_are_counted():
    # b - a = (0, 0.2) hardly moves c, whose nearest word is c itself.
    near = {"a": [1, 0], "b": [1, 0.2], "c": [0, 1], "d": [-0.3, 1], "e": [-1, -1]}
    found = solve(embeddings(near), [tuple("abcd")])
    assert found.answers == ("d",)
    assert found.own_word_first == (True,)
    assert (found.accuracy, found.accuracy_without_exclusion) == (1, 0)


def test_relations_are_answered_one_by_one():
    found = solve_relations(
        embeddings(COURT), {"up": [QUEEN], "down": [("bread", "man", "king", "woman")]}
    )
    assert found["up"].accuracy == 1
    assert found["down"].accuracy == 0  # (0,0,0,-1) + man + king: queen is nearer


def test_chance_is_one_word_among_those_allowed():
    assert chance(embeddings(COURT)) == 1 / 2  # queen or bread
    with pytest.raises(ValueError, match="only 2"):
        chance(embeddings({"a": [1], "b": [2]}))


@pytest.mark.parametrize(
    ("questions", "method", "words"),
    [
        ([], "3CosAdd", "no questions"),
        ([("man", "king")], "3CosAdd", "has 2 words: expected four"),
        (
            [("man", "woman", "king", "man")],
            "3CosAdd",
            "'man' is one of the question's",
        ),
        ([QUEEN], "3CosSub", "method='3CosSub' is not known"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(questions, method, words):
    with pytest.raises(ValueError, match=words):
        solve(embeddings(COURT), questions, method)


# --- questions from the Bible --------------------------------------------------------


def test_questions_join_every_two_pairs_without_a_common_word():
    pairs = [("man", "men"), ("king", "kings"), ("men", "women")]
    assert questions_from_pairs(pairs) == [
        ("man", "men", "king", "kings"),
        ("king", "kings", "man", "men"),
        ("king", "kings", "men", "women"),
        ("men", "women", "king", "kings"),
    ]


def test_some_of_the_questions_are_drawn_without_repetition():
    pairs = BIBLE_PAIRS["family"]
    some = questions_from_pairs(pairs, 20, seed=1)
    assert len(set(some)) == 20
    assert set(some) <= set(questions_from_pairs(pairs))
    assert some == questions_from_pairs(pairs, 20, seed=1)


def test_more_questions_than_the_words_make_are_refused():
    with pytest.raises(ValueError, match="3 questions were asked for, but 2 pairs"):
        questions_from_pairs([("man", "men"), ("king", "kings")], 3)


def test_the_bible_has_hundreds_of_questions_in_three_relations():
    vocabulary = corpora.bible().vocabulary(min_count=5)
    relations = bible_relations(vocabulary)
    assert list(relations) == ["family", "plural", "past tense"]
    assert all(len(questions) >= 60 for questions in relations.values())
    for questions in relations.values():
        assert all(word in vocabulary for question in questions for word in question)


def test_the_pairs_are_words_the_bible_uses_often():
    counts = dict.fromkeys((w for p in BIBLE_PAIRS.values() for q in p for w in q), 0)
    for token in corpora.bible().tokens:
        if token in counts:
            counts[token] += 1
    assert min(counts.values()) >= 20, min(counts, key=counts.get)


def test_a_vocabulary_without_the_pairs_is_refused():
    with pytest.raises(
        ValueError, match=r"only 1 of the .* pairs of relation 'family'"
    ):
        bible_relations(Vocabulary(["man", "woman", "king"], None))


# --- similarity ----------------------------------------------------------------------


def test_correlation_is_that_of_the_ranks(optional):
    optional("scipy")
    pairs = [("east", "northeast"), ("east", "north"), ("east", "west")]
    # Cosines 0.7, 0, -1. Judged in that order: 1. Reversed: -1. With the ranks 3, 1, 2
    # the differences are 0, 1, 1: 1 - 6 * 2 / (3 * 8) = 1/2.
    for scores, expected in (((9, 8, 0), 1), ((0, 8, 9), -1), ((5, 1, 2), 0.5)):
        judged = [(*pair, s) for pair, s in zip(pairs, scores, strict=True)]
        assert similarity_correlation(embeddings(COMPASS), judged) == pytest.approx(
            expected
        )


def test_judgements_without_an_order_are_refused():
    judged = [("east", "north", 1.0), ("east", "west", 1.0), ("north", "west", 1.0)]
    with pytest.raises(ValueError, match="3 pairs with 1 different judgements"):
        similarity_correlation(embeddings(COMPASS), judged)


# --- clusters and maps ---------------------------------------------------------------


def test_purity_by_hand():
    # Cluster 0 holds a, a, b (2 right), cluster 1 holds b, c (1 right): 3 of 5.
    assert purity([0, 0, 0, 1, 1], list("aabbc")) == pytest.approx(3 / 5)
    with pytest.raises(ValueError, match="2 cluster numbers and 1 categories"):
        purity([0, 1], ["a"])


def test_k_means_finds_three_directions(optional):
    optional("sklearn")
    generator = np.random.default_rng(0)
    classes = {f"{name}{i}": name for name in "xyz" for i in range(8)}
    centre = dict(zip("xyz", 5 * np.eye(3), strict=True))
    vectors = {
        # Lengths from 1 to 8 times: only the direction counts.
        word: (centre[name] + generator.normal(size=3)) * (1 + int(word[1]))
        for word, name in classes.items()
    }
    some = embeddings(vectors)
    assert category_purity(some, classes) == 1
    assert len(set(k_means(some, list(classes), 3))) == 3
    with pytest.raises(ValueError, match="k=25 clusters of 24 words"):
        k_means(some, list(classes), 25)


def test_the_principal_map_keeps_the_distances_of_flat_points(optional):
    optional("sklearn")
    flat = np.random.default_rng(0).normal(size=(10, 2)) * [5, 1]
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    points = principal_map(flat @ turn[:2] + 7)
    distance = np.linalg.norm(flat[:, None] - flat, axis=2)
    np.testing.assert_allclose(
        np.linalg.norm(points[:, None] - points, axis=2), distance
    )
    assert points[:, 0].var() > points[:, 1].var()
    assert (points[np.abs(points).argmax(0), [0, 1]] > 0).all()


def test_the_tsne_map_repeats_and_keeps_neighbours_together(optional):
    optional("sklearn")
    generator = np.random.default_rng(0)
    groups = np.repeat([[9, 0, 0], [0, 9, 0]], 10, axis=0)
    vectors = groups + generator.normal(size=(20, 3))
    points = tsne_map(vectors, perplexity=5, seed=1)
    np.testing.assert_array_equal(points, tsne_map(vectors, perplexity=5, seed=1))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argmin(1)
    assert ((nearest < 10) == (np.arange(20) < 10)).all()


def test_maps_say_what_they_need():
    with pytest.raises(ValueError, match=r"shape \(1, 2\) cannot be drawn"):
        principal_map(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"perplexity=30\.0 .* less than the 5 points"):
        tsne_map(np.eye(5), perplexity=30.0)


def test_a_missing_library_is_named_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    with pytest.raises(ValueError, match="pip install scikit-learn"):
        principal_map(np.eye(3))


def test_judged_pairs_follow_the_relations():
    judged = bible_similarities(corpora.bible().vocabulary(min_count=5))
    assert ("king", "queen", 2.0) in judged
    assert ("king", "father", 1.0) in judged  # the next pair's word of the same side
    assert {score for _, _, score in judged} == {0.0, 1.0, 2.0}
    assert all(a != b for a, b, _ in judged)


# --- what the neural language model learned ------------------------------------------


def test_the_nnlms_features_answer_the_toy_worlds_analogies():
    corpus = corpora.toy(sentences=5_000)
    encoded = corpus.encode(corpus.vocabulary())
    model = NNLM(
        encoded.vocabulary,
        NNLMConfig(order=5, hidden=30, features=30, direct=False),
        np.random.default_rng(0),
        counts=np.bincount(encoded.train, minlength=len(encoded.vocabulary)),
    )
    recipe = Recipe(batch=128, epochs=10, rate=0.5, warmup=50, momentum=0.9, decay=1e-4)
    fit(model, encoded, recipe)
    found = Embeddings(encoded.vocabulary, model.C.detach().numpy())
    assert solve(found, [QUEEN]).answers == ("queen",)
    for name, answers in solve_relations(found, toy_world.analogies()).items():
        assert answers.accuracy >= 0.9, name
