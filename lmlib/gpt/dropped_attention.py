"""Training's attention on a processor: dropped weights, with the gradients by hand.

Dropout falls on the attention weights, so PyTorch's fast ways, which never have the
weights, are out. Here, with S = Q K^T / sqrt(d_k) + M, P = softmax(S), kept 0 or 1 at
random, c = 1 / (1 - p), and g the gradient of the output:

    out = c (P kept) V
    dV = c (P kept)^T g,  dP = c kept (g V^T),  dS = P (dP - rowsum(dP P))
    dQ = dS K / sqrt(d_k),  dK = dS^T Q / sqrt(d_k)

Queries go in blocks, so that most of what M forbids is not even computed; c and
1 / sqrt(d_k) are multiplied in where numbers are copied or summed anyway. Chapter 9.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lmlib.gpt.attention import causal_mask
from lmlib.gpt.dropout import effective_rate, keep, random_bits

_ROWS = 64  # queries in a block


def dropped_attention(qkv: Tensor, heads: int, p: float) -> Tensor:
    """Causal attention of each token, heads side by side: ``(B, T, d)``.

    ``qkv`` ``(B, T, 3d)``: queries, keys and values side by side, each of them head
    after head. A share ``p`` of the attention weights is set to zero, the others are
    divided by 1 - p.
    """
    mixed: Tensor = _DroppedAttention.apply(qkv, heads, p)  # type: ignore[no-untyped-call]
    return mixed


class _DroppedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, heads: int, p: float) -> Tensor:
        B, T, d3 = qkv.shape
        d_k = d3 // 3 // heads
        ctx.shape, ctx.p = (B, T, heads, d_k), p
        by_head = qkv.view(B, T, 3, heads, d_k).permute(2, 0, 3, 1, 4)
        q, k, v = by_head.reshape(3, B * heads, T, d_k)
        out = qkv.new_empty(B, T, heads, d_k)
        saved = []
        for low, high in _blocks(T):
            mask = causal_mask(high - low, high, qkv)  # (R, S)
            scores = torch.baddbmm(
                mask, q[:, low:high], k[:, :high].transpose(1, 2), alpha=d_k**-0.5
            )
            weights = torch.softmax(scores, dim=-1)  # (BH, R, S)
            bits = random_bits(weights.shape)
            kept = keep(bits, p, qkv.dtype, out=scores).mul_(weights)
            mixed = torch.bmm(kept, v[:, :high])  # (BH, R, d_k)
            torch.mul(
                mixed.view(B, heads, high - low, d_k).transpose(1, 2),
                1 / (1 - effective_rate(p)),
                out=out[:, low:high],
            )
            saved += [weights, bits]
        ctx.save_for_backward(q, k, v, *saved)
        return out.view(B, T, heads * d_k)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        q, k, v, *saved = ctx.saved_tensors
        B, T, heads, d_k = ctx.shape
        c, scale = 1 / (1 - effective_rate(ctx.p)), 1 / math.sqrt(d_k)
        g = torch.empty_like(q)  # (BH, T, d_k): c times the gradient
        by_head = grad.view(B, T, heads, d_k).transpose(1, 2)
        torch.mul(by_head, c, out=g.view(B, heads, T, d_k))
        table = q.new_empty(3, B * heads, T, d_k)
        dq, dk, dv = table
        for i, (low, high) in reversed(list(enumerate(_blocks(T)))):
            weights, bits = saved[2 * i : 2 * i + 2]
            kept = keep(bits, ctx.p, q.dtype)
            ds = torch.bmm(g[:, low:high], v[:, :high].transpose(1, 2)).mul_(kept)
            ds = torch._softmax_backward_data(ds, weights, -1, q.dtype)
            kept.mul_(weights)
            kept = kept.transpose(1, 2)
            torch.mul(torch.bmm(ds, k[:, :high]), scale, out=dq[:, low:high])
            if high == T:  # the last block comes first, and has all keys
                torch.bmm(kept, g[:, low:high], out=dv)
                torch.bmm(ds.transpose(1, 2), q[:, low:high], out=dk)
            else:
                dv[:, :high] += torch.bmm(kept, g[:, low:high])
                dk[:, :high] += torch.bmm(ds.transpose(1, 2), q[:, low:high])
        dk.mul_(scale)
        dqkv = table.view(3, B, heads, T, d_k).permute(1, 3, 0, 2, 4)
        return dqkv.reshape(B, T, 3 * heads * d_k), None, None


def _blocks(tokens: int) -> list[tuple[int, int]]:
    return [(low, min(low + _ROWS, tokens)) for low in range(0, tokens, _ROWS)]
