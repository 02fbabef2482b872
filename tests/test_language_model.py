"""The interface: contexts, chain rule, errors. A table model serves as the example."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.language_model import NO_WORD, LanguageModel, check_contexts, context_windows
from lmlib.vocabulary import Vocabulary


class Table(LanguageModel):
    """P(w | last word) read from rows; row -1 answers an empty context."""

    def __init__(self, words, rows):
        self.vocabulary = Vocabulary(words)
        self.context_size = 1
        self.rows = np.asarray(rows, float)

    def next_log_probabilities(self, contexts):
        contexts = check_contexts(self.vocabulary, contexts, 1)
        last = contexts[:, -1] if contexts.shape[1] else np.full(len(contexts), NO_WORD)
        with np.errstate(divide="ignore"):
            return np.log(self.rows[last])


@pytest.fixture
def table():
    # after <unk>: b; after a: b or <unk>; after b: a; at the beginning: a
    rows = [[0, 0, 1], [0.25, 0, 0.75], [0, 1, 0], [0, 1, 0]]
    return Table(["<unk>", "a", "b"], rows)


def test_the_chain_rule_multiplies_next_word_probabilities(table):
    # P(a) P(b | a) P(a | b) P(<unk> | a) = 1 * 3/4 * 1 * 1/4
    ids = table.vocabulary.encode(["a", "b", "a", "x"])
    assert table.log_probability(ids) == pytest.approx(math.log(3 / 16))
    assert np.exp(table.token_log_probabilities(ids, 2)) == pytest.approx([1, 1 / 4])


def test_next_distribution_reads_by_word_most_probable_first(table):
    answer = table.next_distribution(["a"])
    assert answer == pytest.approx({"b": 0.75, "<unk>": 0.25, "a": 0.0})
    assert list(answer) == ["b", "<unk>", "a"]
    with pytest.raises(ValueError, match="elements are characters"):
        table.next_distribution("a")


def test_windows_show_the_words_before_each_position():
    #  position 0 has nothing before it, position 3 has 5 6 7
    windows = context_windows(np.array([5, 6, 7, 8]), 3)
    assert windows.tolist() == [[-1, -1, -1], [-1, -1, 5], [-1, 5, 6], [5, 6, 7]]


def test_windows_do_not_reach_across_a_sentence_start():
    windows = context_windows(np.array([9, 1, 2, 9, 3, 4]), 3, boundary=9)
    # before 3 stands only its own <s>; before the second <s> the first sentence
    assert windows[3].tolist() == [9, 1, 2]
    assert windows[4].tolist() == [-1, -1, 9]
    assert windows[5].tolist() == [-1, 9, 3]


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.integers(0, 5),
    st.sampled_from([None, 0]),
)
@settings(max_examples=150, deadline=None)
def test_windows_equal_a_slow_reading(ids, width, boundary):
    windows = context_windows(np.array(ids), width, boundary)
    for t, row in enumerate(windows.tolist()):
        want = ids[max(0, t - width) : t]
        if boundary in want:
            want = want[len(want) - 1 - want[::-1].index(boundary) :]
        assert row == [NO_WORD] * (width - len(want)) + want


def test_bad_texts_and_contexts_are_refused(table):
    with pytest.raises(ValueError, match="id 7 is outside 0 to 2"):
        table.token_log_probabilities(np.array([1, 7]))
    with pytest.raises(ValueError, match=r"one row of ids, got .*\(1, 2\)"):
        table.token_log_probabilities(np.array([[1, 2]]))
    with pytest.raises(ValueError, match="start=3 is outside the text of 2 tokens"):
        table.token_log_probabilities(np.array([1, 2]), start=3)
    with pytest.raises(ValueError, match=r"shape \(2,\): expected \(B, k\)"):
        table.next_log_probabilities(np.array([1, 2]))
    with pytest.raises(ValueError, match="id -2 is outside"):
        table.next_log_probabilities(np.array([[-2]]))
