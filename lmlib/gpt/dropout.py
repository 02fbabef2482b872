"""Dropout for a processor: random bits by the word, not a generator call a number.

PyTorch's dropout draws one Bernoulli number for each unit; in a small GPT that is a
tenth of the training time or more. Here a fast generator (SFC64) fills 64-bit words,
and each unit gets 16 of those bits: it is dropped if they, as a number from 0 to
65,535, are below p 65,536. So drops are independent, and p is exact to 1/65,536 (0.1
becomes 0.100006; what is kept is divided by exactly 1 - that). The generator's seed is
drawn from torch's, so a run with the same seed drops the same units.

Other devices have fast generators of their own, and use PyTorch's dropout.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

_LEVELS = 2**16


def effective_rate(p: float) -> float:
    """The nearest rate to ``p`` that 16 bits can express."""
    return round(p * _LEVELS) / _LEVELS


def drop(x: Tensor, p: float) -> Tensor:
    """x with a share ``p`` of its numbers set to zero, the others over 1 - p."""
    if p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    dropped: Tensor = _Drop.apply(x, p)  # type: ignore[no-untyped-call]
    return dropped


def add_dropped(x: Tensor, a: Tensor, p: float) -> Tensor:
    """x + drop(a, p), in one pass over the numbers."""
    if p == 0:
        return x + a
    if x.device.type != "cpu":
        return x + F.dropout(a, p)
    total: Tensor = _AddDropped.apply(x, a, p)  # type: ignore[no-untyped-call]
    return total


def random_bits(shape: torch.Size | tuple[int, ...]) -> Tensor:
    """16 random bits for each element, as int16."""
    count = math.prod(shape)
    seed = int(torch.randint(2**63 - 1, ()))
    words = np.random.SFC64(seed).random_raw(-(-count // 4))  # 64 bits each
    return torch.from_numpy(words.view(np.int16))[:count].view(shape)


def keep(
    bits: Tensor, p: float, dtype: torch.dtype, out: Tensor | None = None
) -> Tensor:
    """1 for what is kept and 0 for what is dropped, made from random bits."""
    threshold = round(p * _LEVELS) - _LEVELS // 2  # int16 starts at -32,768
    kept = torch.empty(bits.shape, dtype=dtype) if out is None else out
    return torch.ge(bits, threshold, out=kept)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        bits = random_bits(x.shape)
        ctx.save_for_backward(bits)
        ctx.p = p
        return keep(bits, p, x.dtype).mul_(1 / (1 - effective_rate(p))).mul_(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (bits,) = ctx.saved_tensors
        scale = 1 / (1 - effective_rate(ctx.p))
        return keep(bits, ctx.p, grad.dtype).mul_(scale).mul_(grad), None


class _AddDropped(torch.autograd.Function):
    """The bits are kept for ``backward``: half the memory of a mask of floats."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, a: Tensor, p: float) -> Tensor:
        bits = random_bits(a.shape)
        ctx.save_for_backward(bits)
        ctx.p = p
        scale = 1 / (1 - effective_rate(p))
        return torch.addcmul(x, a, keep(bits, p, a.dtype), value=scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (bits,) = ctx.saved_tensors
        scale = 1 / (1 - effective_rate(ctx.p))
        return grad, keep(bits, ctx.p, grad.dtype).mul_(scale).mul_(grad), None
