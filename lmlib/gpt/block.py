"""One layer of GPT-1: attention, then a small network for each token by itself.

    n = norm(x + attention(x))
    h = norm(n + W_2 gelu(W_1 n))

GPT-1 normalises *after* the sum (as Vaswani et al. 2017); GPT-2 and most code you will
see, before it. So there is no further norm at the end of the stack. Chapter 9.

Shapes: B texts, T tokens, d numbers a token, H heads. Weights are stored as
(inputs, outputs), y = x W + b, as OpenAI and Hugging Face store GPT-1's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.gpt.attention import attention, attention_by_hand
from lmlib.gpt.config import GPTConfig
from lmlib.gpt.dropout import add_dropped
from lmlib.gpt.dropped_attention import dropped_attention
from lmlib.gpt.gelu import gelu

Normal = Callable[..., nn.Parameter]  # normal(*shape), drawn from N(0, 0.02^2)
EPSILON = 1e-5  # added to the variance in every norm


class Norm(nn.Module):
    """g (x - mean) / sqrt(variance + 1e-5) + b over a token's d numbers."""

    def __init__(self, width: int, dtype: torch.dtype, device: str) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.ones(width, dtype=dtype, device=device))
        self.b = nn.Parameter(torch.zeros(width, dtype=dtype, device=device))

    def forward(self, x: Tensor) -> Tensor:
        """``(..., d)`` to ``(..., d)``."""
        return F.layer_norm(x, self.g.shape, self.g, self.b, EPSILON)


class Linear(nn.Module):
    """x W + b, with W ``(inputs, outputs)``."""

    def __init__(self, inputs: int, outputs: int, normal: Normal) -> None:
        super().__init__()
        self.W = normal(inputs, outputs)
        self.b = nn.Parameter(torch.zeros_like(self.W[0]))

    def forward(self, x: Tensor) -> Tensor:
        """``(..., inputs)`` to ``(..., outputs)``, in the type of x."""
        W, b = self.W.to(x.dtype), self.b.to(x.dtype)  # no copy where they agree
        return torch.addmm(b, x.flatten(0, -2), W).view(*x.shape[:-1], -1)


class KeysValues:
    """The keys and values of one layer for the tokens so far, ``(B, H, k, d_k)``."""

    def __init__(self, texts: int, config: GPTConfig, like: Tensor) -> None:
        shape = (2, texts, config.heads, config.positions, config.head_width)
        self.table = torch.empty(shape, dtype=like.dtype, device=like.device)
        self.length = 0

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Remember those of the next tokens; all of them so far."""
        end = self.length + k.shape[2]
        self.table[0, :, :, self.length : end] = k
        self.table[1, :, :, self.length : end] = v
        self.length = end
        return self.table[0, :, :, :end], self.table[1, :, :, :end]


class Block(nn.Module):
    """One post-norm layer."""

    def __init__(self, config: GPTConfig, normal: Normal) -> None:
        super().__init__()
        d = config.width
        self.config = config
        self.W_qkv = Linear(d, 3 * d, normal)  # queries, keys and values side by side
        self.W_o = Linear(d, d, normal)
        dtype, device = self.W_o.W.dtype, self.W_o.W.device.type
        self.norm_1 = Norm(d, dtype, device)
        self.W_1 = Linear(d, config.feed_forward, normal)
        self.W_2 = Linear(config.feed_forward, d, normal)
        self.norm_2 = Norm(d, dtype, device)

    def forward(self, x: Tensor, past: KeysValues | None = None) -> Tensor:
        """``(B, T, d)`` to ``(B, T, d)``; ``past`` holds and takes keys and values."""
        p = self.config.dropout if self.training else 0.0
        a = self.W_o(self.attend(x, p, past))  # (B, T, d)
        n = self.norm_1(add_dropped(x, a, p))
        m = self.W_2(gelu(self.W_1(n)))  # (B, T, d)
        out: Tensor = self.norm_2(add_dropped(n, m, p))
        return out

    def attend(self, x: Tensor, p: float, past: KeysValues | None) -> Tensor:
        """Values mixed by attention, heads side by side: ``(B, T, d)``."""
        if p and past is None and x.device.type == "cpu":
            return dropped_attention(self.W_qkv(x), self.config.heads, p)
        q, k, v = self.heads(x)
        if past is not None:
            k, v = past.extend(k, v)
        a = attention(q, k, v, p)  # (B, H, T, d_k)
        return a.transpose(1, 2).flatten(2)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values by head, ``(B, H, T, d_k)`` each."""
        B, T, _ = x.shape
        H, d_k = self.config.heads, self.config.head_width
        q, k, v = self.W_qkv(x).view(B, T, 3, H, d_k).permute(2, 0, 3, 1, 4)
        return q, k, v

    def attention_weights(self, x: Tensor) -> Tensor:
        """How much each token looks at each, by head ``(B, H, T, T)``: to look at."""
        return attention_by_hand(*self.heads(x))[1]
