"""What to say when training breaks down: the step, the likely cause, what is left."""

from __future__ import annotations

import torch
from torch import nn

from lmlib.checkpoints import Checkpoints


class Diverged(ValueError):
    """Loss, gradient or parameters stopped being finite; ``step`` says when."""

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step


def not_finite(model: nn.Module) -> str | None:
    """Name of the first parameter with a NaN or an infinity, if any."""
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            return name
    return None


def diverged(
    model: nn.Module,
    step: int,
    what: str,
    value: float | None,
    rate: float,
    checkpoints: Checkpoints | None,
) -> Diverged:
    """The error for ``what`` (loss, evaluation, a parameter) at a step from 0."""
    broken = not_finite(model)
    if step == 0 and broken:
        cause = f"the parameter {broken} was not finite from the start: look at it"
    elif step == 0:
        cause = (
            "nothing has been updated yet, so a batch holds a target that the model "
            "calls impossible, or a value that is not finite: look at the data"
        )
    else:
        cause = (
            f"the learning rate, {rate:.3g}, is probably too high for this model: "
            "lower it, lengthen the warm-up, or clip the gradient"
        )
        if broken:
            cause = f"the parameter {broken} is not finite any more; {cause}"
    shown = f"{what} became {value}" if value is not None else f"{what} is not finite"
    text = f"training stopped: the {shown} at step {step}; {cause}"
    if checkpoints is not None and checkpoints.paths():
        text += f". The last good checkpoint is {checkpoints.paths()[0]}"
    return Diverged(text, step)
