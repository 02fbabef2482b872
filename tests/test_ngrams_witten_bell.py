"""Witten-Bell by hand."""

import pytest

from lmlib.ngrams import count_ngrams, witten_bell
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def counts():
    # a is followed by b, b, c: c(a) = 3, T(a) = 2. 7 tokens, 3 types: a 3, b 3, c 1
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    return count_ngrams(vocabulary, vocabulary.encode("a b a b a c b".split()), 2)


def test_interpolated(counts):
    # P(w) = (c(w) + 3 / 4) / (7 + 3): b 0.375, c 0.175
    # P(w | a) = (c(aw) + 2 P(w)) / (3 + 2)
    p = witten_bell(counts).next_distribution(["a"])
    assert p["b"] == pytest.approx((2 + 2 * 0.375) / 5)
    assert p["c"] == pytest.approx((1 + 2 * 0.175) / 5)
    assert p["<unk>"] == pytest.approx(2 * 0.075 / 5)


def test_back_off(counts):
    # seen words: c(aw) / (3 + 2). The other 2/5 go to a and <unk> in the ratio
    # P(a) : P(<unk>) = 0.375 : 0.075
    p = witten_bell(counts, interpolated=False).next_distribution(["a"])
    assert p["b"] == pytest.approx(2 / 5)
    assert p["c"] == pytest.approx(1 / 5)
    assert p["<unk>"] == pytest.approx(2 / 5 * 0.075 / 0.45)
