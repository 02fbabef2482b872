"""Word classes by exchange and by merging, and the n-grams of classes."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_oracle import SMOOTHED, contexts_for, texts

from lmlib.ngrams import Additive, count_ngrams, modified_kneser_ney, witten_bell
from lmlib.ngrams.class_based import class_based
from lmlib.ngrams.class_pairs import ClassPairs, WordPairs
from lmlib.ngrams.classes import WordClasses
from lmlib.ngrams.exchange import exchange
from lmlib.ngrams.merging import _Window, merging
from lmlib.perplexity import evaluate
from lmlib.toy_world import ANIMALS, PLACES, ToyWorld
from lmlib.vocabulary import Vocabulary

pytestmark = pytest.mark.filterwarnings("ignore::lmlib.ngrams.DegenerateCounts")
METHODS = pytest.mark.parametrize("learn", [exchange, merging])


def log_likelihood(counts, of):
    """sum of log P(w | g(w)) P(g(w) | g(v)) over the pairs of a text, by dictionary."""
    pairs = Counter()
    for (v, w), count in zip(counts.trie.rows(2), counts.of(2), strict=True):
        pairs[int(v), int(w)] += int(count)
    classes, before, after, word = Counter(), Counter(), Counter(), Counter()
    for (v, w), count in pairs.items():
        classes[of[v], of[w]] += count
        before[of[v]] += count
        after[of[w]] += count
        word[w] += count
    return math.fsum(
        count
        * (
            math.log(word[w] / after[of[w]])
            + math.log(classes[of[v], of[w]] / before[of[v]])
        )
        for (v, w), count in pairs.items()
    )


def partitions(words, most):
    """Every way to put words into at most so many classes, each once."""
    for of in itertools.product(range(most), repeat=words):
        # class k is first used after class k - 1
        first = [of.index(k) for k in sorted(set(of))]
        if sorted(set(of)) == list(range(max(of) + 1)) and first == sorted(first):
            yield np.array(of)


@st.composite
def counted(draw):
    """Counts of a random text with at least two words to be classed."""
    vocabulary, ids, order = draw(
        texts(shortest_order=2).filter(
            lambda text: len(set(text[1]) - {text[0].start_id}) > 1
        )
    )
    return count_ngrams(vocabulary, np.array(ids), order), np.array(ids)


def of_text(text, order=2, words=None):
    """Counts of a text with all its words, or those given."""
    tokens = text.split()
    vocabulary = Vocabulary(words or sorted(set(tokens)), unknown=None)
    return count_ngrams(vocabulary, vocabulary.encode(tokens), order)


def groups(classes):
    """The words of each class as a set of sets: the numbers do not matter."""
    return {frozenset(words) for words in classes.class_words()}


@given(counted(), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_the_gain_of_a_move_is_the_difference_of_the_likelihoods(case, seed):
    counts, _ = case
    generator = np.random.default_rng(seed)
    pairs, number = WordPairs(counts), 3
    of = generator.integers(0, number, len(counts.vocabulary)).astype(np.int32)
    table = ClassPairs(pairs, of, number)
    assert table.log_likelihood == pytest.approx(log_likelihood(counts, of), abs=1e-9)
    word = int(generator.choice(pairs.by_frequency()))
    who = pairs.profile(word, of, number)
    table.add(who, int(of[word]), sign=-1)
    gains = table.gains(who)
    for to in range(number):
        moved = of.copy()
        moved[word] = to
        change = log_likelihood(counts, moved) - log_likelihood(counts, of)
        assert gains[to] - gains[of[word]] == pytest.approx(change, abs=1e-9)
    table.add(who, to)
    again = ClassPairs(pairs, moved, number)
    for name in ("rows", "columns", "followed", "follows"):
        assert (getattr(table, name) == getattr(again, name)).all()


def test_the_likelihood_by_hand():
    # a b a b: pairs ab, ba, ab. One class: every class pair is sure, and P(b) = 2/3
    # is drawn twice, P(a) = 1/3 once. A class each: all is sure.
    counts = of_text("a b a b")
    one = exchange(counts, 1)
    assert one.history[-1] == pytest.approx(2 * math.log(2 / 3) + math.log(1 / 3))
    assert exchange(counts, 2).history[-1] == pytest.approx(0)


@given(counted(), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_every_move_of_the_exchange_raises_the_likelihood(case, number):
    counts, _ = case
    number = min(number, len(WordPairs(counts).by_frequency()))
    steps = [exchange(counts, number, passes) for passes in range(4)]
    values = [log_likelihood(counts, step.of) for step in steps]
    for step, value in zip(steps, values, strict=True):
        assert step.history[-1] == pytest.approx(value, abs=1e-9)
    for (a, b), last in zip(itertools.pairwise(values), steps[1:], strict=True):
        # a pass that moved words gained; one that moved none changed nothing
        assert b > a if len(last.moves) and last.moves[-1] else b == a
    whole = exchange(counts, number).history
    assert all(b >= a for a, b in itertools.pairwise(whole))


@given(counted(), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_where_the_exchange_ends_no_single_move_gains(case, number):
    counts, _ = case
    words = WordPairs(counts).by_frequency()
    number = min(number, len(words))
    found = exchange(counts, number, passes=100)
    assert found.moves[-1] == 0
    best = log_likelihood(counts, found.of)
    for word, to in itertools.product(words.tolist(), range(number)):
        moved = found.of.copy()
        moved[word] = to
        assert log_likelihood(counts, moved) <= best + 1e-5


@given(st.integers(0, 10_000), st.integers(2, 3))
@settings(max_examples=15, deadline=None)
def test_no_search_beats_the_best_of_all_partitions(seed, number):
    generator = np.random.default_rng(seed)
    vocabulary = Vocabulary(list("abcdef"), unknown=None)
    ids = np.concatenate([np.arange(6), generator.integers(0, 6, 40)])
    counts = count_ngrams(vocabulary, ids, 2)
    best = max(log_likelihood(counts, of) for of in partitions(6, number))
    for learn in (exchange, merging):
        assert learn(counts, number).history[-1] <= best + 1e-9


@METHODS
def test_on_an_easy_text_the_best_of_all_partitions_is_found(learn):
    # articles, nouns and verbs: any article before any noun, any noun before any verb
    counts = of_text(
        "the cat sat the dog ran a dog sat a cat ran a cat sat the dog sat"
    )
    best = max(partitions(6, 3), key=lambda of: log_likelihood(counts, of))
    found = learn(counts, 3)
    assert found.history[-1] == pytest.approx(log_likelihood(counts, best))
    assert groups(found) == {
        frozenset(("the", "a")),
        frozenset(("cat", "dog")),
        frozenset(("sat", "ran")),
    }


def test_two_clear_categories_are_recovered():
    # ten consonants and five vowels take turns, each drawn at random
    generator = np.random.default_rng(0)
    tokens = [
        generator.choice(list("bcdfghjklm" if i % 2 == 0 else "aeiou"))
        for i in range(600)
    ]
    found = exchange(of_text(" ".join(tokens)), 2)
    assert groups(found) == {frozenset("bcdfghjklm"), frozenset("aeiou")}


@given(counted(), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_each_merge_is_the_one_that_loses_least(case, number):
    counts, _ = case
    pairs = WordPairs(counts)
    words = pairs.by_frequency()
    number = min(number, len(words))
    window = _Window(pairs, words, number)
    for word in words[number:].tolist():
        window.place(word)
        before = log_likelihood(counts, window.of)
        assert window.table.log_likelihood == pytest.approx(before, abs=1e-9)
        after = {}
        for i, j in itertools.permutations(range(number + 1), 2):
            merged = np.where(window.of == i, j, window.of)
            after[i, j] = log_likelihood(counts, merged)
            assert window.gain[i, j] == pytest.approx(after[i, j] - before, abs=1e-8)
        window.merge()
        best = max(after.values())
        assert log_likelihood(counts, window.of) == pytest.approx(best, abs=1e-8)
    found = merging(counts, number)
    value = log_likelihood(counts, found.of)
    assert found.history[-1] == pytest.approx(value, abs=1e-9)


def test_categories_of_the_toy_world_are_found_by_merging():
    world = ToyWorld()
    ids = world.vocabulary.encode(world.sample(1000, np.random.default_rng(0)))
    counts = count_ngrams(world.vocabulary, ids, 2)
    found = merging(counts, 30)
    assert set(found.of[ids]) == set(range(30))
    for words in ([a[1] for a in ANIMALS], PLACES):  # cats, dogs, ..; room, house, ..
        assert len(set(found.of[world.vocabulary.encode(words)])) == 1


@METHODS
def test_the_same_text_gives_the_same_classes(learn):
    counts = of_text(
        "the cat sat the dog ran a dog sat a cat ran a cat sat the dog sat"
    )
    once, twice = learn(counts, 4), learn(counts, 4)
    assert (once.of == twice.of).all()
    assert once.history == twice.history


def test_the_exchange_improves_what_merging_found():
    world = ToyWorld()
    ids = world.vocabulary.encode(world.sample(1000, np.random.default_rng(0)))
    counts = count_ngrams(world.vocabulary, ids, 2)
    merged = merging(counts, 40)
    better = exchange(counts, 40, start=merged)
    assert better.history[0] == pytest.approx(merged.history[-1])
    assert better.history[-1] > merged.history[-1]


@given(counted(), st.integers(1, 4), st.sampled_from(sorted(SMOOTHED)))
@settings(max_examples=60, deadline=None)
def test_probabilities_of_every_context_sum_to_one(case, number, name):
    counts, ids = case
    number = min(number, len(WordPairs(counts).by_frequency()))
    model = class_based(exchange(counts, number), ids, counts.order, SMOOTHED[name])
    contexts = np.array(contexts_for(counts.vocabulary, ids, counts.order - 1))
    log_p = model.next_log_probabilities(contexts)
    assert np.exp(log_p).sum(axis=1) == pytest.approx(1, abs=1e-9)
    possible = np.arange(len(counts.vocabulary)) != counts.vocabulary.start_id
    assert np.isfinite(log_p[:, possible]).all()
    assert np.isneginf(log_p[:, ~possible]).all()


@given(counted(), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_scoring_a_text_equals_scoring_its_tokens_one_by_one(case, number):
    counts, ids = case
    number = min(number, len(WordPairs(counts).by_frequency()))
    model = class_based(merging(counts, number), ids, counts.order)
    fast = model.token_log_probabilities(ids, 1)
    slow = super(type(model), model).token_log_probabilities(ids, 1)
    assert fast == pytest.approx(slow)


def test_a_class_trigram_by_hand():
    # classes {a, b} and {c, d}; the class text is XYXYXYXYXY. Additive with 1 on the
    # trigrams: XY was followed 4 times by X, so P(X | XY) = (4 + 1) / (4 + 2).
    # Witten-Bell on words: a occurs 3 times of 10, and 4 different words occur, so
    # P(a) = (3 + 4/5) / 14 of 5 words, P(b) = (2 + 4/5) / 14.
    vocabulary = Vocabulary(["<unk>", *"abcd"])
    ids = vocabulary.encode("a c b d a d b c a c".split())
    of = np.array([0, 0, 0, 1, 1], np.int32)  # <unk> sits with a and b
    classes = WordClasses(vocabulary, of, 2, np.bincount(ids, minlength=5))
    model = class_based(classes, ids, 3, lambda counts: Additive(counts, 1))
    p = model.next_distribution(["b", "c"])
    in_class = 3.8 + 2.8 + 0.8  # a, b, <unk>
    assert p["a"] == pytest.approx(5 / 6 * 3.8 / in_class)
    assert p["b"] == pytest.approx(5 / 6 * 2.8 / in_class)
    assert p["<unk>"] == pytest.approx(5 / 6 * 0.8 / in_class)
    assert p["c"] + p["d"] == pytest.approx(1 / 6)


def test_one_class_for_all_words_is_a_unigram_model():
    counts = of_text("a b a c a b d a", order=3)
    ids = counts.vocabulary.encode("a b a c a b d a".split())
    model = class_based(exchange(counts, 1), ids, 3)
    unigrams = witten_bell(counts.upto(1)).next_distribution([])
    assert model.next_distribution(["b", "a"]) == pytest.approx(unigrams)


def test_a_class_for_each_word_is_the_word_model():
    tokens = "the cat sat on the mat and the dog sat on the cat".split()
    counts = of_text(" ".join(tokens), order=3)
    ids = counts.vocabulary.encode(tokens)
    classes = exchange(counts, len(counts.vocabulary))
    model = class_based(classes, ids, 3, modified_kneser_ney)
    expected = modified_kneser_ney(counts).token_log_probabilities(ids)
    assert model.token_log_probabilities(ids) == pytest.approx(expected)


def test_classes_predict_better_than_words_where_text_is_short():
    world = ToyWorld()
    text, held_out = (
        world.vocabulary.encode(world.sample(n, np.random.default_rng(n)))
        for n in (300, 1000)
    )
    counts = count_ngrams(world.vocabulary, text, 3)
    words = evaluate(modified_kneser_ney(counts), held_out)
    classes = class_based(merging(counts, 30), text, 3, modified_kneser_ney)
    assert evaluate(classes, held_out) < words


def test_words_that_the_text_lacks_join_the_unknown_symbol():
    vocabulary = Vocabulary(["<unk>", "a", "b", "never", "nowhere"])
    ids = vocabulary.encode("a b a b what a b".split())
    classes = exchange(count_ngrams(vocabulary, ids, 2), 3)
    assert ["<unk>", "never", "nowhere"] in classes.class_words()
    p = class_based(classes, ids, 2).next_distribution(["b"])
    assert p["never"] == p["nowhere"] > 0


def test_without_an_unknown_symbol_they_join_the_class_of_words_seen_once():
    text = "x p x q x r x x p"
    vocabulary = Vocabulary([*"pqrx", "never"], unknown=None)
    classes = exchange(of_text(text, words=vocabulary.words), 2)
    assert groups(classes) == {frozenset("x"), frozenset([*"pqr", "never"])}


def test_sentence_starts_are_a_class_of_their_own_and_never_predicted():
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a", "b"])
    ids = vocabulary.encode("<s> a b </s> <s> b a </s> <s> what </s>".split())
    classes = merging(count_ngrams(vocabulary, ids, 2), 2)
    assert classes.number == 3
    assert classes.class_words()[-1] == ["<s>"]
    assert classes.class_vocabulary.start_id == 2
    p = class_based(classes, ids, 3).next_distribution(["<s>", "a"])
    assert p["<s>"] == 0
    assert sum(p.values()) == pytest.approx(1, abs=1e-9)


def test_the_words_of_a_class_come_by_frequency():
    counts = of_text("c c a c a c a b c c b a")
    classes = exchange(counts, 1)
    assert classes.class_words() == [["c", "a", "b"]]
    assert classes.class_words(2) == [["c", "a"]]
    assert classes.class_vocabulary.words == ("{c}",)


def test_an_explanation_tells_the_two_factors():
    text = "on monday morning on tuesday evening on monday evening"
    counts = of_text(text, order=3)
    ids = counts.vocabulary.encode(text.split())
    model = class_based(exchange(counts, 3), ids, 3)
    told = model.explain(["on", "tuesday"], "morning")
    expected = model.next_distribution(["on", "tuesday"])["morning"]
    assert told.probability == pytest.approx(expected)
    assert "P({evening} | {on} {monday})" in str(told)
    assert "morning of that class" in str(told)
    plain = class_based(exchange(counts, 3), ids, 3, Additive)
    with pytest.raises(ValueError, match="only a BackoffModel explains itself"):
        plain.explain(["on"], "morning")


def test_what_makes_no_sense_is_refused():
    counts = of_text("a b c a b")
    classes = exchange(counts, 2)
    for learn in (exchange, merging):
        with pytest.raises(ValueError, match="of the 3 different words"):
            learn(counts, 4)
        with pytest.raises(ValueError, match="expected 1 to 3"):
            learn(counts, 0)
        with pytest.raises(ValueError, match=r"2\.5 classes: expected an integer"):
            learn(counts, 2.5)
        with pytest.raises(ValueError, match="order 2 or more"):
            learn(counts.upto(1), 2)
    with pytest.raises(ValueError, match="passes=-1"):
        exchange(counts, 2, passes=-1)
    with pytest.raises(ValueError, match="cannot start from 2 classes of 3 words"):
        exchange(counts, 3, start=classes)
    other = of_text("a b a b", words=list("abc"))
    apart = replace(classes, of=np.array([0, 0, 1], np.int32))
    with pytest.raises(ValueError, match="class 1 of the start holds no word"):
        exchange(other, 2, start=apart)
    with pytest.raises(ValueError, match="are not the 2 classes"):
        type(class_based(classes, np.array([0, 1, 2]), 2))(
            classes, modified_kneser_ney(counts), np.zeros(3)
        )
    with pytest.raises(ValueError, match="class 2 of 3 has no word"):
        replace(classes, number=3)
    with pytest.raises(ValueError, match="'c' is in class 5, outside 0 to 1"):
        replace(classes, of=np.array([0, 1, 5], np.int32))
    with pytest.raises(ValueError, match="one of each for the 3 words"):
        replace(classes, of=np.array([0, 1], np.int32))
    marked = Vocabulary(["<s>", "a"], unknown=None)
    with pytest.raises(ValueError, match="'<s>' shares its class with 1 words"):
        WordClasses(marked, np.zeros(2, np.int32), 1, np.ones(2, np.int64))
    start_first = WordClasses(marked, np.array([0, 1], np.int32), 2, np.array([0, 3]))
    sentences = count_ngrams(marked, np.array([0, 1, 1, 0, 1]), 2)
    with pytest.raises(ValueError, match=r"'<s>' is class 0 .* expected the last, 1"):
        exchange(sentences, 1, start=start_first)
