"""Counting: against dictionaries, at the limits, and of texts that are hardly texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from ngram_oracle import Dictionaries, texts

from lmlib.ngrams import count_ngrams, counts_of_counts
from lmlib.ngrams.trie import Trie, sort_with_places
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def cats():
    """The cat sat, the cat ran: one stream."""
    tokens = "the cat sat . the cat ran .".split()
    vocabulary = Vocabulary.from_tokens(tokens)
    return count_ngrams(vocabulary, vocabulary.encode(tokens), 3)


def test_ngrams_are_counted(cats):
    assert cats.count(["cat"]) == 2
    assert cats.count(["the", "cat"]) == 2
    assert cats.count(["the", "cat", "ran"]) == 1
    assert cats.count(["cat", "the"]) == 0
    # 8 tokens; 5 words; bigrams: the cat, cat sat, sat ., . the, cat ran, ran .
    assert (cats.tokens, [cats.distinct(k) for k in (1, 2, 3)]) == (8, [5, 6, 6])


def test_the_most_common_come_first(cats):
    assert cats.most_common(2, 2) == [(("the", "cat"), 2), ((".", "the"), 1)]
    assert cats.most_common(1, 99)[-1] == (("sat",), 1)  # <unk>, never seen, is not in


def test_counts_of_counts_say_how_many_ngrams_occur_r_times(cats):
    # of the bigrams, "the cat" occurs twice and five occur once
    assert cats.counts_of_counts(2, 3).tolist() == [0, 5, 1, 0]
    # of the words, <unk> never, "sat" and "ran" once, "the", "cat" and "." twice
    assert cats.counts_of_counts(1, 3).tolist() == [1, 2, 3, 0]
    assert counts_of_counts(np.array([1, 1, 7]), 2).tolist() == [0, 2, 0]


def test_a_word_is_followed_as_often_as_it_occurs_but_for_the_last_one(cats):
    followed = cats.followed(1)
    assert followed[cats.vocabulary.id("cat")] == 2
    assert followed[cats.vocabulary.id(".")] == 1  # the text ends with the second
    assert cats.followed(0).tolist() == [8]


def test_occurs_marks_the_positions_of_ngrams_that_were_counted(cats):
    ids = cats.vocabulary.encode("the cat ran the sat".split())
    assert cats.occurs(ids, 1).all()
    assert cats.occurs(ids, 2).tolist() == [False, True, True, False, False]
    assert cats.occurs(ids, 3).tolist() == [False, False, True, False, False]


@given(texts())
@settings(max_examples=100, deadline=None)
def test_counts_equal_those_of_dictionaries(text):
    vocabulary, ids, order = text
    counts = count_ngrams(vocabulary, np.array(ids), order)
    expected = Dictionaries(vocabulary, ids, order).counts
    for k in range(1, order + 1):
        rows, count = counts.trie.rows(k), counts.of(k)
        found = {
            tuple(row): c
            for row, c in zip(rows.tolist(), count.tolist(), strict=True)
            if c
        }
        assert found == {gram: c for gram, c in expected.items() if len(gram) == k}
        if k > 1:  # each n-gram knows the one without its first word
            shorter = counts.trie.rows(k - 1)[counts.shorter(k)]
            assert shorter.tolist() == rows[:, 1:].tolist()


def test_fewer_orders_of_the_same_counts():
    vocabulary = Vocabulary(["<unk>", "a", "b"])
    ids = vocabulary.encode("a b a a b".split())
    less, direct = (
        count_ngrams(vocabulary, ids, 3).upto(2),
        count_ngrams(vocabulary, ids, 2),
    )
    assert less.order == 2
    assert less.most_common(2) == direct.most_common(2)


def test_no_ngram_reaches_across_a_sentence_start():
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a", "b"])
    ids = vocabulary.encode("<s> a </s> <s> b </s>".split())
    counts = count_ngrams(vocabulary, ids, 3)
    assert counts.count(["<s>", "a", "</s>"]) == 1
    assert counts.count(["</s>", "<s>"]) == counts.count(["</s>", "<s>", "b"]) == 0
    assert counts.tokens == 4  # a, b and two ends; <s> is never predicted
    assert counts.count(["<s>"]) == 2  # as a context
    assert counts.of(1)[vocabulary.start_id] == 0


class Huge(Vocabulary):
    """A vocabulary of 2**31 words, of which only the first few are spelled."""

    def __len__(self):
        return 2**31


def test_seven_words_from_two_billion():
    # 31 bits for each word: a 7-gram would need 217 bits if it were packed whole
    vocabulary = Huge(["<unk>", "a"])
    last = 2**31 - 1
    ids = np.array([last, 5, 2**30, last, 5, 2**30, last, 5, 2**30])
    counts = count_ngrams(vocabulary, ids, 7)
    # the three 7-grams are different: they begin with last, 5 and 2**30
    assert counts.of(7).tolist() == [1, 1, 1]
    assert counts.trie.rows(7)[:, 0].tolist() == [5, 2**30, last]
    assert counts.trie.rows(2).tolist() == [[5, 2**30], [2**30, last], [last, 5]]
    assert counts.of(2).tolist() == [3, 2, 3]
    assert counts.distinct(1) == 3


def test_sorting_with_and_without_room_for_the_place_is_the_same():
    keys = np.array([7, 2**20, 3, 7, 0], np.uint64)
    for shift in (0, 43):  # 2**63 leaves no room
        sorted_keys, places = sort_with_places(keys << np.uint64(shift))
        assert (sorted_keys >> np.uint64(shift)).tolist() == [0, 3, 7, 7, 2**20]
        assert (keys[places] << np.uint64(shift)).tolist() == sorted_keys.tolist()
        assert sorted(places.tolist()) == [0, 1, 2, 3, 4]
    assert sort_with_places(np.empty(0, np.uint64))[1].tolist() == []


def test_an_empty_table_finds_nothing():
    trie = Trie(3, [np.empty(0, np.uint64)])
    assert trie.find(2, np.array([1]), np.array([2])).tolist() == [-1]
    assert trie.rows(2).shape == (0, 2)


def test_counting_twice_gives_the_same_bytes():
    ids = np.random.default_rng(1).integers(0, 50, 5000)
    vocabulary = Vocabulary(["<unk>", *(f"w{i}" for i in range(49))])
    a, b = (count_ngrams(vocabulary, ids, 4) for _ in range(2))
    for k in range(2, 5):
        assert a.trie.keys[k - 2].tobytes() == b.trie.keys[k - 2].tobytes()
        assert a.of(k).tobytes() == b.of(k).tobytes()


def test_texts_that_are_hardly_texts():
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a"])
    # everything one repeated word
    same = count_ngrams(vocabulary, np.full(10, 3), 3)
    assert [same.count(["a"] * k) for k in (1, 2, 3)] == [10, 9, 8]
    # empty lines: a sentence of nothing but its marks
    empty = count_ngrams(vocabulary, vocabulary.encode(["<s>", "</s>"] * 4), 3)
    assert empty.count(["<s>", "</s>"]) == 4
    assert empty.distinct(3) == 0
    # sentences shorter than the order
    short = vocabulary.encode(["<s>", "a", "</s>"] * 4)
    assert count_ngrams(vocabulary, short, 5).distinct(4) == 0


def test_bad_texts_and_orders_are_refused():
    vocabulary = Vocabulary(["<unk>", "<s>", "a"])
    with pytest.raises(ValueError, match="the text is empty"):
        count_ngrams(vocabulary, np.empty(0, np.int32), 2)
    with pytest.raises(ValueError, match="2 tokens, fewer than the order 3"):
        count_ngrams(vocabulary, np.array([2, 2]), 3)
    for order in (0, -1, 8):
        with pytest.raises(ValueError, match=f"order {order} is outside 1 to 7"):
            count_ngrams(vocabulary, np.array([2, 2]), order)
    with pytest.raises(ValueError, match=r"order 2\.0 is not an integer"):
        count_ngrams(vocabulary, np.array([2, 2]), 2.0)
    with pytest.raises(ValueError, match="nothing but '<s>'"):
        count_ngrams(vocabulary, np.array([1, 1, 1]), 2)
    with pytest.raises(ValueError, match="id 3 is outside 0 to 2"):
        count_ngrams(vocabulary, np.array([2, 3]), 1)
    counts = count_ngrams(vocabulary, np.array([2, 2]), 2)
    with pytest.raises(ValueError, match="of 3 words were not counted"):
        counts.count(["a", "a", "a"])
    with pytest.raises(ValueError, match="elements are characters"):
        counts.count("aa")
