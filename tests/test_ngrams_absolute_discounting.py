"""Absolute discounting by hand, and its discount."""

import numpy as np
import pytest

from lmlib.ngrams import DegenerateCounts, absolute_discounting, count_ngrams
from lmlib.ngrams.absolute_discounting import single_discount
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def counts():
    # a is followed by b, b, c; the words: a 3, b 3, c 1 of 7
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    return count_ngrams(vocabulary, vocabulary.encode("a b a b a c b".split()), 2)


def test_interpolated(counts):
    # D = 0.5. P(w) = (c(w) - 0.5) / 7 + (3 * 0.5 / 7) / 4: b 2.875/7, c 0.875/7
    # P(w | a) = (c(aw) - 0.5) / 3 + (2 * 0.5 / 3) P(w)
    p = absolute_discounting(counts, 0.5).next_distribution(["a"])
    assert p["b"] == pytest.approx(1.5 / 3 + 1 / 3 * 2.875 / 7)
    assert p["c"] == pytest.approx(0.5 / 3 + 1 / 3 * 0.875 / 7)
    assert p["<unk>"] == pytest.approx(1 / 3 * 0.375 / 7)


def test_back_off(counts):
    # seen words keep (c - 0.5) / 3; a and <unk> share 1/3 as 2.875 : 0.375
    model = absolute_discounting(counts, 0.5, interpolated=False)
    p = model.next_distribution(["a"])
    assert p["b"] == pytest.approx(1.5 / 3)
    assert p["a"] == pytest.approx(1 / 3 * 2.875 / 3.25)
    assert p["<unk>"] == pytest.approx(1 / 3 * 0.375 / 3.25)


def test_the_discount_is_estimated_from_singles_and_pairs():
    # five n-grams once, two twice: 5 / (5 + 2 * 2)
    count = np.array([1, 1, 2, 1, 9, 1, 2, 1])
    assert single_discount(2, count) == pytest.approx(5 / 9)


def test_without_singles_or_pairs_one_half_is_taken_and_announced():
    for count in ([2, 2, 3], [1, 1, 3]):
        with pytest.warns(DegenerateCounts, match=r"4-grams .*0\.5 is taken"):
            assert single_discount(4, np.array(count)) == 0.5
    assert single_discount(4, np.empty(0, int)) == 0.5  # nothing to discount


@pytest.mark.parametrize("discount", [0, 1, 1.3, -0.1])
def test_a_discount_outside_zero_to_one_is_refused(counts, discount):
    with pytest.raises(ValueError, match=rf"discount {discount} is outside \(0, 1\)"):
        absolute_discounting(counts, discount)
