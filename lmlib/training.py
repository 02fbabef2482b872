"""One training loop for every model here, which can be stopped and resumed anywhere.

A model has a method ``loss(*batch)``; a batch is a pure function of the step
(``lmlib.batches``), a learning rate too (``lmlib.schedules``). Then the state after s
updates is the parameters, the optimiser's memory and the random state, and nothing
else: that is what a checkpoint holds, and why a resumed run ends bit for bit where
the undisturbed one does. Chapter 6.

Losses here are means over the batch. The paper updates after each word, which sums:
a sum-reduced batch of B words at rate eps is a mean-reduced one at rate B eps.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from lmlib.checkpoints import Checkpoints
from lmlib.devices import choose_device
from lmlib.divergence import Diverged, diverged, not_finite
from lmlib.training_state import RunState

Batches = Callable[[int], tuple[Tensor, ...]]


@dataclass
class History:
    """What happened in a run; the lists have one entry a measurement.

    ``values`` are the answers of ``evaluate`` (lower is better), ``losses`` the mean
    training losses since the measurement before, both in nats.
    """

    steps: list[int] = field(default_factory=list)  # updates done
    losses: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    best_step: int | None = None
    best_value: float | None = None
    stopped: str = ""  # "finished", or why earlier
    seconds: float = 0.0  # training and evaluation, over all resumptions

    def add(self, step: int, total: float, value: float | None, rate: float) -> bool:
        """Note a measurement after ``step`` updates; whether it is the best so far.

        ``total`` is the sum of the training losses since the measurement before.
        """
        self.losses.append(total / (step - (self.steps[-1] if self.steps else 0)))
        self.steps.append(step)
        self.rates.append(rate)
        if value is None:
            return False
        self.values.append(value)
        if self.best_value is not None and value >= self.best_value:
            return False
        self.best_step, self.best_value = step, value
        return True

    def latest(self) -> dict[str, str]:
        """The last measurement, for a progress bar."""
        shown = {"loss": f"{self.losses[-1]:.3f}"}
        if self.values:
            shown["evaluation"] = f"{self.values[-1]:.3f}"
        return shown


def train(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    batches: Batches,
    rate: Callable[[int], float],
    steps: int,
    *,
    seed: int = 0,
    accumulate: int = 1,
    clip: float | None = None,
    average: float | None = None,
    evaluate: Callable[[], float] | None = None,
    every: int | None = None,
    patience: int | None = None,
    checkpoints: Checkpoints | None = None,
    device: str | torch.device = "cpu",
    progress: bool = False,
) -> History:
    """Make ``steps`` updates of the model's parameters; returns what happened.

    ``model.loss(*batch)`` is the mean loss of a batch in nats, a single number, and
    ``batches(i)`` the i-th batch, a tuple of tensors. Update s averages the gradients
    of ``accumulate`` batches, s accumulate onwards, cuts their joint norm to
    ``clip``, and uses the learning rate ``rate(s)``. Random numbers (dropout) come
    from ``seed``; the global state of torch is left alone.

    ``evaluate`` (lower is better) is asked every ``every`` updates and at the end, and
    the model ends with the parameters of its best answer. Training stops early after
    ``patience`` answers in a row without a better one. ``average`` (such as 0.999)
    evaluates, and ends with, an exponential moving average of the parameters.

    With ``checkpoints`` the run continues from the newest one there, if any.

    Raises ``Diverged`` when the loss, the gradient or ``evaluate`` is not finite, with
    the step, the likely cause, and where the last good checkpoint is.
    """
    _check_arguments(steps, accumulate, clip, average, every, patience)
    where = choose_device(device)
    model.to(where)
    state = RunState(model, optimiser, averaged=average is not None)
    history, first, total, waited = History(), 0, 0.0, 0
    every = every or steps

    def broke(step: int, what: str, value: float | None = None) -> Diverged:
        return diverged(model, step, what, value, rate(step), checkpoints)

    with torch.random.fork_rng([where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        if checkpoints is not None and (found := checkpoints.load()) is not None:
            first, tensors, about = found
            state.restore(tensors, about)
            history = History(**about["history"])
            total, waited = about["total"], about["waited"]
        if history.stopped:
            first = steps
        begun = time.perf_counter() - history.seconds
        bar = _bar(steps, first, progress)
        for step in range(first, steps):
            model.train()
            loss = _update(model, optimiser, batches, rate, step, accumulate, clip)
            if not math.isfinite(loss):
                raise broke(step, "loss or its gradient", loss)
            total += loss
            if average is not None:  # at first the average follows more quickly
                state.update_average(min(average, (step + 1) / (step + 10)))
            done = step + 1
            if done % every == 0 or done == steps:
                value = state.with_average(evaluate) if evaluate else None
                if value is not None and not math.isfinite(value):
                    raise broke(step, "evaluation", value)
                if history.add(done, total, value, rate(step)):
                    state.keep_best()
                    waited = 0
                elif value is not None:
                    waited += 1
                total = 0.0
                bar.set_postfix(history.latest())
            if done == steps:
                history.stopped = "finished"
            elif patience is not None and waited >= patience:
                history.stopped = f"no better evaluation in the last {waited}"
            history.seconds = time.perf_counter() - begun
            due = checkpoints is not None and done % checkpoints.every == 0
            if checkpoints is not None and (due or history.stopped):
                if (name := not_finite(model)) is not None:
                    raise broke(step, name)
                about = {"history": asdict(history), "total": total, "waited": waited}
                checkpoints.save(done, *state.snapshot(about))
            bar.update()
            if history.stopped:
                break
        bar.close()
    state.finish()
    model.eval()
    return history


def _update(
    model: Any,
    optimiser: torch.optim.Optimizer,
    batches: Batches,
    rate: Callable[[int], float],
    step: int,
    accumulate: int,
    clip: float | None,
) -> float:
    """One update; the mean loss. Nothing is changed when that is not finite."""
    device = next(model.parameters()).device
    optimiser.zero_grad()  # None, not zeros: one pass over memory less
    total = 0.0
    for part in range(step * accumulate, (step + 1) * accumulate):
        loss = model.loss(*(t.to(device) for t in batches(part)))
        (loss / accumulate if accumulate > 1 else loss).backward()
        total += loss.item() / accumulate
    if not math.isfinite(total):
        return total
    if clip is not None:
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        if not math.isfinite(norm.item()):
            return math.nan
    for group in optimiser.param_groups:
        group["lr"] = rate(step)
    optimiser.step()
    return total


def decay_groups(model: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Parameter groups for an optimiser: weight decay on matrices, none on vectors.

    Bengio et al. (2003) penalise the weights and C, but not the biases b and d.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]


def _bar(steps: int, first: int, progress: bool) -> Any:
    """Updates made and the time that is left; in a log file a line a minute."""
    return tqdm(
        total=steps,
        initial=first,
        disable=not progress,
        unit="update",
        leave=False,
        mininterval=0.5 if sys.stderr.isatty() else 60,
    )


def _check_arguments(
    steps: int,
    accumulate: int,
    clip: float | None,
    average: float | None,
    every: int | None,
    patience: int | None,
) -> None:
    counts: Iterable[tuple[str, int | None]] = (
        ("steps", steps),
        ("accumulate", accumulate),
        ("every", every),
        ("patience", patience),
    )
    for name, count in counts:
        if count is not None and count < 1:
            raise ValueError(f"{name}={count}: expected at least 1")
    if clip is not None and not clip > 0:
        raise ValueError(f"clip={clip}: expected a gradient norm above 0, or None")
    if average is not None and not 0 < average < 1:
        raise ValueError(f"average={average}: expected a share between 0 and 1")
