"""What holds for every discounting method: sums, batches, a second implementation."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_oracle import SMOOTHED, Dictionaries, contexts_for, probability, texts

from lmlib.language_model import LanguageModel
from lmlib.ngrams import (
    DegenerateCounts,
    absolute_discounting,
    count_ngrams,
    katz,
    kneser_ney,
    maximum_likelihood,
    modified_kneser_ney,
    prune,
    witten_bell,
)
from lmlib.ngrams.smoothing import DiscountTable
from lmlib.vocabulary import Vocabulary

pytestmark = pytest.mark.filterwarnings(
    "ignore::lmlib.ngrams.smoothing.DegenerateCounts"
)


def check_distribution(model, ids):
    """Every context's probabilities sum to one, and none but <s>'s is zero."""
    rows = contexts_for(model.vocabulary, ids, max(1, model.context_size))
    log_p = model.next_log_probabilities(np.array(rows))
    assert np.exp(log_p).sum(axis=1) == pytest.approx(1, abs=1e-9)
    finite = np.isfinite(log_p)
    start = model.vocabulary.start_id
    if start is not None:
        assert not finite[:, start].any()
        finite[:, start] = True
    return bool(finite.all())


@given(texts(), st.sampled_from(sorted(SMOOTHED)))
@settings(max_examples=150, deadline=None)
def test_probabilities_of_every_context_sum_to_one_and_none_is_zero(text, method):
    vocabulary, ids, order = text
    model = SMOOTHED[method](count_ngrams(vocabulary, np.array(ids), order))
    assert check_distribution(model, ids)


@given(texts())
@settings(max_examples=40, deadline=None)
def test_maximum_likelihood_sums_to_one_too(text):
    vocabulary, ids, order = text
    check_distribution(
        maximum_likelihood(count_ngrams(vocabulary, np.array(ids), order)), ids
    )


@given(texts(shortest_order=2), st.sampled_from(sorted(SMOOTHED)), st.floats(0, 0.2))
@settings(max_examples=60, deadline=None)
def test_a_pruned_model_still_sums_to_one(text, method, threshold):
    vocabulary, ids, order = text
    model = SMOOTHED[method](count_ngrams(vocabulary, np.array(ids), order))
    assert check_distribution(prune(model, threshold), ids)


@given(texts(), texts(), st.sampled_from(sorted(SMOOTHED)), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_scoring_a_text_equals_asking_word_by_word(text, other, method, start):
    vocabulary, ids, order = text
    model = SMOOTHED[method](count_ngrams(vocabulary, np.array(ids), order))
    scored = np.array([i % len(vocabulary) for i in other[1]])
    start = min(start, len(scored))
    slowly = LanguageModel.token_log_probabilities(model, scored, start)
    quickly = model.token_log_probabilities(scored, start)
    np.testing.assert_allclose(quickly, slowly, rtol=1e-12, atol=1e-12)
    # and each row of (context, word) by itself
    windows = np.lib.stride_tricks.sliding_window_view(
        np.concatenate([np.full(order - 1, -1), scored]), order
    )[start:]
    if vocabulary.start_id is None:
        rows = model.last_log_probabilities(windows)
        np.testing.assert_allclose(rows, slowly, rtol=1e-12, atol=1e-12)


@given(
    texts(),
    st.sampled_from([absolute_discounting, katz, kneser_ney, modified_kneser_ney]),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_a_second_implementation_gives_the_same(text, method, interpolated):
    vocabulary, ids, order = text
    model = method(
        count_ngrams(vocabulary, np.array(ids), order), interpolated=interpolated
    )
    table = model.smoothing.discounts
    assert isinstance(model.smoothing, DiscountTable)

    def discount(order, count):
        row = table[order - 1]
        return float(row[min(count, len(row) - 1)])

    counted = Dictionaries(vocabulary, ids, order)
    count = counted.counts.__getitem__
    if method in (kneser_ney, modified_kneser_ney):
        count = counted.continuation
    for context in contexts_for(vocabulary, ids, max(1, order - 1))[:4]:
        answers = np.exp(model.next_log_probabilities(np.array([context]))[0])
        context = context[len(context) - (order - 1) :]
        cut = [i for i, w in enumerate(context) if w == counted.start]
        used = tuple(w for w in context[cut[-1] if cut else 0 :] if w >= 0)
        for word in counted.words:
            expected = probability(
                counted.words, count, discount, interpolated, used, word
            )
            assert answers[word] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_context_that_loses_nothing_lends_one_count():
    # Katz leaves counts above 5 alone. "a" is followed by "b" 9 times: its reserve
    # would be 0, so the total 9 counts as 10 and P(b | a) = 9/10.
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a", "b", "c", "d"])
    ids = vocabulary.encode((["<s>", "a", "b", "</s>"] * 9) + ["<s>", "c", "</s>"])
    with pytest.warns(DegenerateCounts):
        model = katz(count_ngrams(vocabulary, ids, 2))
    model.smoothing.discounts[1] = np.array([0, 0.5, 0.5, 0.5, 0.5, 0.5, 0])
    again = model.smoothing.estimate(interpolated=False)
    assert again.next_distribution(["a"])["b"] == pytest.approx(9 / 10)
    assert again.next_distribution(["a"])["d"] > 0


def test_a_context_after_which_every_word_was_seen_divides_by_the_sum():
    # after a: a, b, <unk> once each; D = 0.5 leaves each a share of 1/6, and no word
    # is left for the reserve of 1/2: the shares become 1/3.
    vocabulary = Vocabulary(["<unk>", "a", "b"])
    ids = vocabulary.encode("a a b a <unk> a".split())
    model = absolute_discounting(count_ngrams(vocabulary, ids, 2), 0.5, False)
    assert list(model.next_distribution(["a"]).values()) == pytest.approx([1 / 3] * 3)


def test_cutoffs_drop_ngrams_after_totals_were_taken():
    # after a: b twice, c once, total 3, D = 1/2: b keeps 1.5/3 = 0.5. Without "a c"
    # the rest, 0.5, is shared by back-off among all words but b.
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    ids = vocabulary.encode("a b a b a c b b".split())
    counts = count_ngrams(vocabulary, ids, 2)
    model = absolute_discounting(counts, 0.5, False, cutoffs=(0, 1))
    assert [model.trie.size(k) for k in (1, 2)] == [4, 2]  # "a b", "b a"; not "b b"
    p = model.next_distribution(["a"])
    assert p["b"] == pytest.approx(0.5)
    # unigrams: (c - 1/2) / 8 + (3/2 / 8) / 4: a 0.359375, c 0.109375, <unk> 0.046875
    assert p["c"] == pytest.approx(0.5 * 0.109375 / (0.359375 + 0.109375 + 0.046875))


def test_cutoffs_that_cannot_be_used_are_refused():
    vocabulary = Vocabulary(["<unk>", "a", "b"])
    counts = count_ngrams(vocabulary, vocabulary.encode("a b a".split()), 2)
    for cutoffs in [(1,), (0, -1), (0, 0, 1)]:
        with pytest.raises(ValueError, match=r"cut-offs .* for order 2"):
            witten_bell(counts, cutoffs=cutoffs)


@pytest.mark.parametrize("method", sorted(SMOOTHED))
@pytest.mark.parametrize(
    "text",
    [
        "<s> the cat sat on the mat </s>",  # a corpus on one line
        "<s> a </s> <s> a b </s>",  # sentences shorter than the order
        "<s> </s> <s> </s> <s> a </s>",  # empty lines
        "<s> a a a a a a a </s>",  # one repeated word
        "a b",  # no marks, and hardly a text
    ],
)
def test_texts_that_are_hardly_texts(method, text):
    vocabulary = Vocabulary(
        ["<unk>", "<s>", "</s>", *sorted(set("the cat a b".split()))]
    )
    ids = vocabulary.encode(text.split())
    for order in range(1, min(4, len(ids)) + 1):
        model = SMOOTHED[method](count_ngrams(vocabulary, ids, order))
        assert check_distribution(model, ids.tolist())
        alone = model.next_distribution(["<s>"])  # a context of <s> alone
        assert alone["<s>"] == 0


def test_warnings_are_announced_not_raised_deep_inside():
    vocabulary = Vocabulary(["<unk>", "a", "b"])
    counts = count_ngrams(vocabulary, vocabulary.encode("a b a".split()), 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        modified_kneser_ney(counts)
    assert {w.category for w in caught} == {DegenerateCounts}
    assert "3-grams of this text (n_1 = 1, n_2 = 0" in str(caught[-1].message)
    assert "0.5, 1.0 and 1.5" in str(caught[-1].message)
