"""The energy variant of the NNLM, and what it says about a word it never saw."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib import corpora
from lmlib.corpora import EncodedCorpus
from lmlib.language_model import NO_WORD, context_windows
from lmlib.nnlm import (
    NNLM,
    EnergyConfig,
    EnergyNNLM,
    NNLMConfig,
    new_word_features,
)
from lmlib.perplexity import evaluate
from lmlib.recipes import Recipe, fit
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary(["<unk>", *"abcdefg"])
CONFIG = EnergyConfig(order=3, hidden=4, features=3)


def network(config=CONFIG, vocabulary=WORDS, seed=0, **more):
    generator = np.random.default_rng(seed)
    return EnergyNNLM(vocabulary, config, generator, dtype=torch.float64, **more)


def plain_loss(p, contexts, targets):
    """Section 5.1, one candidate at a time: x = (candidate, w_{t-1}, w_{t-2})."""
    total = 0.0
    for context, target in zip(contexts.tolist(), targets.tolist(), strict=True):
        energies = []
        for candidate in range(len(p["C"])):
            words = [candidate, *reversed(context)]
            zero = torch.zeros_like(p["C"][0])
            x = torch.cat([zero if w == NO_WORD else p["C"][w] for w in words])
            hidden = torch.tanh(p["d"] + p["H"] @ x)
            energies.append(p["v"] @ hidden + p["b"][candidate])
        p_all = torch.exp(-torch.stack(energies))
        total = total - torch.log(p_all[target] / p_all.sum())
    return total / len(targets)


@pytest.mark.parametrize("seed", range(3))
def test_every_gradient_is_that_of_the_plain_formula(seed):
    model = network(seed=seed, counts=np.arange(8))
    generator = np.random.default_rng(seed)
    contexts = torch.from_numpy(generator.integers(-1, 8, (5, 2)))
    targets = torch.from_numpy(generator.integers(0, 8, 5))
    plain = {
        k: v.detach().clone().requires_grad_() for k, v in model.named_parameters()
    }
    expected = plain_loss(plain, contexts, targets)
    expected.backward()
    loss = model.loss(contexts, targets)
    loss.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    for name, parameter in model.named_parameters():
        error = (parameter.grad - plain[name].grad).abs().max()
        assert error < 1e-10 * plain[name].grad.abs().max(), name


def test_candidates_in_chunks_give_the_same_energies(monkeypatch):
    model = network()
    contexts = torch.tensor([[1, 2], [3, NO_WORD]])
    whole = model.energies(contexts)
    monkeypatch.setattr("lmlib.nnlm.energy._AT_ONCE", 24)  # three words at a time
    torch.testing.assert_close(model.energies(contexts), whole, rtol=1e-14, atol=0)


def test_a_word_costs_its_features_and_one_bias():
    assert sum(p.numel() for p in network().parameters()) == CONFIG.parameters(8)
    assert CONFIG.parameters(9) - CONFIG.parameters(8) == 3 + 1  # m = 3


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_probabilities_sum_to_one_and_permute_with_the_vocabulary(seed):
    order = np.random.default_rng(seed).permutation(8)
    renamed = Vocabulary([WORDS.words[i] for i in order])
    model, other = network(seed=seed), network(vocabulary=renamed)
    state = model.state_dict()
    other.load_state_dict(state | {k: state[k][order] for k in "Cb"})
    p = np.exp(model.next_log_probabilities(WORDS.encode(["a", "b"])[None]))
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-12)
    permuted = np.exp(other.next_log_probabilities(renamed.encode(["a", "b"])[None]))
    np.testing.assert_allclose(permuted[0], p[0, order], rtol=1e-10)


def test_it_starts_near_the_unigram_model_and_scores_texts():
    counts = np.arange(8)
    model = network(counts=counts)
    with torch.no_grad():
        model.v.zero_()
    p = np.exp(model.next_log_probabilities(np.array([[1, 2]]))[0])
    np.testing.assert_allclose(p, (counts + 1) / (28 + 8))
    model = network()
    ids = np.random.default_rng(0).integers(0, 8, 30)
    table = model.next_log_probabilities(context_windows(ids, 2))
    np.testing.assert_allclose(
        model.token_log_probabilities(ids), table[np.arange(30), ids]
    )


def test_the_features_of_a_new_word_are_the_expected_features():
    for model in (
        network(),
        NNLM(WORDS, NNLMConfig(3, 4, 3), np.random.default_rng(0), dtype=torch.float64),
    ):
        context = np.array([[1, 2]])
        p = np.exp(model.next_log_probabilities(context))[0]
        expected = sum(p[i] * model.C[i].detach() for i in range(8))
        got = new_word_features(model, context)
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-15)
        two = np.array([[1, 2], [3, 4]])  # seen twice: the mean of both guesses
        torch.testing.assert_close(
            new_word_features(model, two),
            (got + new_word_features(model, two[1:])) / 2,
            rtol=1e-12,
            atol=1e-15,
        )


def test_a_new_word_takes_the_same_share_from_every_other_word():
    model = network(seed=3, counts=np.arange(8))
    larger = model.with_word("new", np.array([[1, 2]]))
    assert larger.vocabulary.words == (*WORDS.words, "new")
    for context in ([1, 2], [5, 5], [NO_WORD, 0]):
        old = np.exp(model.next_log_probabilities(np.array([context])))[0]
        new = np.exp(larger.next_log_probabilities(np.array([context])))[0]
        np.testing.assert_allclose(new[:8], old * (1 - new[8]), rtol=1e-10)
        assert 0 < new[8] < 1
    # as a context word it has its own features
    larger.next_log_probabilities(np.array([[8, 1]]))


def test_the_sentence_start_is_never_predicted_and_never_part_of_a_guess():
    vocabulary = Vocabulary(["<unk>", "<s>", "a", "b"])
    model = network(vocabulary=vocabulary)
    log_p = model.next_log_probabilities(np.array([[1, 2]]))
    assert log_p[0, 1] == -np.inf
    np.testing.assert_allclose(np.exp(log_p).sum(), 1)
    larger = model.with_word("new", np.array([[1, 2]]))
    assert torch.isfinite(larger.b).all()
    model.loss(torch.tensor([[1, 2]]), torch.tensor([3])).backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_a_guessed_word_predicts_what_follows_better_than_the_unknown_symbol():
    # No sentence with "dog" is trained on, nor <unk>. Later, the model that guessed
    # the features of "dog" from one sentence beats the one that reads <unk>.
    text = " ".join(corpora.toy(sentences=3000, seed=2).tokens)
    sentences = [f". {s} .".split() for s in text.split(" . ")]
    with_dog = [s for s in sentences if "dog" in s[2:-1]]
    without = [w for s in sentences if "dog" not in s for w in s[1:]]
    assert len(with_dog) > 40
    known = Vocabulary(["<unk>", *sorted(set(without))])
    ids = known.encode(without)
    cut = len(ids) * 9 // 10
    model = network(EnergyConfig(order=3, hidden=16, features=8), known, seed=1)
    recipe = Recipe(batch=64, epochs=2, rate=0.5, momentum=0.9)
    fit(model, EncodedCorpus(known, ids, (cut, len(ids))), recipe)

    def around(sentence):
        place = sentence.index("dog", 2)
        return sentence[place - 2 : place], sentence[place - 1 : place + 2]

    seen = known.encode(around(with_dog[0])[0])[None]
    larger = model.with_word("dog", seen)
    nats = {model: 0.0, larger: 0.0}
    for sentence in with_dog[1:]:
        before, dog, after = around(sentence)[1]
        for one in nats:
            context = one.vocabulary.encode([before, dog])[None]
            log_p = one.next_log_probabilities(context)[0]
            nats[one] -= log_p[one.vocabulary.id(after)]
    assert nats[larger] < nats[model]


def test_what_makes_no_energy_model_is_refused():
    with pytest.raises(ValueError, match="neither direct connections nor dropout"):
        EnergyConfig(direct=True)
    with pytest.raises(ValueError, match="expected hidden h of at least 1"):
        EnergyConfig(hidden=0, direct=True)
    model = network()
    with pytest.raises(ValueError, match="'a' is already among the 8 words"):
        model.with_word("a", np.array([[1, 2]]))
    with pytest.raises(ValueError, match="at least one place"):
        new_word_features(model, np.empty((0, 2), int))
    with pytest.raises(ValueError, match=r"expected \(B, 2\)"):
        model.loss(torch.tensor([[1]]), torch.tensor([1]))


def test_a_saved_energy_model_comes_back(tmp_path):
    model = network()
    model.save(tmp_path / "energy.safetensors")
    again = EnergyNNLM.load(tmp_path / "energy.safetensors", WORDS)
    contexts = np.array([[1, 2]])
    assert np.array_equal(
        again.next_log_probabilities(contexts), model.next_log_probabilities(contexts)
    )
    assert evaluate(again, np.array([1, 2, 3])) == evaluate(model, np.array([1, 2, 3]))
