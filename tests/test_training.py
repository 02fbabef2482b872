"""The training loop: its updates by hand, resumption bit for bit, and its refusals."""

import math
import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lmlib import corpora
from lmlib.batches import WindowBatches
from lmlib.checkpoints import Checkpoints, read_tensors
from lmlib.corpora import EncodedCorpus
from lmlib.devices import choose_device
from lmlib.divergence import Diverged
from lmlib.nnlm import NNLM, NNLMConfig
from lmlib.perplexity import evaluate
from lmlib.recipes import MINIBATCH, Recipe, fit, paper_recipe
from lmlib.schedules import inverse_time, warmup_cosine, warmup_linear
from lmlib.training import decay_groups, train
from lmlib.vocabulary import Vocabulary

WORDS = Vocabulary(["<unk>", *"abcdefg"])
CONFIG = NNLMConfig(order=3, hidden=4, features=3, direct=True)


class Line(nn.Module):
    """loss = w * x, so that every gradient is x and can be followed by hand."""

    def __init__(self, w=1.0):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(w, dtype=torch.float64))

    def loss(self, x):
        return self.w * x.mean()


def numbers(step):
    return (torch.tensor([float(step + 1)], dtype=torch.float64),)


def sgd(model, rate=0.1, **more):
    return torch.optim.SGD(model.parameters(), rate, **more)


def corpus(size=400, seed=3, words=WORDS):
    ids = np.random.default_rng(seed).integers(0, len(words), size).astype(np.int32)
    return EncodedCorpus(words, ids, (size * 8 // 10, size * 9 // 10))


def network(config=CONFIG, seed=1, dtype=torch.float64):
    return NNLM(WORDS, config, np.random.default_rng(seed), dtype=dtype)


# --- schedules and batches


def test_the_papers_rate_halves_after_a_hundred_million_words():
    assert inverse_time(0, initial=1e-3, decay=1e-8) == 1e-3
    # 1 + 1e-8 * 1e8 = 2
    assert inverse_time(10**8, initial=1e-3, decay=1e-8) == 5e-4
    assert inverse_time(10**6, initial=1e-3, decay=1e-8, words=100) == 5e-4


def test_warm_up_rises_by_equal_steps_and_the_cosine_falls_to_zero():
    rate = partial(warmup_cosine, peak=2.0, steps=12, warmup=4)
    assert [rate(s) for s in range(5)] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert rate(8) == pytest.approx(1.0)  # half of the fall
    assert rate(12) == pytest.approx(0)
    linear = partial(warmup_linear, peak=2.0, steps=12, warmup=4)
    assert [linear(s) for s in (0, 3, 4, 8, 12)] == [0.5, 2.0, 2.0, 1.0, 0.0]


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_each_pass_shows_every_word_once_and_any_step_can_be_asked(size, batch, seed):
    ids = np.arange(size, dtype=np.int32)
    words = Vocabulary([str(i) for i in range(size)], unknown=None)
    batches = WindowBatches(words, ids, 2, batch, seed)
    steps = 3 * size // batch
    shown = [batches(step)[1].numpy() for step in range(steps)]
    stream = np.concatenate([np.empty(0, int), *shown])
    for low in range(0, len(stream) - size + 1, size):
        assert sorted(stream[low : low + size]) == list(range(size))
    fresh = WindowBatches(words, ids, 2, batch, seed)
    for step in reversed(range(steps)):
        contexts, targets = fresh(step)
        assert np.array_equal(targets, shown[step])
        # The text is 0, 1, 2, ...: the words before t are t - 2 and t - 1.
        assert torch.equal(contexts[:, 1], (targets - 1).clamp(min=-1))
        assert torch.equal(contexts[:, 0], (targets - 2).clamp(min=-1))


def test_batches_can_keep_the_order_of_the_text():
    batches = WindowBatches(WORDS, np.arange(8), 1, 5, shuffle=False)
    assert batches(0)[1].tolist() == [0, 1, 2, 3, 4]
    assert batches(1)[1].tolist() == [5, 6, 7, 0, 1]
    assert batches.steps(2.0) == 3  # 16 words in fives


def test_the_sentence_start_is_context_but_never_a_target():
    words = Vocabulary(["<unk>", "<s>", "a", "b"])
    batches = WindowBatches(words, np.array([1, 2, 3, 1, 3]), 2, 3, shuffle=False)
    contexts, targets = batches(0)
    assert targets.tolist() == [2, 3, 3]
    assert contexts.tolist() == [[-1, 1], [1, 2], [-1, 1]]


# --- the loop


def test_updates_follow_the_schedule():
    model = Line(w=10.0)
    train(model, sgd(model), numbers, lambda step: 0.1 / (step + 1), 3)
    # 10 - 0.1 * 1 - 0.05 * 2 - 0.1/3 * 3
    assert model.w.item() == pytest.approx(9.7)


def test_accumulation_averages_the_gradients_of_several_batches():
    model = Line(w=10.0)
    train(model, sgd(model), numbers, lambda _: 1.0, 2, accumulate=2)
    # 10 - (1 + 2) / 2 - (3 + 4) / 2
    assert model.w.item() == pytest.approx(5.0)


def test_accumulated_batches_equal_one_large_batch():
    a, b = network(), network()
    text = corpus()
    small = WindowBatches(WORDS, text.train, 2, 8, seed=1)
    large = WindowBatches(WORDS, text.train, 2, 32, seed=1)
    train(a, sgd(a), small, lambda _: 0.5, 5, accumulate=4)
    train(b, sgd(b), large, lambda _: 0.5, 5)
    for one, other in zip(a.parameters(), b.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


def test_a_summed_batch_is_a_mean_batch_at_a_rate_as_much_larger():
    # The paper's update for each word of a batch at fixed parameters:
    # theta + eps sum_words (dlogP/dtheta - decay theta)
    model, recipe = network(), paper_recipe(batch=16)
    before = {k: p.detach().clone() for k, p in model.named_parameters()}
    contexts, targets = WindowBatches(WORDS, corpus().train, 2, 16, shuffle=False)(0)
    (16 * model.loss(contexts, targets)).backward()
    expected = {
        k: before[k] - 1e-3 * (p.grad + (16 * 1e-4 * before[k] if p.ndim > 1 else 0))
        for k, p in model.named_parameters()
    }
    model.zero_grad()
    batches = WindowBatches(WORDS, corpus().train, 2, 16, shuffle=False)
    train(
        model, recipe.optimiser(model), batches, lambda s: recipe.learning_rate(s, 9), 1
    )
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter, expected[name], rtol=1e-12, atol=1e-15)


def test_biases_are_not_decayed():
    matrices, vectors = decay_groups(network(), 0.1)
    assert matrices["weight_decay"] == 0.1
    assert vectors["weight_decay"] == 0
    assert {p.ndim for p in matrices["params"]} == {2}
    assert len(matrices["params"]) == 4  # C, H, U, W
    assert len(vectors["params"]) == 2  # b, d


def test_a_gradient_longer_than_the_limit_is_cut_to_it():
    model = Line(w=10.0)
    train(model, sgd(model), numbers, lambda _: 1.0, 3, clip=1.5)
    # gradients 1, 2, 3 become 1, 1.5, 1.5
    assert model.w.item() == pytest.approx(6.0, abs=1e-5)


def test_the_history_has_mean_losses_between_measurements():
    model = Line(w=2.0)
    history = train(model, sgd(model), numbers, lambda _: 0.0, 5, every=2)
    # the loss is 2 (step + 1): 2, 4 | 6, 8 | 10
    assert history.steps == [2, 4, 5]
    assert history.losses == [3, 7, 10]
    assert history.stopped == "finished"


def test_the_best_parameters_are_kept_and_training_stops_early():
    model, asked = Line(w=0.0), []
    answers = [5.0, 3.0, 4.0, 3.5, 1.0]

    def ask():
        asked.append(model.w.item())
        return answers[len(asked) - 1]

    history = train(
        model, sgd(model), numbers, lambda _: 1.0, 5, evaluate=ask, every=1, patience=2
    )
    # 3.0 after two updates is the best; 4.0 and 3.5 are two without improvement
    assert asked == [-1.0, -3.0, -6.0, -10.0]
    assert model.w.item() == -3.0
    assert (history.best_step, history.best_value) == (2, 3.0)
    assert history.stopped == "no better evaluation in the last 2"


def test_averaging_evaluates_and_leaves_the_mean_of_the_parameters():
    model, asked = Line(w=0.0), []

    def ask():
        asked.append(model.w.item())
        return -len(asked)

    train(
        model, sgd(model), numbers, lambda _: 1.0, 2, evaluate=ask, every=1, average=0.5
    )
    # w: 0, -1, -3. The decay starts at 1/10 and 2/11 and would end at 0.5:
    # 0.1 * 0 + 0.9 * -1 = -0.9; 2/11 * -0.9 + 9/11 * -3
    assert asked == pytest.approx([-0.9, (2 * -0.9 + 9 * -3) / 11])
    assert model.w.item() == pytest.approx(asked[1])


def test_training_leaves_the_global_random_state_alone():
    config = NNLMConfig(order=3, hidden=4, features=3, direct=True, dropout=0.5)
    before = torch.random.get_rng_state()
    models = [network(config) for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        batches = WindowBatches(WORDS, corpus().train, 2, 8)
        train(model, sgd(model), batches, lambda _: 0.5, 4, seed=seed)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(models[0].C, models[1].C)
    assert not torch.equal(models[0].C, models[2].C)


# --- stopping and resuming


OPTIMISERS = {
    "momentum": lambda m: sgd(m, momentum=0.9, weight_decay=0.01),
    "fused momentum": lambda m: sgd(m, momentum=0.9, fused=True),
    "adam": lambda m: torch.optim.AdamW(m.parameters()),
}


class Stop(Exception):
    """Stands for whatever interrupts a run."""


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("average", [None, 0.9])
def test_a_resumed_run_ends_bit_for_bit_where_the_undisturbed_one_does(
    tmp_path, name, average
):
    config = NNLMConfig(order=3, hidden=4, features=3, direct=True, dropout=0.3)
    text = corpus()

    def run(folder, stop=None):
        model = network(config, dtype=torch.float32)
        batches = WindowBatches(WORDS, text.train, 2, 16, seed=5)

        def interrupted(step):
            if step == stop:
                raise Stop
            return batches(step)

        history = train(
            model,
            OPTIMISERS[name](model),
            interrupted,
            partial(warmup_cosine, peak=0.1, steps=40, warmup=4),
            40,
            seed=7,
            average=average,
            evaluate=lambda: (
                evaluate(model, text.upto_valid, text.valid_start).cross_entropy
            ),
            every=7,
            checkpoints=Checkpoints(folder, {"name": name}, every=6),
        )
        return model, history

    whole, expected = run(tmp_path / "whole")
    for stop in (3, 17, 38):  # before the first checkpoint, and twice after one
        with pytest.raises(Stop):
            run(tmp_path / "resumed", stop)
    resumed, history = run(tmp_path / "resumed")
    assert all(map(torch.equal, whole.parameters(), resumed.parameters()))
    for part in ("steps", "losses", "values", "rates", "best_step", "best_value"):
        assert getattr(history, part) == getattr(expected, part)
    finished, again = run(tmp_path / "resumed", stop=0)  # nothing is left to do
    assert again == history
    assert all(map(torch.equal, whole.parameters(), finished.parameters()))


# Trains slowly enough to be killed in the middle of an epoch.
_SCRIPT = """
import sys, time
import numpy as np, torch
from lmlib.checkpoints import Checkpoints, read_tensors
from lmlib.corpora import EncodedCorpus
from lmlib.devices import choose_device
from lmlib.divergence import Diverged
from lmlib.nnlm import NNLM, NNLMConfig
from lmlib.recipes import Recipe, fit
from lmlib.vocabulary import Vocabulary

class Slow(NNLM):
    def loss(self, contexts, targets):
        time.sleep(float(sys.argv[2]))
        return super().loss(contexts, targets)

words = Vocabulary(["<unk>", *"abcdefg"])
ids = np.random.default_rng(3).integers(0, 8, 2000).astype(np.int32)
text = EncodedCorpus(words, ids, (1600, 1800))
model = Slow(words, NNLMConfig(3, 4, 3, True, 0.2), np.random.default_rng(1))
fit(model, text, Recipe(batch=16, epochs=1, rate=0.5, momentum=0.9),
    checkpoints=Checkpoints(sys.argv[1], {"vocabulary": words.fingerprint}, every=10))
model.save(sys.argv[1] + "/model.safetensors")
"""


def test_a_run_killed_in_mid_epoch_ends_where_the_undisturbed_one_does(tmp_path):
    def start(folder, seconds):
        command = [sys.executable, "-c", _SCRIPT, str(tmp_path / folder), seconds]
        return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})

    whole, victim = start("whole", "0"), start("killed", "0.02")
    try:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "killed").glob("step-00000030*")):
            assert victim.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        victim.kill()  # SIGKILL on POSIX: nothing can be tidied up
        code = victim.wait(timeout=30)
    if os.name == "posix":
        assert code == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    assert start("killed", "0").wait(timeout=120) == 0
    assert whole.wait(timeout=120) == 0
    expected, resumed = (
        read_tensors(tmp_path / folder / "model.safetensors")[0]
        for folder in ("whole", "killed")
    )
    assert all(torch.equal(resumed[name], expected[name]) for name in "CHdUWb")


def test_a_damaged_last_checkpoint_costs_a_warning_and_nothing_else(tmp_path):
    text = corpus()
    recipe = Recipe(batch=16, epochs=2, rate=0.3)

    def run():
        model = network()
        checkpoints = Checkpoints(tmp_path, {}, every=7)
        fit(model, text, recipe, checkpoints=checkpoints)
        return model, checkpoints

    expected, checkpoints = run()
    newest = checkpoints.paths()[0]
    newest.write_bytes(newest.read_bytes()[:200])
    with pytest.warns(UserWarning, match=f"{newest.name} is damaged"):
        model, _ = run()
    assert all(map(torch.equal, expected.parameters(), model.parameters()))
    assert newest.stat().st_size > 200  # written anew


def test_a_checkpoint_of_another_shape_is_refused(tmp_path):
    checkpoints = Checkpoints(tmp_path, {})
    model = network()
    batches = WindowBatches(WORDS, corpus().train, 2, 8)
    train(model, sgd(model), batches, lambda _: 0.1, 2, checkpoints=checkpoints)
    other = network(NNLMConfig(order=3, hidden=5, features=3, direct=True))
    with pytest.raises(ValueError, match="the checkpoint holds another model"):
        train(other, sgd(other), batches, lambda _: 0.1, 4, checkpoints=checkpoints)


# --- divergence


def test_a_rate_that_diverges_stops_with_step_cause_and_last_good_checkpoint(tmp_path):
    model = network(dtype=torch.float32)
    batches = WindowBatches(WORDS, corpus().train, 2, 8)
    checkpoints = Checkpoints(tmp_path, {}, every=1)
    with pytest.raises(Diverged) as caught:
        train(
            model,
            sgd(model),
            batches,
            lambda step: 0.1 if step < 3 else 1e38,
            50,
            checkpoints=checkpoints,
        )
    message = str(caught.value)
    assert f"at step {caught.value.step}" in message
    assert "the learning rate, 1e+38, is probably too high" in message
    assert f"The last good checkpoint is {checkpoints.paths()[0]}" in message
    step, tensors, _ = checkpoints.load()
    assert 3 <= step <= caught.value.step
    assert all(torch.isfinite(t).all() for t in tensors.values())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_from_the_start_is_not_blamed_on_the_rate(bad):
    def broken(step):
        return (torch.tensor([bad], dtype=torch.float64),)

    model = Line()
    with pytest.raises(Diverged, match=r"at step 0; nothing has been updated.*data"):
        train(model, sgd(model), broken, lambda _: 0.1, 5)
    assert model.w.item() == 1.0  # not touched
    model = Line(w=math.nan)
    with pytest.raises(Diverged, match="parameter w was not finite from the start"):
        train(model, sgd(model), numbers, lambda _: 0.1, 5)


def test_an_evaluation_that_is_not_finite_stops_training():
    model = Line()
    with pytest.raises(Diverged, match="the evaluation became nan at step 1"):
        train(
            model,
            sgd(model),
            numbers,
            lambda _: 0.1,
            5,
            evaluate=lambda: math.nan,
            every=2,
        )


# --- recipes


@pytest.mark.parametrize(
    "recipe",
    [MINIBATCH, paper_recipe(8, epochs=3, eps_0=0.02)],
    ids=["batches", "paper"],
)
def test_both_recipes_learn_the_toy_world_better_than_the_unigrams(recipe):
    toy = corpora.toy(sentences=400)
    text = toy.encode(toy.vocabulary())
    counts = np.bincount(text.train, minlength=len(text.vocabulary))
    generator = np.random.default_rng(1)
    config = NNLMConfig(order=3, hidden=20, features=10, direct=False)
    model = NNLM(text.vocabulary, config, generator, counts=counts)
    with torch.no_grad():
        model.U.zero_()  # now it is the unigram model
    before = evaluate(model, text.ids, text.test_start)
    history = fit(model, text, recipe, seed=1)
    after = evaluate(model, text.ids, text.test_start)
    assert after.perplexity < 0.8 * before.perplexity
    valid = evaluate(model, text.upto_valid, text.valid_start).cross_entropy
    assert valid == pytest.approx(history.best_value)


def test_training_does_not_depend_on_progress_being_shown(capsys):
    models = [network(), network()]
    for model, progress in zip(models, (False, True), strict=True):
        recipe = Recipe(batch=32, epochs=1, rate=0.1)
        fit(model, corpus(), recipe, progress=progress)
        shown = capsys.readouterr()
        assert shown.out == ""
        assert bool(shown.err) is progress
    assert torch.equal(models[0].C, models[1].C)


def test_what_cannot_be_trained_is_refused():
    text = corpus()
    empty = EncodedCorpus(WORDS, text.ids, (320, 320))
    with pytest.raises(ValueError, match="the validation part is empty"):
        fit(network(), empty)
    with pytest.raises(ValueError, match="another vocabulary of 2"):
        fit(network(), EncodedCorpus(Vocabulary(["<unk>", "a"]), text.ids, (1, 2)))
    with pytest.raises(ValueError, match="no word to predict"):
        WindowBatches(WORDS, np.empty(0, int), 2, 8)
    with pytest.raises(ValueError, match="batch_size=0: expected at least 1"):
        WindowBatches(WORDS, text.train, 2, 0)
    with pytest.raises(ValueError, match="id 9 is outside 0 to 7"):
        WindowBatches(WORDS, np.array([1, 9]), 2, 8)
    with pytest.raises(ValueError, match="schedule 'step'"):
        Recipe(batch=1, epochs=1, rate=1, schedule="step")
    with pytest.raises(ValueError, match=r"rate=-1: expected all above 0"):
        Recipe(batch=1, epochs=1, rate=-1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"accumulate": 0}, "accumulate=0: expected at least 1"),
        ({"clip": 0.0}, "clip=0.0: expected a gradient norm above 0"),
        ({"average": 1.0}, "average=1.0: expected a share between"),
        ({"patience": 0}, "patience=0"),
        ({"device": "abacus"}, "device 'abacus' is not known: expected one of cpu"),
    ],
)
def test_arguments_outside_their_range_are_refused(arguments, words):
    model = Line()
    with pytest.raises(ValueError, match=words):
        train(model, sgd(model), numbers, lambda _: 0.1, 1, **arguments)


def test_a_device_that_is_not_here_is_refused_and_auto_finds_one():
    there = choose_device("auto")
    assert torch.ones(1, device=there).item() == 1
    for name, present in (
        ("cuda", torch.cuda.is_available()),
        ("mps", torch.backends.mps.is_available()),
    ):
        if not present:
            with pytest.raises(ValueError, match=f"device '{name}' is not available"):
                choose_device(name)
