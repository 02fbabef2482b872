"""Explanations: the order that answered, every number, and that they multiply."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_oracle import SMOOTHED, texts

from lmlib.ngrams import (
    absolute_discounting,
    count_ngrams,
    kneser_ney,
    maximum_likelihood,
    read_arpa,
    write_arpa,
)
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def counts():
    # a is followed by b, b, c; 7 tokens: a 3, b 3, c 1
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    return count_ngrams(vocabulary, vocabulary.encode("a b a b a c b".split()), 2)


def test_an_interpolated_answer_in_words(counts):
    # words: (3 - 0.5) / 7 = 0.3571, + 1.5/7 * 1/4 = 0.4107
    # after a: (2 - 0.5) / 3 = 0.5, + (1/3) * 0.4107 = 0.6369
    model = absolute_discounting(counts, 0.5)
    assert str(model.explain(["a"], "b")) == (
        "P(b | a) = 0.6369; order 2 answers.\n"
        '  Order 2: "a b" was counted 2 times;\n'
        "    less the discount 0.5, of 3 in all: 0.5;\n"
        "    plus the reserve 0.3333 times order 1's 0.4107: 0.6369.\n"
        '  Order 1: "b" was counted 3 times;\n'
        "    less the discount 0.5, of 7 in all: 0.3571;\n"
        "    plus the reserve 0.2143 times the uniform one's 0.25: 0.4107."
    )


def test_a_back_off_in_words(counts):
    # after a, b and c keep 0.5 + 0.1667; a gets 1/3 * 0.4107 / (0.4107 + 0.0536)
    model = absolute_discounting(counts, 0.5, interpolated=False)
    explanation = model.explain(["c", "a"], "a")
    weight = 1 / 3 / (2.875 / 7 + 0.375 / 7)
    assert str(explanation) == (
        "P(a | a) = 0.2949; order 1 answers.\n"
        f'  Order 2: "a a" is not in the table; back off, with weight {weight:.4g}.\n'
        '  Order 1: "a" was counted 3 times;\n'
        "    less the discount 0.5, of 7 in all: 0.3571;\n"
        "    plus the reserve 0.2143 times the uniform one's 0.25: 0.4107.\n"
        f"  Together: {weight:.4g} x 0.4107 = 0.2949."
    )
    assert explanation.order == 1
    assert explanation.probability == pytest.approx(weight * 2.875 / 7)


def test_continuation_counts_and_unknown_words_are_called_so(counts):
    text = str(kneser_ney(counts, 0.5).explain(["a"], "zebra"))
    assert "P(<unk> | a)" in text
    assert "stands for an unknown word" in text
    text = str(kneser_ney(counts, 0.5).explain([], "b"))
    assert '"b" has the continuation count 2' in text  # after a and c


def test_a_context_never_seen_has_weight_one(counts):
    ids = counts.vocabulary.encode("a b a b a c b".split())
    model = absolute_discounting(count_ngrams(counts.vocabulary, ids, 3), 0.5)
    told = model.explain(["c", "c"], "b")
    assert [step.back_off for step in told.steps[:1]] == [1]
    assert 'the context "c c" is not in the table; back off, with weight 1' in str(told)


@given(texts(), st.sampled_from(sorted(SMOOTHED)), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
@pytest.mark.filterwarnings("ignore::lmlib.ngrams.smoothing.DegenerateCounts")
def test_the_steps_multiply_to_what_the_model_answers(text, method, seed):
    vocabulary, ids, order = text
    model = SMOOTHED[method](count_ngrams(vocabulary, np.array(ids), order))
    rng = np.random.default_rng(seed)
    context = vocabulary.decode(rng.integers(0, len(vocabulary), 3))
    word = rng.choice([w for w in vocabulary.words if w != "<s>"])
    told = model.explain(context, word)
    asked = model.next_log_probabilities(vocabulary.encode(context)[None, :])
    assert told.log_probability == pytest.approx(asked[0, vocabulary.id(word)])
    product = math.prod(s.back_off for s in told.steps if not s.found)
    answer = next(s for s in told.steps if s.found)
    assert told.order == answer.order
    assert told.probability == pytest.approx(product * answer.probability)
    # the counts, worked out again, give the probability in the table
    for i, step in enumerate(told.steps):
        d = step.discounted
        if not step.found or d is None or (", cut" in method and step.order > 1):
            continue
        below = 1 / (len(vocabulary) - ("<s>" in vocabulary))
        if step.order > 1 and model.interpolated:
            below = told.steps[i + 1].probability
        if model.interpolated or step.order == 1:
            expected = d.share + d.reserve * below
            assert step.probability == pytest.approx(expected)


def test_the_order_is_the_one_that_scoring_reports(counts):
    model = absolute_discounting(counts, 0.5)
    tokens = "a b b a c".split()
    matched = model.score(counts.vocabulary.encode(tokens))[1]
    told = [model.explain(tokens[max(0, i - 1) : i], w) for i, w in enumerate(tokens)]
    assert matched.tolist() == [e.order for e in told] == [1, 2, 1, 2, 2]


def test_a_model_from_a_file_is_explained_without_its_counts(counts, tmp_path):
    model = absolute_discounting(counts, 0.5)
    write_arpa(model, tmp_path / "m.arpa")
    told = read_arpa(tmp_path / "m.arpa").explain(["a"], "b")
    assert str(told) == (
        'P(b | a) = 0.6369; order 2 answers.\n  Order 2: "a b" is in the table: 0.6369.'
    )


def test_an_impossible_word_is_explained_too(counts):
    told = maximum_likelihood(counts).explain(["a"], "a")
    assert told.log_probability == -math.inf
    assert "back off, with weight 0" in str(told)


def test_questions_without_sense_are_refused():
    vocabulary = Vocabulary(["<unk>", "<s>", "a"])
    model = absolute_discounting(count_ngrams(vocabulary, np.array([1, 2, 2]), 2), 0.5)
    with pytest.raises(ValueError, match="starts a sentence and is never predicted"):
        model.explain(["a"], "<s>")
    with pytest.raises(ValueError, match="elements are characters"):
        model.explain("a", "a")
