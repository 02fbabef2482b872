"""GELU, the smooth step of the feed-forward layer, with its slope made on the way.

GPT-1 uses the tanh form of Hendrycks and Gimpel (2016):

    gelu(u) = u/2 (1 + tanh(c (u + 0.044715 u^3))),  c = sqrt(2/pi)
            = u s,  s = sigmoid(z),  z = 2c (u + 0.044715 u^3)

and its slope is s + u s (1 - s) dz/du. Both share s, and a piece small enough for the
processor's nearest cache makes both at once; ``backward`` is then one product.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

_C = 2 * math.sqrt(2 / math.pi)
_CUBIC = 0.044715
_PIECE = 128 * 1024  # numbers: four tables of them fit two cores' own caches


def gelu(u: Tensor) -> Tensor:
    """gelu(u), number by number, in the tanh form."""
    native = u.device.type != "cpu" or u.dtype == torch.bfloat16
    if native or not (torch.is_grad_enabled() and u.requires_grad):
        return F.gelu(u, approximate="tanh")
    smooth: Tensor = _Gelu.apply(u)  # type: ignore[no-untyped-call]
    return smooth


class _Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor) -> Tensor:
        u = u.contiguous()
        out, slope = torch.empty_like(u), torch.empty_like(u)
        work = torch.empty(min(_PIECE, u.numel()), dtype=u.dtype)
        # u s (1 - s) dz/du is s (1 - s) (3z - 4c u): no cube is needed again.
        for low in range(0, u.numel(), _PIECE):
            x, g, s = (t.view(-1)[low : low + _PIECE] for t in (u, out, slope))
            z = work[: len(x)]
            torch.mul(x, x, out=g)
            torch.mul(x, _C, out=z)
            z.addcmul_(x, g, value=_C * _CUBIC)
            torch.sigmoid(z, out=s)
            torch.mul(x, s, out=g)
            torch.add(x, z, alpha=-1.5 / _C, out=z)  # (3z - 4c u) / -4c
            torch.ops.aten.sigmoid_backward.grad_input(z, s, grad_input=z)
            s.add_(z, alpha=-2 * _C)
        ctx.save_for_backward(slope)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        slope: Tensor = ctx.saved_tensors[0]
        return grad * slope
