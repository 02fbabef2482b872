"""word2vec: each loss against the paper's sum over pairs; drawing, codes, learning."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib import corpora, toy_world
from lmlib.analogies import solve, solve_relations
from lmlib.clusters import category_purity
from lmlib.embeddings import Embeddings
from lmlib.vocabulary import Vocabulary
from lmlib.word2vec import (
    AliasTable,
    HuffmanTree,
    Word2VecConfig,
    keep_probabilities,
    noise_distribution,
    train_word2vec,
)
from lmlib.word2vec.model import _descend
from lmlib.word2vec.objectives import (
    Part,
    Tree,
    cbow_negative,
    cbow_tree,
    skip_gram_negative,
    skip_gram_tree,
)
from lmlib.word2vec.windows import STRETCH, TextBlocks

WORDS = 9
COUNTS = np.array([50, 20, 9, 7, 7, 3, 2, 1, 1])


# --- drawing words -------------------------------------------------------------------


def test_alias_sampling_passes_a_chi_square_test(optional):
    stats = optional("scipy.stats")
    weights = np.array([5, 0, 1, 1, 2.5, 0.5])
    table = AliasTable(weights)
    drawn = np.bincount(table.sample(100_000, np.random.default_rng(0)), minlength=6)
    assert drawn[1] == 0  # a word of probability zero is never drawn
    seen = weights > 0
    expected = 100_000 * weights[seen] / weights.sum()
    # With a correct table p is uniform on 0..1: this fixed seed is no rare one.
    assert stats.chisquare(drawn[seen], expected).pvalue > 0.01


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=40).filter(lambda w: sum(w) > 0)
)
def test_the_columns_of_the_alias_table_add_up_to_the_weights(weights):
    table = AliasTable(weights)
    # Column i gives threshold[i] of its area to i, and the rest to alias[i].
    mass = table.threshold.copy()
    np.add.at(mass, table.alias, 1 - table.threshold)
    expected = np.array(weights) / sum(weights)
    np.testing.assert_allclose(mass / len(weights), expected, atol=1e-12)


def test_noise_is_the_unigram_distribution_flattened():
    # 16^0.75 = 8 and 1^0.75 = 1: 8/9 and 1/9, where the unigrams are 16/17 and 1/17.
    np.testing.assert_allclose(noise_distribution([16, 1, 0]), [8 / 9, 1 / 9, 0])
    np.testing.assert_allclose(noise_distribution([16, 1, 0], 0), [1 / 2, 1 / 2, 0])


def test_frequent_words_are_dropped_and_rare_ones_kept():
    # f = 0.9 and 0.1, t = 0.1: sqrt(1/9) + 1/9 = 4/9, and 1 + 1 is cut to 1.
    np.testing.assert_allclose(keep_probabilities([90, 10], 0.1), [4 / 9, 1])
    assert keep_probabilities([90, 10], 0).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([], "one number for each"),
        ([1, -1], "-1.0 at position 1"),
        ([0, 0], "all zero"),
    ],
)
def test_weights_that_are_no_distribution_are_refused(weights, words):
    with pytest.raises(ValueError, match=words):
        AliasTable(weights)
    with pytest.raises(ValueError, match=words):
        HuffmanTree(weights)


def test_settings_of_the_sampling_are_checked():
    with pytest.raises(ValueError, match="power=2 of the noise is outside 0"):
        noise_distribution([1, 2], 2)
    with pytest.raises(ValueError, match=r"subsample=-0\.1 is below zero"):
        keep_probabilities([1, 2], -0.1)


# --- the tree ------------------------------------------------------------------------


def test_a_small_tree_by_hand():
    # 1 + 1 -> node 0 (2); 2 + 3 -> node 1 (5), the rarer branch being bit 1.
    tree = HuffmanTree([3, 1, 1])
    assert [tree.code(w) for w in range(3)] == ["0", "11", "10"]
    assert tree.nodes.tolist() == [[1, 0], [1, 0], [1, 0]]
    assert tree.on_path.tolist() == [[1, 0], [1, 1], [1, 1]]
    assert tree.expected_length == pytest.approx(3 / 5 * 1 + 2 / 5 * 2)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=60))
def test_codes_are_prefix_free_and_within_one_bit_of_the_entropy(counts):
    tree = HuffmanTree(counts)
    codes = [tree.code(word) for word in range(len(counts))]
    # In sorted order, a prefix stands right before one of the codes that it begins.
    ordered = sorted(codes)
    assert not any(b.startswith(a) for a, b in itertools.pairwise(ordered))
    # A full binary tree wastes nothing: Kraft's sum is exactly one.
    assert math.fsum(2.0 ** -len(code) for code in codes) == 1
    p = np.array(counts) / sum(counts)
    entropy = -(p * np.log2(p)).sum()
    assert entropy - 1e-9 <= tree.expected_length < entropy + 1
    assert sorted(set(tree.nodes[tree.on_path == 1])) == list(range(len(counts) - 1))


def test_a_tree_of_one_word_is_refused():
    with pytest.raises(ValueError, match="at least two words"):
        HuffmanTree([4])


# --- windows -------------------------------------------------------------------------


def pairs_in(blocks):
    """(word, neighbour) pairs of the blocks, with repetition."""
    mask = blocks.mask()
    found = Counter()
    for b, t, s in mask.nonzero().tolist():
        found[int(blocks.targets[b, t]), int(blocks.columns[b, s])] += 1
    return found


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(1, 4))
def test_blocks_hold_every_pair_within_the_window_once(lengths, window):
    generator = np.random.default_rng(sum(lengths))
    texts = [generator.permutation(1000)[:n] for n in lengths]
    text = TextBlocks(texts, window, np.ones(1000), dynamic=False)
    expected = Counter(
        (int(row[t]), int(row[s]))
        for row in texts
        for t in range(len(row))
        for s in range(max(0, t - window), min(len(row), t + window + 1))
        if s != t
    )
    found = Counter()
    for blocks, _ in text.epoch(2, generator, torch.float64):
        found += pairs_in(blocks)
    assert found == expected  # so none reaches from one text into another


def test_the_dynamic_window_weights_near_words_more():
    text = TextBlocks([np.arange(60_000)], 3, np.ones(60_000))
    at = Counter()
    for blocks, _ in text.epoch(64, np.random.default_rng(0), torch.float32):
        at += Counter(
            {int(o): int(n) for o, n in enumerate(blocks.windows.sum((0, 1)))}
        )
    # Distance d is inside windows of d..3: 3/3, 2/3 and 1/3 of the time. A share over
    # 60,000 draws has a standard error of at most 0.002; the tolerance is five.
    shares = [at[o] / 60_000 for o in range(7)]
    expected = [1 / 3, 2 / 3, 1, 0, 1, 2 / 3, 1 / 3]
    np.testing.assert_allclose(shares, expected, atol=0.01)


def test_subsampling_keeps_the_share_it_should():
    keep = np.array([0.1, 0.9])
    text = TextBlocks([np.tile([0, 1], 20_000)], 1, keep)
    seen = torch.zeros(2)
    for blocks, _ in text.epoch(64, np.random.default_rng(0), torch.float32):
        used = blocks.windows.sum(2) > 0
        seen += torch.bincount(blocks.targets[used], minlength=2)
    # Standard error sqrt(0.1 * 0.9 / 20,000) = 0.002.
    np.testing.assert_allclose(seen / 20_000, keep, atol=0.01)


def test_a_pass_in_which_no_word_survives_is_empty():
    text = TextBlocks([np.arange(9)], 1, np.zeros(9))
    assert list(text.epoch(4, np.random.default_rng(0), torch.float32)) == []


# --- the four losses -----------------------------------------------------------------


def example(seed=0):
    """Blocks of three short texts, tables and noise in float64."""
    generator = np.random.default_rng(seed)
    texts = [generator.integers(0, WORDS, n) for n in (40, 1, 7)]
    text = TextBlocks(texts, 3, np.ones(WORDS))
    ((blocks, _),) = text.epoch(9, generator, torch.float64)
    C = torch.from_numpy(generator.normal(size=(WORDS, 4)))
    V = torch.from_numpy(generator.normal(size=(WORDS, 4)))
    noise = torch.from_numpy(generator.integers(0, WORDS, (len(blocks.columns), 6)))
    return blocks, C, V, noise


def predictors(blocks, C, architecture):
    """(block, target word, input vector) for each prediction, one at a time."""
    for b in range(len(blocks.columns)):
        for t in range(STRETCH):
            window = blocks.windows[b, t].nonzero()[:, 0] + t
            rows = [C[blocks.columns[b, s]] for s in window]
            if architecture == "cbow" and rows:
                rows = [torch.stack(rows).mean(0)]
            for h in rows:
                yield b, int(blocks.targets[b, t]), h


def negative_sampling(blocks, C, V, noise, k, architecture):
    """Eq. 4 of Mikolov et al. 2013b, pair by pair."""
    total = torch.zeros((), dtype=C.dtype)
    for b, target, h in predictors(blocks, C, architecture):
        total = total - F.logsigmoid(V[target] @ h)
        total = total - k * F.logsigmoid(-(V[noise[b]] @ h)).mean()
    return total


def hierarchical(blocks, C, V, tree, architecture):
    """-log of eq. 3's product of decisions, pair by pair."""
    total = torch.zeros((), dtype=C.dtype)
    for _, target, h in predictors(blocks, C, architecture):
        for node, bit in zip(tree.nodes[target], tree.code(target), strict=False):
            p_zero = torch.sigmoid(V[node] @ h)
            total = total - torch.log(p_zero if bit == "0" else 1 - p_zero)
    return total


def dense(parts, table):
    """The parts of a gradient added up in the whole table's shape."""
    result = torch.zeros_like(table)
    for part in parts:
        result.index_add_(0, part.rows, part.gradient)
    return result


def check(found, oracle, C, V):
    expected = torch.autograd.grad(oracle, (C, V))
    torch.testing.assert_close(found.loss, oracle.detach())
    torch.testing.assert_close(dense([found.inputs], C), expected[0])
    torch.testing.assert_close(dense(found.outputs, V), expected[1])


@pytest.mark.parametrize(
    ("objective", "architecture"),
    [(skip_gram_negative, "skip-gram"), (cbow_negative, "cbow")],
)
def test_negative_sampling_is_the_sum_over_pairs_and_so_is_its_gradient(
    objective, architecture
):
    blocks, C, V, noise = example()
    found = objective(blocks, C, V, noise, 5)
    C.requires_grad_(), V.requires_grad_()
    check(found, negative_sampling(blocks, C, V, noise, 5, architecture), C, V)
    count = len(list(predictors(blocks, C, architecture)))
    assert found.predictions == count


@pytest.mark.parametrize(
    ("objective", "architecture"), [(skip_gram_tree, "skip-gram"), (cbow_tree, "cbow")]
)
def test_hierarchical_softmax_is_the_sum_over_pairs_and_so_is_its_gradient(
    objective, architecture
):
    blocks, C, V, _ = example()
    V = V[: WORDS - 1]
    huffman = HuffmanTree(COUNTS)
    signs = torch.from_numpy((1.0 - 2 * huffman.bits) * huffman.on_path)
    found = objective(blocks, C, V, Tree(torch.from_numpy(huffman.nodes), signs))
    C.requires_grad_(), V.requires_grad_()
    check(found, hierarchical(blocks, C, V, huffman, architecture), C, V)


@pytest.mark.parametrize("objective", [skip_gram_negative, cbow_negative])
def test_gradients_agree_with_finite_differences(objective):
    blocks, C, V, noise = example(seed=1)
    found = objective(blocks, C, V, noise, 2)
    step = 1e-5
    for table, parts in ((C, [found.inputs]), (V, found.outputs)):
        gradient = dense(parts, table)
        for at in ((0, 0), (3, 2), (8, 3)):
            kept = float(table[at])
            table[at] = kept + step
            above = objective(blocks, C, V, noise, 2).loss
            table[at] = kept - step
            below = objective(blocks, C, V, noise, 2).loss
            table[at] = kept
            # The error of a central difference is of order step^2 = 1e-10.
            assert float(above - below) / (2 * step) == pytest.approx(
                float(gradient[at]), rel=1e-6, abs=1e-6
            )


def test_the_trees_probabilities_sum_to_one():
    tree = HuffmanTree(COUNTS)
    V = np.random.default_rng(0).normal(size=(WORDS - 1, 4))
    h = np.random.default_rng(1).normal(size=4)
    p_zero = 1 / (1 + np.exp(-V @ h))
    total = 0.0
    for word in range(WORDS):
        bits = zip(tree.nodes[word], tree.code(word), strict=False)
        total += math.prod(p_zero[n] if b == "0" else 1 - p_zero[n] for n, b in bits)
    assert total == pytest.approx(1)


def test_the_loss_is_left_out_when_nobody_asked():
    blocks, C, V, noise = example()
    quiet = skip_gram_negative(blocks, C, V, noise, 5, with_loss=False)
    assert quiet.loss is None
    loud = skip_gram_negative(blocks, C, V, noise, 5)
    torch.testing.assert_close(quiet.inputs.gradient, loud.inputs.gradient)


def test_a_step_adds_up_repeated_rows():
    table = torch.zeros(3, 2)
    part = Part(torch.tensor([2, 0, 2]), torch.tensor([[1.0, 2], [3, 4], [5, 6]]))
    _descend(table, [part], torch.tensor([-1.0, -1.0, -0.5]))
    assert table.tolist() == [[-3, -4], [0, 0], [-3, -4]]  # -(1 + 5) / 2, -(2 + 6) / 2


# --- training ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    """The toy world: vocabulary and sentences."""
    corpus = corpora.toy(sentences=10_000)
    vocabulary = corpus.vocabulary()
    ids = vocabulary.encode(corpus.tokens)
    ends = np.flatnonzero(ids == vocabulary.id(toy_world.STOP)) + 1
    return vocabulary, [text for text in np.split(ids, ends) if len(text)]


@pytest.fixture(scope="module")
def toy_vectors(toy):
    """Skip-gram's vectors of the toy world."""
    config = Word2VecConfig(
        dimension=50,
        window=3,
        dynamic=False,
        subsample=0,
        batch=256,
        epochs=8,
        rate=0.1,
    )
    vocabulary, texts = toy
    return Embeddings(vocabulary, train_word2vec(vocabulary, texts, config).C.numpy())


def test_skip_gram_recovers_the_grammars_categories(toy_vectors, optional):
    optional("sklearn")
    categories = toy_world.categories()
    # With as many clusters as categories, k-means rather parts "his" people from "her"
    # people, which is a category too, and merges two others. One more, and all is well.
    assert category_purity(toy_vectors, categories) >= 0.9
    assert category_purity(toy_vectors, categories, k=14) >= 0.95


def test_king_minus_man_plus_woman_is_queen(toy_vectors):
    found = solve(toy_vectors, [("man", "woman", "king", "queen")])
    assert found.answers == ("queen",)


def test_skip_gram_answers_nine_of_ten_of_the_worlds_analogies(toy_vectors):
    found = solve_relations(toy_vectors, toy_world.analogies())
    for name, answers in found.items():
        assert answers.accuracy >= 0.9, name


@pytest.mark.parametrize("architecture", ["skip-gram", "cbow"])
@pytest.mark.parametrize("loss", ["negative-sampling", "hierarchical-softmax"])
def test_the_loss_falls_and_the_same_seed_gives_the_same_vectors(
    toy, architecture, loss
):
    vocabulary, texts = toy
    config = Word2VecConfig(
        architecture, loss, dimension=8, window=2, subsample=0, epochs=2
    )
    first = train_word2vec(vocabulary, texts[:2000], config, seed=3)
    again = train_word2vec(vocabulary, texts[:2000], config, seed=3)
    other = train_word2vec(vocabulary, texts[:2000], config, seed=4)
    assert first.losses[1] < first.losses[0]
    assert torch.equal(first.C, again.C)
    assert not torch.equal(first.C, other.C)


def test_vectors_do_not_depend_on_the_number_of_threads(toy):
    vocabulary, texts = toy
    config = Word2VecConfig(dimension=16, window=2, epochs=1)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(train_word2vec(vocabulary, texts[:500], config).C)
            assert torch.get_num_threads() == threads  # left as it was
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


def test_two_workers_learn_as_much_as_one(toy):
    vocabulary, texts = toy
    config = Word2VecConfig(dimension=16, window=2, subsample=0, epochs=4, rate=0.1)
    one = train_word2vec(vocabulary, texts, config)
    two = train_word2vec(vocabulary, texts, config, workers=2)
    # The loss is near 2 nats at the end; untrained it is 6 log 2 = 4.2.
    assert two.losses[-1] == pytest.approx(one.losses[-1], rel=0.05)
    with pytest.raises(ValueError, match="workers=0: expected at least 1"):
        train_word2vec(vocabulary, texts, config, workers=0)


def test_progress_wraps_the_epochs():
    seen = []

    def watch(epochs):
        for epoch in epochs:
            seen.append(epoch)
            yield epoch

    vocabulary = Vocabulary(["a", "b"], None)
    config = Word2VecConfig(dimension=2, epochs=3, subsample=0)
    train_word2vec(vocabulary, np.array([0, 1] * 20), config, progress=watch)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"architecture": "glove"}, "architecture='glove' is not known"),
        ({"loss": "softmax"}, "loss='softmax' is not known"),
        ({"dimension": 0}, "dimension=0: expected at least 1"),
        ({"window": 0}, "window=0: expected at least 1"),
        ({"rate": -1.0}, r"learning_rate=-1\.0: expected above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, words):
    with pytest.raises(ValueError, match=words):
        Word2VecConfig(**setting)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (np.array([0]), "the text has 1 words"),
        (np.array([0, 7]), "id 7 is outside 0 to 1"),
        ("abab", "the string 'abab'"),
        ([np.array([[0, 1]])], r"shape \(1, 2\)"),
        (np.array([0.0, 1.0]), "type float64"),
    ],
)
def test_texts_that_are_no_ids_are_refused(texts, words):
    with pytest.raises(ValueError, match=words):
        train_word2vec(Vocabulary(["a", "b"], None), texts)


def test_a_rate_at_which_the_vectors_overflow_is_reported():
    vocabulary = Vocabulary(["a", "b", "c"], None)
    config = Word2VecConfig("cbow", dimension=4, rate=1e30, crowd=1e33)
    with pytest.raises(ValueError, match=r"overflowed in epoch 2 with rate=1e\+30"):
        train_word2vec(vocabulary, np.arange(3000) % 3, config)
