"""Stupid back-off by hand; that it is no probability."""

import numpy as np
import pytest
from hypothesis import given, settings
from ngram_oracle import texts

from lmlib.language_model import LanguageModel
from lmlib.ngrams import StupidBackoff, count_ngrams
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def scores():
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    return StupidBackoff(
        count_ngrams(vocabulary, vocabulary.encode("a b a b a c b".split()), 3)
    )


def ask(scores, context, word):
    ids = scores.vocabulary.encode(context)[None, :]
    return np.exp(scores.next_log_scores(ids))[0, scores.vocabulary.id(word)]


def test_scores_by_hand(scores):
    # "a b a" 2 times and "a b" is followed 2 times; "b a b" 1 of 2
    assert ask(scores, ["a", "b"], "a") == pytest.approx(2 / 2)
    assert ask(scores, ["b", "a"], "b") == pytest.approx(1 / 2)
    # "a b b" is new, "b b" too: 0.4 * 0.4 * 3/7
    assert ask(scores, ["a", "b"], "b") == pytest.approx(0.4 * 0.4 * 3 / 7)
    # "c a" was never seen: a factor for that too, then "a b" 2 of 3
    assert ask(scores, ["c", "a"], "b") == pytest.approx(0.4 * 2 / 3)
    # with one word of context there is one order less to leave
    assert ask(scores, ["a"], "b") == pytest.approx(2 / 3)
    assert ask(scores, ["a", "b"], "<unk>") == 0


def test_scores_do_not_sum_to_one_and_the_type_says_so(scores):
    total = sum(ask(scores, ["b", "a"], w) for w in scores.vocabulary.words)
    # b 1/2 and c 1/2 as seen, a 0.4 * 0.4 * 3/7
    assert total == pytest.approx(1 + 0.16 * 3 / 7)
    assert not isinstance(scores, LanguageModel)


@given(texts(), texts())
@settings(max_examples=40, deadline=None)
def test_batches_equal_the_recursion(text, other):
    vocabulary, ids, order = text
    counts = count_ngrams(vocabulary, np.array(ids), order)
    model = StupidBackoff(counts)
    scored = [i % len(vocabulary) for i in other[1]]

    def score(context, word):
        if not context:
            return counts.of(1)[word] / counts.tokens
        gram = vocabulary.decode([*context, word])
        seen = counts.count(gram) if vocabulary.start_id != word else 0
        if seen:
            parent = [
                counts.count([*gram[:-1], w]) for w in vocabulary.words if w != "<s>"
            ]
            return seen / sum(parent)
        return 0.4 * score(context[1:], word)

    found = np.exp(model.token_log_scores(np.array(scored)))
    for t, word in enumerate(scored):
        context = scored[max(0, t - order + 1) : t]
        if vocabulary.start_id in context:
            last = len(context) - 1 - context[::-1].index(vocabulary.start_id)
            context = context[last:]
        assert found[t] == pytest.approx(score(context, word))


def test_explanations_name_the_factors(scores):
    text = str(scores.explain(["c", "a"], "b"))
    assert 'the context "c a" is not in the table; back off, with weight 0.4' in text
    assert scores.explain(["c", "a"], "b").probability == pytest.approx(0.4 * 2 / 3)


@pytest.mark.parametrize("factor", [0, 1.1, -1])
def test_unusable_factors_are_refused(scores, factor):
    with pytest.raises(ValueError, match=f"factor={factor}: expected above 0"):
        StupidBackoff(scores.counts, factor)
