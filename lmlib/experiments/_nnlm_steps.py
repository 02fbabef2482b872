"""The ways to train MLP9 that ``speed_nnlm`` compares: one function, one update."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.nnlm import NNLM, PRESETS
from lmlib.output_layer import add_output_gradients
from lmlib.vocabulary import Vocabulary

BATCH = 512
RATE, MOMENTUM, DECAY = 0.1, 0.9, 1e-5
SHAPE = PRESETS["MLP9"]

PLAIN = "plain PyTorch"
FUSED = "lmlib"
IN_PLACE = "lmlib in place"
HALF = "lmlib in place bfloat16"
PRODUCTS = "products alone"

Step = Callable[[Tensor, Tensor], Tensor]  # (contexts, targets) -> mean loss


class PlainNNLM(nn.Module):
    """MLP9 as one writes it at first; oldest word first, like its copy of H."""

    def __init__(self, model: NNLM) -> None:
        super().__init__()
        words, h, m = len(model.vocabulary), SHAPE.hidden, SHAPE.features
        self.embedding = nn.Embedding(words, m)
        self.hidden = nn.Linear(SHAPE.inputs, h)
        self.output = nn.Linear(h, words)
        # Our x has the most recent word first, this one the oldest.
        swapped = model.H.detach().view(h, SHAPE.order - 1, m).flip(1).flatten(1)
        with torch.no_grad():
            self.embedding.weight.copy_(model.C)
            self.hidden.weight.copy_(swapped)
            self.hidden.bias.copy_(model.d)
            self.output.weight.copy_(model.U)
            self.output.bias.copy_(model.b)

    def loss(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """The mean loss through ``F.cross_entropy``."""
        x = self.embedding(contexts).flatten(1)  # (B, (n-1)m)
        logits = self.output(torch.tanh(self.hidden(x)))  # (B, |V|)
        return F.cross_entropy(logits, targets)


def optimiser_step(model: PlainNNLM | NNLM, fused: bool) -> Step:
    """One update by ``torch.optim.SGD``."""
    sgd = torch.optim.SGD(
        model.parameters(), RATE, MOMENTUM, weight_decay=DECAY, fused=fused
    )

    def step(contexts: Tensor, targets: Tensor) -> Tensor:
        sgd.zero_grad()
        loss = model.loss(contexts, targets)
        torch.autograd.backward(loss)
        sgd.step()
        return loss.detach()

    return step


class FusedMomentumStep:
    """SGD with momentum whose velocity lives in ``.grad``: no other memory is needed.

    v <- mu v + g + lambda p and p <- p - rate v, as ``torch.optim.SGD`` has it. The
    velocities of U and b are decayed and added to by the matrix product that makes
    the gradient; those of C, H and d by autograd. U is kept as the transpose of an
    (h, |V|) tensor, whose gradient is the faster product.
    """

    def __init__(self, model: NNLM) -> None:
        self.model = model
        model.U = nn.Parameter(transposed(model.U.detach()))
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self._inner = [model.C, model.H, model.d]

    def __call__(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """One update; returns the mean loss."""
        model = self.model
        inputs, weights = model.output_inputs(contexts)
        loss, gradients = add_output_gradients(
            inputs,
            weights,
            model.b,
            targets,
            weight_gradients=[_velocity(weight) for weight in weights],
            bias_gradient=_velocity(model.b),
            keep=MOMENTUM,
            compute_dtype=model.compute_dtype,
        )
        with torch.no_grad():
            for parameter in self._inner:
                _velocity(parameter).mul_(MOMENTUM)
        torch.autograd.backward(inputs, gradients)
        with torch.no_grad():
            for parameter in model.parameters():
                velocity = _velocity(parameter)
                velocity.add_(parameter, alpha=DECAY)
                parameter.sub_(velocity, alpha=RATE)
        return loss


def transposed(weight: Tensor) -> Tensor:
    """The same matrix, stored column by column."""
    return weight.t().contiguous().t()


def _velocity(parameter: Tensor) -> Tensor:
    if parameter.grad is None:
        raise ValueError("the velocity is gone: do not call zero_grad on this model")
    return parameter.grad


def products_step(weight: Tensor, chunk: int) -> Step:
    """y = a U^T, dU = dy^T a and da = dy U for a batch, in chunks, and nothing else."""
    a = torch.randn(BATCH, weight.shape[1])
    y = torch.randn(chunk, len(weight))
    gradient = torch.zeros_like(weight)
    da = torch.empty(weight.shape[1], chunk)

    def step(contexts: Tensor, targets: Tensor) -> Tensor:
        for part in torch.split(a, chunk):
            torch.mm(part, weight.t(), out=y)
            torch.addmm(gradient, y.t(), part, out=gradient, beta=0)
            torch.mm(weight.t(), y.t(), out=da)
        return torch.zeros(())

    return step


def make_step(way: str, vocabulary: Vocabulary) -> Step:
    """The update of one way, from the parameters that every way starts with."""
    model = NNLM(
        vocabulary,
        SHAPE,
        np.random.default_rng(0),
        compute_dtype=torch.bfloat16 if way == HALF else None,
    )
    if way == PLAIN:
        return optimiser_step(PlainNNLM(model), fused=False)
    if way == FUSED:
        return optimiser_step(model, fused=True)
    if way in (IN_PLACE, HALF):
        return FusedMomentumStep(model)
    if way == PRODUCTS:
        return products_step(transposed(model.U.detach()), chunk=128)
    raise ValueError(
        f"way {way!r}: expected one of {[PLAIN, FUSED, IN_PLACE, HALF, PRODUCTS]}"
    )
