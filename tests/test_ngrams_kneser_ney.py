"""Kneser-Ney, plain and modified, by hand."""

import numpy as np
import pytest

from lmlib.ngrams import (
    DegenerateCounts,
    continuation_counts,
    count_ngrams,
    kneser_ney,
    modified_discounts,
    modified_kneser_ney,
)
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def francisco():
    """Francisco is as frequent as house, but follows only San."""
    tokens = "San Francisco . San Francisco . the house . a house .".split()
    vocabulary = Vocabulary.from_tokens(tokens)
    return count_ngrams(vocabulary, vocabulary.encode(tokens), 2)


def test_continuation_counts_are_the_different_words_before(francisco):
    found = continuation_counts(francisco, 1)
    count = {w: int(found[i]) for i, w in enumerate(francisco.vocabulary.words)}
    assert count["Francisco"] == 1  # San
    assert count["house"] == 2  # the, a
    assert count["."] == 2  # Francisco, house
    assert count["San"] == 1  # .; nothing stands before the first San


def test_interpolated_by_hand(francisco):
    # 7 bigram types end in: Francisco 1, . 2, San 1, the 1, house 2, a 1: total 8;
    # with D = 0.5 the words are (N - 0.5) / 8 + (6 * 0.5 / 8) / |V|, |V| = 7
    # P(house) = 1.5 / 8 + 3 / 56, P(Francisco) = 0.5 / 8 + 3 / 56
    # after "the": house once; P(w | the) = (c - 0.5) / 1 + 0.5 P(w)
    p = kneser_ney(francisco, 0.5).next_distribution(["the"])
    assert p["house"] == pytest.approx(0.5 + 0.5 * (1.5 / 8 + 3 / 56))
    assert p["Francisco"] == pytest.approx(0.5 * (0.5 / 8 + 3 / 56))


def test_back_off_by_hand(francisco):
    # after "the" house keeps 0.5; the other words share 0.5 in proportion to P(w)
    p = kneser_ney(francisco, 0.5, interpolated=False).next_distribution(["the"])
    house, san_francisco = 1.5 / 8 + 3 / 56, 0.5 / 8 + 3 / 56
    assert p["house"] == pytest.approx(0.5)
    assert p["Francisco"] == pytest.approx(0.5 * san_francisco / (1 - house))


def test_after_a_new_context_san_francisco_is_no_longer_a_favourite(francisco):
    # "<unk>" was never a context: continuation counts answer
    p = kneser_ney(francisco, 0.5).next_distribution(["<unk>"])
    assert p["house"] > 1.5 * p["Francisco"]


def test_ngrams_that_begin_a_sentence_keep_their_counts():
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a", "b"])
    ids = vocabulary.encode("<s> a b </s> <s> a b </s> <s> b a b </s>".split())
    counts = count_ngrams(vocabulary, ids, 3)
    found = continuation_counts(counts, 2)
    rows = [tuple(vocabulary.decode(row)) for row in counts.trie.rows(2)]
    count = dict(zip(rows, found.tolist(), strict=True))
    assert count["<s>", "a"] == 2  # as often as it occurs
    assert count["a", "b"] == 2  # after <s> and after b, though it occurs 3 times


def test_modified_discounts_by_hand():
    # n_1 .. n_4 = 8, 4, 3, 1: Y = 8 / 16 = 0.5
    # D_1 = 1 - 2 * 0.5 * 4/8; D_2 = 2 - 3 * 0.5 * 3/4; D_3 = 3 - 4 * 0.5 * 1/3
    count = np.repeat([1, 2, 3, 4, 9], [8, 4, 3, 1, 2])
    expected = (0.5, 2 - 1.125, 3 - 2 / 3)
    assert modified_discounts(2, count) == pytest.approx(expected)


def test_modified_by_hand():
    # the highest order's counts 1, 2, 3+ lose D_1, D_2, D_3 and no others
    vocabulary = Vocabulary(["<unk>", *"abcd"])
    ids = vocabulary.encode(list("abababacacad"))
    with pytest.warns(DegenerateCounts):  # too small a text: 0.5, 1, 1.5
        model = modified_kneser_ney(count_ngrams(vocabulary, ids, 2), False)
    # after a: b 3, c 2, d 1 of 6
    p = model.next_distribution(["a"])
    assert p["b"] == pytest.approx((3 - 1.5) / 6)
    assert p["c"] == pytest.approx((2 - 1) / 6)
    assert p["d"] == pytest.approx((1 - 0.5) / 6)


@pytest.mark.parametrize(
    "count",
    [
        [2, 2, 3, 4],  # n_1 = 0
        [1, 1, 3, 4],  # n_2 = 0
        [1, 2, 2, 4],  # n_3 = 0
        [1, 2, 3, 5],  # n_4 = 0: D_3 = 3 would leave nothing of a count of 3
        # n = 4, 1, 9, 1: Y = 4/6 and D_2 = 2 - 3 * 4/6 * 9 is negative
        [1] * 4 + [2] + [3] * 9 + [4],
    ],
)
def test_discounts_that_do_not_exist_fall_back_and_say_so(count):
    with pytest.warns(DegenerateCounts, match="no usable discount for the 2-grams"):
        assert modified_discounts(2, np.array(count)) == (0.5, 1.0, 1.5)


def test_four_short_lines_at_order_three():
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a", "b", "c"])
    text = "<s> a b </s> <s> a c </s> <s> b </s> <s> c a </s>".split()
    with pytest.warns(DegenerateCounts):
        model = modified_kneser_ney(
            count_ngrams(vocabulary, vocabulary.encode(text), 3)
        )
    p = model.next_distribution(["<s>", "a"])
    # trigrams <s> a b and <s> a c occur once: each keeps (1 - 0.5) / 2, and the reserve
    # 0.5 goes to P(w | a). Continuation counts after a: b 1 (<s>), c 1, </s> 1 (c)
    below = model.next_distribution(["a"])
    assert p["b"] == pytest.approx(0.25 + 0.5 * below["b"])
    # Below, b and c follow two different words each, and </s> follows three.
    assert below["b"] == below["c"] < below["</s>"]
    assert sum(p.values()) == pytest.approx(1)


def test_twenty_six_letters_without_singletons():
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = Vocabulary(list(letters), unknown=None)
    ids = np.random.default_rng(5).integers(0, 26, 60_000)
    with pytest.warns(DegenerateCounts, match="n_1 = 0"):
        model = modified_kneser_ney(count_ngrams(vocabulary, ids, 2))
    # 60,000 / 26 = 2,308 after each letter: four standard deviations of a share of
    # 1/26 are 4 sqrt(1/26 * 25/26 / 2308) = 0.016
    assert np.exp(model.next_log_probabilities(np.array([[3]]))) == pytest.approx(
        np.full((1, 26), 1 / 26), abs=0.016
    )


def test_one_repeated_word():
    vocabulary = Vocabulary(["<unk>", "a"])
    with pytest.warns(DegenerateCounts):
        model = modified_kneser_ney(count_ngrams(vocabulary, np.full(20, 1), 3))
    p = model.next_distribution(["a", "a"])
    # words: continuation count 1, D = 0.5: P(a) = 0.5 + 0.5/2; "a a" the same over it;
    # 18 trigrams lose 1.5: P = 16.5/18 + 1.5/18 * (0.5 + 0.5 * 0.75)
    assert p["a"] == pytest.approx(16.5 / 18 + 1.5 / 18 * (0.5 + 0.5 * 0.75))


def test_bad_arguments_are_refused(francisco):
    with pytest.raises(ValueError, match=r"discount 1\.5 is outside"):
        kneser_ney(francisco, 1.5)
    with pytest.raises(ValueError, match="continuation counts of order 2 need n-grams"):
        continuation_counts(francisco, 2)
