"""The recurrent model: by hand, the same interface as GPT, nothing seen too early."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.generation import generate
from lmlib.gpt import SMALL as GPT_SMALL
from lmlib.language_model import NO_WORD, LanguageModel
from lmlib.lstm import LSTM, SMALL, LSTMConfig
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary(["<unk>", *"abcdefghijkl"])
SHAPES = [
    LSTMConfig(layers=1, units=7, features=5, dropout=0.0),
    LSTMConfig(layers=2, units=6, features=6, dropout=0.0),
]


def model_of(config=SHAPES[0], seed=0):
    model = LSTM(WORDS, config, np.random.default_rng(seed), dtype=torch.float64)
    with torch.no_grad():
        model.C.mul_(50)
    return model.eval()


def texts(shape, seed=1):
    ids = np.random.default_rng(seed).integers(0, len(WORDS), shape)
    return torch.from_numpy(ids)


def test_logits_are_those_of_the_gates_written_out():
    model = model_of()
    ids = texts((1, 6))
    p = dict(model.named_parameters())
    h = c = torch.zeros(7, dtype=torch.float64)
    for t, i in enumerate(ids[0].tolist()):
        gates = (
            p["lstm.weight_ih_l0"] @ p["C"][i]
            + p["lstm.bias_ih_l0"]
            + p["lstm.weight_hh_l0"] @ h
            + p["lstm.bias_hh_l0"]
        )
        write, forget, new, show = gates.view(4, 7)
        c = torch.sigmoid(forget) * c + torch.sigmoid(write) * torch.tanh(new)
        h = torch.sigmoid(show) * torch.tanh(c)
        expected = p["C"] @ (p["P"] @ h)
        torch.testing.assert_close(model(ids)[0, t], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("config", SHAPES)
def test_the_formulas_count_is_the_tensors_count(config):
    numbers = sum(p.numel() for p in model_of(config).parameters())
    assert numbers == config.parameters(len(WORDS))


def test_the_small_model_is_as_large_as_the_small_gpt():
    ratio = SMALL.parameters(8192) / GPT_SMALL.parameters(8192)
    assert abs(ratio - 1) < 0.01


def test_the_default_is_the_papers_single_layer_of_2048_units():
    assert (LSTMConfig().layers, LSTMConfig().units) == (1, 2048)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 6), st.integers(0, 12))
def test_a_later_token_never_changes_an_earlier_logit(position, other):
    model = model_of(SHAPES[1])
    ids = texts((1, 8))
    changed = ids.clone()
    changed[0, position + 1 :] = other
    with torch.no_grad():
        before, after = model(ids), model(changed)
    assert torch.equal(before[:, : position + 1], after[:, : position + 1])


def test_targets_are_the_inputs_shifted_by_one_and_padding_counts_for_nothing():
    model = model_of()
    ids = texts((1, 6))
    log_p = torch.log_softmax(model(ids), -1)
    expected = -np.mean([log_p[0, i - 1, ids[0, i]].item() for i in range(1, 6)])
    assert model.loss(ids).item() == pytest.approx(expected, rel=1e-12)
    padded = torch.cat([ids, torch.full((1, 3), NO_WORD)], dim=1)
    assert model.loss(padded).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("start", [0, 1, 11, 30])
def test_a_text_is_scored_as_if_asked_word_by_word(start, monkeypatch):
    monkeypatch.setattr("lmlib.lstm._AT_ONCE", 7)
    model = model_of(SHAPES[1])
    ids = texts((30,)).numpy()
    asked = LanguageModel.token_log_probabilities(model, ids, start)
    found = model.token_log_probabilities(ids, start)
    np.testing.assert_allclose(found, asked, rtol=1e-9)


def test_answers_sum_to_one_and_the_empty_context_is_uniform():
    model = model_of()
    contexts = np.array([[NO_WORD, 3], [NO_WORD, NO_WORD], [1, 2]])
    log_p = model.next_log_probabilities(contexts)
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, rtol=1e-12)
    np.testing.assert_allclose(log_p[1], -math.log(13))


def test_it_writes_text_through_the_common_interface():
    words = generate(model_of(), 10, np.random.default_rng(0), ["a"])
    assert len(words) == 10
    assert set(words) <= set(WORDS.words)


def test_it_learns_a_text_by_heart():
    model = LSTM(WORDS, LSTMConfig(1, 32, 16, 0.0), np.random.default_rng(0))
    ids = texts((4, 9), seed=3)
    optimiser = torch.optim.Adam(model.parameters(), 2e-2)
    for _ in range(80):
        optimiser.zero_grad()
        loss = model.loss(ids)
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.5


def test_dropout_acts_in_training_only():
    model = model_of(LSTMConfig(2, 6, 6, 0.5))
    ids = texts((2, 8))
    with torch.no_grad():
        assert model.loss(ids) == model.loss(ids)
        model.train()
        assert model.loss(ids) != model.loss(ids)


def test_what_is_saved_is_loaded_again(tmp_path):
    model = model_of(SHAPES[1])
    model.save(tmp_path / "lstm.safetensors")
    again = LSTM.load(tmp_path / "lstm.safetensors", WORDS)
    assert torch.equal(again.eval()(texts((2, 8))), model(texts((2, 8))))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="units=0 makes no model"):
        LSTMConfig(units=0)
    with pytest.raises(ValueError, match=r"dropout=-0\.1 is a share"):
        LSTMConfig(dropout=-0.1)
    with pytest.raises(ValueError, match="id 13 is outside 0 to 12"):
        model_of().loss(torch.tensor([[1, 13]]))
    with pytest.raises(ValueError, match="part its texts by a mark"):
        LSTM(Vocabulary(["<unk>", "<s>"]), SHAPES[0], np.random.default_rng(0))
