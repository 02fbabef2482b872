"""Good-Turing counts and Katz's back-off by hand."""

import numpy as np
import pytest

from lmlib.ngrams import DegenerateCounts, count_ngrams, good_turing_count, katz
from lmlib.ngrams.katz import _Katz, katz_ratios
from lmlib.vocabulary import Vocabulary

# Church and Gale (1991), 22 million bigrams of AP newswire: n_1 .. n_6
AP = [0, 2_018_046, 449_721, 188_933, 105_668, 68_379, 48_190]


def test_good_turing_counts_of_newswire():
    # their table: r* = 0.446 for r = 1, 1.26 for r = 2, 2.24 for r = 3
    stars = [good_turing_count(AP, r) for r in (1, 2, 3)]
    assert stars == pytest.approx([0.446, 1.26, 2.24], abs=0.005)


def test_katz_ratios_by_hand():
    # n = 10, 4, 2 and k = 2: A = 3 * 2 / 10 = 0.6; 1* = 2 * 4 / 10 = 0.8,
    # 2* = 3 * 2 / 4 = 1.5; d_1 = (0.8 - 0.6) / 0.4, d_2 = (0.75 - 0.6) / 0.4
    assert katz_ratios([0, 10, 4, 2], 2) == pytest.approx([0.5, 0.375])


def test_what_the_counts_lose_is_what_was_seen_once():
    # sum over r of n_r (1 - d_r) r = n_1: Good-Turing's mass of the unseen
    ratios = katz_ratios(AP, 5)
    lost = sum(AP[r] * (1 - d) * r for r, d in enumerate(ratios, 1))
    assert lost == pytest.approx(AP[1])


def test_back_off_by_hand():
    # after a: b 3 times, c once. With d_1 = 0.5 and d_2 = 0.375, and 3 left as it is,
    # P(b | a) = 3/4, P(c | a) = 0.5/4, and 0.5/4 is left for a and <unk>.
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    ids = vocabulary.encode("a b a b a b a c".split())
    with pytest.warns(DegenerateCounts):
        smoothing = _Katz(count_ngrams(vocabulary, ids, 2), 2)
    smoothing.discounts[1] = np.array([0, 0.5, 2 * 0.625, 0])
    model = smoothing.estimate(interpolated=False)
    p = model.next_distribution(["a"])
    assert p["b"] == pytest.approx(3 / 4)
    assert p["c"] == pytest.approx(0.5 / 4)
    assert p["a"] + p["<unk>"] == pytest.approx(0.5 / 4)
    alone = model.next_distribution([])
    assert p["a"] / p["<unk>"] == pytest.approx(alone["a"] / alone["<unk>"])


def test_larger_counts_stay_as_they_are():
    rng = np.random.default_rng(3)
    vocabulary = Vocabulary(["<unk>", *(f"w{i}" for i in range(400))])
    ids = 1 + np.minimum(rng.zipf(1.3, 20_000) - 1, 399)
    with pytest.warns(DegenerateCounts, match="1-grams"):
        model = katz(count_ngrams(vocabulary, ids, 2), largest=3)
    table = model.smoothing.discounts[1]
    assert len(table) == 5
    assert table[4] == 0
    assert all(0 < table[r] < r for r in (1, 2, 3))


def test_counts_of_counts_with_gaps_fall_back_and_say_so():
    vocabulary = Vocabulary(["<unk>", *"abcdefgh"])
    ids = vocabulary.encode(list("abcabcabc"))
    with pytest.warns(DegenerateCounts, match=r"[12]-grams .*0\.5 is taken"):
        model = katz(count_ngrams(vocabulary, ids, 2))
    assert model.smoothing.discounts[1].tolist() == [0, 0.5]


def test_a_smaller_k_is_tried_first():
    # n_1 .. n_4 = 10, 4, 2, 0: k = 2 works as above; k = 3 has n_4 = 0, so
    # d_3 = (4 * 0 / 2) / 3 = 0 would make triples impossible
    assert katz_ratios([0, 10, 4, 2, 0], 3) == []


def test_bad_questions_are_refused():
    vocabulary = Vocabulary(["<unk>", "a"])
    counts = count_ngrams(vocabulary, np.array([1, 1]), 1)
    with pytest.raises(ValueError, match="largest=0 discounts no count"):
        katz(counts, 0)
    with pytest.raises(ValueError, match="needs n_r above zero"):
        good_turing_count([0, 3, 0, 1], 2)
    with pytest.raises(ValueError, match="needs n_r above zero"):
        good_turing_count([0, 3], 1)
