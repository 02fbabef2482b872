"""Bengio's network: eq. 1, its gradients, its counts, and what it refuses."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from lmlib.language_model import NO_WORD, context_windows
from lmlib.nnlm import NNLM, PRESETS, NNLMConfig, RecurrentConfig, RecurrentNNLM
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary(["<unk>", *"abcdefghij"])
SHAPES = [
    NNLMConfig(order=n, hidden=h, features=m, direct=w)
    for n, h, m, w in itertools.product((2, 4), (0, 3), (1, 5), (False, True))
    if h or w
]


def network(config, vocabulary=WORDS, seed=0, **more):
    kind = RecurrentNNLM if isinstance(config, RecurrentConfig) else NNLM
    more = {"dtype": torch.float64, **more}
    return kind(vocabulary, config, np.random.default_rng(seed), **more)


def batch(config, size=6, seed=1, words=11):
    generator = np.random.default_rng(seed)
    contexts = generator.integers(NO_WORD, words, (size, config.order - 1))
    targets = generator.integers(0, words, size)
    return torch.from_numpy(contexts), torch.from_numpy(targets)


def plain_loss(p, config, contexts, targets):
    """Eq. 1 for one example at a time, in the paper's order, with cross_entropy."""
    total = 0.0
    for context, target in zip(contexts.tolist(), targets, strict=True):
        parts = []
        for word in reversed(context):  # w_{t-1} first
            parts.append(
                p["C"][word] if word != NO_WORD else torch.zeros_like(p["C"][0])
            )
        x = torch.cat(parts)
        y = p["b"]
        if config.hidden:
            y = y + p["U"] @ torch.tanh(p["d"] + p["H"] @ x)
        if config.direct:
            y = y + p["W"] @ x
        total = total + F.cross_entropy(y[None], target[None])
    return total / len(targets)


@pytest.mark.parametrize("config", SHAPES, ids=str)
def test_every_gradient_is_that_of_the_plain_formula(config):
    model = network(config, counts=np.arange(len(WORDS)))
    contexts, targets = batch(config)
    plain = {
        k: v.detach().clone().requires_grad_() for k, v in model.named_parameters()
    }
    expected = plain_loss(plain, config, contexts, targets)
    expected.backward()
    loss = model.loss(contexts, targets)
    loss.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    for name, parameter in model.named_parameters():
        if parameter.numel():
            scale = plain[name].grad.abs().max().clamp(min=1e-300)
            error = (parameter.grad - plain[name].grad).abs().max() / scale
            assert error < 1e-10, name


@pytest.mark.parametrize("config", SHAPES, ids=str)
def test_the_formulas_count_is_the_tensors_count(config):
    numbers = sum(p.numel() for p in network(config).parameters())
    assert numbers == config.parameters(len(WORDS))
    assert sum(config.parts(len(WORDS)).values()) == numbers


@pytest.mark.parametrize(
    ("name", "words", "parameters"),
    [
        ("MLP1", 16_383, 5_762_483),
        ("MLP2", 16_383, 5_762_483),
        ("MLP3", 16_383, 4_931_283),
        ("MLP5", 16_383, 3_299_033),
        ("MLP7", 16_383, 2_313_053),
        ("MLP10", 16_383, 2_158_273),
        # The paper: "almost 100 megabytes" for AP News; 8 bytes a number make 95.2.
        ("AP_NEWS", 17_964, 11_904_264),
    ],
)
def test_presets_have_the_papers_parameter_counts(name, words, parameters):
    assert PRESETS[name].parameters(words) == parameters


def test_almost_all_the_work_is_in_the_output_layer():
    # AP News: |V| = 17,964, n - 1 = 5 words of m = 100, h = 60.
    work = PRESETS["AP_NEWS"].operations(17_964)
    assert work.look_up == 500
    assert work.hidden == 60 * (1 + 500)
    assert work.output == 17_964 * (1 + 500 + 60)
    # 10,077,804 / (10,077,804 + 30,060 + 500) = 0.99698, the paper's 99.7 %
    assert work.output_share == pytest.approx(0.99698, abs=5e-6)


def test_operations_are_the_multiplications_that_torch_counts():
    from torch.utils.flop_counter import FlopCounterMode

    config = PRESETS["AP_NEWS"]
    model = network(config)
    contexts, _ = batch(config, size=1)
    with FlopCounterMode(display=False) as counter:
        model(contexts)
    # torch counts 2 operations a multiply-add, and no bias: 2 h (n-1)m in the hidden
    # layer and 2 |V| (h + (n-1)m) in the output layer
    assert counter.get_total_flops() == 2 * 60 * 500 + 2 * len(WORDS) * 560


@given(st.integers(0, 10_000), st.sampled_from(SHAPES))
@settings(max_examples=30, deadline=None)
def test_probabilities_of_every_context_sum_to_one(seed, config):
    model = network(config, seed=seed)
    contexts, _ = batch(config, seed=seed)
    log_p = model.next_log_probabilities(contexts.numpy())
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(SHAPES))
@settings(max_examples=30, deadline=None)
def test_permuting_the_vocabulary_permutes_the_answer(seed, config):
    order = np.random.default_rng(seed).permutation(len(WORDS))
    renamed = Vocabulary([WORDS.words[i] for i in order])
    model, other = network(config, seed=seed), network(config, renamed)
    state = model.state_dict()
    for name in {"C", "U", "W", "b"} & state.keys():  # a row a word
        state[name] = state[name][order]
    other.load_state_dict(state)
    contexts = [["a", "b", "c"], ["c", "b", "a"], ["j", "<unk>", "a"]]
    answer = model.next_log_probabilities(np.stack([*map(WORDS.encode, contexts)]))
    permuted = other.next_log_probabilities(np.stack([*map(renamed.encode, contexts)]))
    np.testing.assert_allclose(permuted, answer[:, order], rtol=1e-12)


@pytest.mark.parametrize("config", SHAPES, ids=str)
def test_a_batch_is_answered_as_its_contexts_one_by_one(config):
    model = network(config)
    contexts, targets = batch(config)
    together = model.next_log_probabilities(contexts.numpy())
    for i, context in enumerate(contexts.numpy()):
        alone = model.next_log_probabilities(context[None, :])[0]
        np.testing.assert_allclose(alone, together[i], rtol=1e-12)
    loss = -together[np.arange(len(targets)), targets].mean()
    assert model.loss(contexts, targets).item() == pytest.approx(loss, rel=1e-12)


def test_the_score_y_is_eq_1_and_the_answer_its_softmax():
    config = NNLMConfig(order=3, hidden=2, features=2, direct=True)
    model = network(config)
    contexts, _ = batch(config)
    y = model(contexts)
    assert y.shape == (6, len(WORDS))
    np.testing.assert_allclose(
        model.next_log_probabilities(contexts.numpy()),
        torch.log_softmax(y, 1).detach(),
        rtol=1e-12,
    )


def test_the_order_of_words_matters():
    model = network(NNLMConfig(order=4, hidden=3, features=2, direct=False))
    abc = model.next_log_probabilities(WORDS.encode("a b c".split())[None, :])
    bac = model.next_log_probabilities(WORDS.encode("b a c".split())[None, :])
    assert np.abs(abc - bac).max() > 1e-4


def test_the_most_recent_word_comes_first_in_x():
    model = network(NNLMConfig(order=3, hidden=1, features=2, direct=False))
    contexts = torch.from_numpy(WORDS.encode(["a", "b"])[None, :]).long()
    x = model.x(model.features(contexts))[0]  # context "a b": w_{t-1} = b
    expected = torch.cat([model.C[WORDS.id("b")], model.C[WORDS.id("a")]])
    assert torch.equal(x, expected)


def test_one_hot_times_c_is_the_look_up():
    model = network(NNLMConfig(order=3, hidden=1, features=2, direct=False))
    contexts, _ = batch(model.config, words=1)
    contexts = contexts.clamp(min=0)
    one_hot = F.one_hot(contexts, len(WORDS)).double()
    assert torch.equal(model.features(contexts), one_hot @ model.C)


def test_a_missing_word_has_no_features_and_a_short_context_is_padded():
    model = network(NNLMConfig(order=4, hidden=3, features=2, direct=True))
    padded = model.next_log_probabilities(np.array([[NO_WORD, NO_WORD, 3]]))
    assert np.array_equal(model.next_log_probabilities(np.array([[3]])), padded)
    long = model.next_log_probabilities(np.array([[9, 9, NO_WORD, NO_WORD, 3]]))
    assert np.array_equal(long, padded)
    empty = model.features(torch.full((1, 3), NO_WORD))
    assert torch.equal(empty, torch.zeros(1, 3, 2, dtype=torch.float64))
    assert model.next_log_probabilities(np.empty((0, 3), int)).shape == (0, len(WORDS))


def test_a_text_is_scored_as_the_chain_rule_says():
    model = network(NNLMConfig(order=3, hidden=3, features=2, direct=True))
    ids = np.random.default_rng(0).integers(0, len(WORDS), 40)
    windows = context_windows(ids, 2)
    expected = model.next_log_probabilities(windows)[np.arange(40), ids]
    np.testing.assert_allclose(model.token_log_probabilities(ids), expected)
    np.testing.assert_allclose(model.token_log_probabilities(ids, 7), expected[7:])


def test_the_sentence_start_is_never_predicted():
    vocabulary = Vocabulary(["<unk>", "<s>", "a", "b"])
    config = NNLMConfig(order=3, hidden=3, features=2, direct=True)
    model = network(config, vocabulary)
    log_p = model.next_log_probabilities(np.array([[1, 2], [2, 3]]))
    assert (log_p[:, 1] == -np.inf).all()
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-12)
    loss = model.loss(torch.tensor([[1, 2], [2, 3]]), torch.tensor([2, 3]))
    loss.backward()
    expected = -(log_p[0, 2] + log_p[1, 3]) / 2
    assert loss.item() == pytest.approx(expected)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())
    assert model.b.grad[1] == 0


def test_training_starts_from_the_unigram_model():
    counts = np.arange(len(WORDS))
    config = NNLMConfig(order=3, hidden=3, features=2, direct=False)
    model = network(config, counts=counts)
    with torch.no_grad():
        model.U.zero_()
    log_p = model.next_log_probabilities(np.array([[1, 2]]))[0]
    # add one: (count + 1) / (total + |V|)
    np.testing.assert_allclose(np.exp(log_p), (counts + 1) / (55 + 11))


def test_dropout_is_for_training_only():
    config = NNLMConfig(order=3, hidden=30, features=20, direct=True, dropout=0.5)
    model = network(config)
    contexts, targets = batch(config)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        losses = {model.loss(contexts, targets).item() for _ in range(3)}
        assert len(losses) == 3
        answers = [model.next_log_probabilities(contexts.numpy()) for _ in range(2)]
    assert np.array_equal(*answers)
    assert model.training  # as it was before it answered


def test_the_same_generator_gives_the_same_model():
    config = PRESETS["MLP9"]
    a, b = network(config, seed=5), network(config, seed=5)
    assert all(map(torch.equal, a.parameters(), b.parameters()))
    assert not torch.equal(a.C, network(config, seed=6).C)


RECURRENT = [
    RecurrentConfig(order=4, hidden=3, features=2, direct=w, cell=c)
    for w in (False, True)
    for c in ("elman", "lstm")
]


@pytest.mark.parametrize("config", RECURRENT, ids=str)
def test_a_recurrent_g_is_torchs_own_cell(config):
    model = network(config)
    contexts, targets = batch(config)
    contexts = contexts.clamp(min=0)
    assert sum(p.numel() for p in model.parameters()) == config.parameters(len(WORDS))
    kind = torch.nn.RNN if config.cell == "elman" else torch.nn.LSTM
    peer = kind(2, 3, batch_first=True).double()
    h, g = config.hidden, slice(None)
    if config.cell == "lstm":  # torch keeps the gates in the order i, f, z, o
        g = torch.cat([torch.arange(h) + h * k for k in (0, 1, 3, 2)])
    with torch.no_grad():
        peer.weight_ih_l0.copy_(model.H[g])
        peer.weight_hh_l0.copy_(model.R[g])
        peer.bias_ih_l0.copy_(model.d[g])
        peer.bias_hh_l0.zero_()
    state = peer(F.embedding(contexts, model.C))[0][:, -1]
    y = model.b + state @ model.U.T
    if config.direct:
        y = y + F.embedding(contexts.flip(1), model.C).flatten(1) @ model.W.T
    expected = F.cross_entropy(y, targets)
    expected.backward()
    wanted = {
        k: p.grad.clone() for k, p in model.named_parameters() if p.grad is not None
    }
    model.zero_grad()
    loss = model.loss(contexts, targets)
    loss.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    for name, gradient in wanted.items():
        torch.testing.assert_close(
            dict(model.named_parameters())[name].grad, gradient, rtol=1e-9, atol=1e-14
        )
    torch.testing.assert_close(
        model.H.grad[g], peer.weight_ih_l0.grad, rtol=1e-9, atol=1e-14
    )


def test_a_recurrent_model_answers_the_same_interface():
    model = network(RECURRENT[1])
    ids = np.random.default_rng(0).integers(0, len(WORDS), 20)
    log_p = model.next_log_probabilities(context_windows(ids, 3))
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        model.token_log_probabilities(ids), log_p[np.arange(20), ids]
    )


@pytest.mark.parametrize("config", [SHAPES[0], SHAPES[-1], RECURRENT[1]], ids=str)
def test_a_saved_model_comes_back_exactly(config, tmp_path):
    model = network(config)
    model.save(tmp_path / "model.safetensors")
    again = type(model).load(tmp_path / "model.safetensors", WORDS)
    assert again.config == config
    contexts = batch(config)[0].numpy()
    assert np.array_equal(
        again.next_log_probabilities(contexts), model.next_log_probabilities(contexts)
    )


def test_a_model_is_not_read_with_another_vocabulary_or_as_another_kind(tmp_path):
    path = tmp_path / "model.safetensors"
    network(SHAPES[0]).save(path)
    with pytest.raises(ValueError, match="its vocabulary is"):
        NNLM.load(path, Vocabulary(["<unk>", "other"]))
    with pytest.raises(ValueError, match="its model is 'NNLM', here it is 'Recurrent"):
        RecurrentNNLM.load(path, WORDS)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"order": 1}, "order n=1 leaves no word of context"),
        ({"features": 0}, "features m=0 describe no word"),
        ({"hidden": -1}, "hidden h=-1"),
        ({"hidden": 0, "direct": False}, "could not reach the output"),
        ({"dropout": 1.0}, "dropout=1.0 is a share"),
    ],
)
def test_sizes_that_make_no_model_are_refused(sizes, words):
    with pytest.raises(ValueError, match=words):
        NNLMConfig(**sizes)


def test_a_recurrent_configuration_is_checked_too():
    with pytest.raises(ValueError, match="cell 'gru' is not known"):
        RecurrentConfig(cell="gru")
    with pytest.raises(ValueError, match="needs a state"):
        RecurrentConfig(hidden=0, direct=True)


def test_bad_batches_are_refused():
    config = NNLMConfig(order=4, hidden=3, features=2, direct=True)
    model = network(config)
    contexts, targets = batch(config)
    with pytest.raises(ValueError, match=r"shape \(6, 2\): expected \(B, 3\)"):
        model.loss(contexts[:, 1:], targets)
    with pytest.raises(ValueError, match="the batch is empty"):
        model.loss(contexts[:0], targets[:0])
    with pytest.raises(ValueError, match="id 11 is outside 0 to 10"):
        model.loss(torch.full_like(contexts, 11), targets)
    with pytest.raises(ValueError, match="id -2 is outside 0 to 10"):
        model.loss(torch.full_like(contexts, -2), targets)
    with pytest.raises(ValueError, match="target 11 is not a word"):
        model.loss(contexts, torch.full_like(targets, 11))
    with pytest.raises(ValueError, match="id 99 is outside 0 to 10"):
        model.next_log_probabilities(np.array([[99]]))
    with pytest.raises(ValueError, match="expected 11 counts of 0 or more"):
        network(config, counts=np.ones(3, int))
