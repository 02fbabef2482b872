"""Causal self-attention: every token looks at itself and at those before it.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k) + M) V     (Vaswani et al. 2017)

M is 0 where a query may look and -infinity where it may not (later tokens), so that
their weight is exp(-infinity) = 0, exactly, whatever the scores are. A finite number
such as the -10,000 of some code lets the model look ahead wherever a score beats it.

``attention_by_hand`` is the equation, to read and to look at the weights;
``attention`` is the same function at speed. Chapter 9.

Shapes: B texts, H heads, T tokens, d_k numbers a query, d = H d_k.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def attention_by_hand(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Values mixed by attention ``(..., T, d_k)``, and the weights ``(..., T, S)``.

    q ``(..., T, d_k)``; k and v ``(..., S, d_k)``. Where there are more keys than
    queries, the queries are those of the last T tokens.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., T, S)
    scores = scores + causal_mask(q.shape[-2], k.shape[-2], q)
    weights = torch.softmax(scores, dim=-1)  # (..., T, S), rows sum to 1
    return weights @ v, weights


def causal_mask(queries: int, keys: int, like: Tensor) -> Tensor:
    """M: -infinity where key j is later than query i, else 0, ``(queries, keys)``.

    Query i is token keys - queries + i.
    """
    later = torch.ones(queries, keys, dtype=torch.bool, device=like.device)
    later = later.triu(keys - queries + 1)
    return torch.zeros_like(later, dtype=like.dtype).masked_fill(later, -torch.inf)


def attention(q: Tensor, k: Tensor, v: Tensor, dropout: float = 0.0) -> Tensor:
    """``attention_by_hand`` at speed, ``(B, H, T, d_k)``; no weights are returned.

    ``dropout`` is the share of attention weights set to zero, as in GPT-1: after the
    softmax, the others over 1 - dropout. (On a processor PyTorch has no fast way for
    that; ``dropped_attention`` has.)
    """
    queries, keys = q.shape[-2], k.shape[-2]
    if queries in (1, keys):  # one query, the last: it may look at all keys
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=queries > 1, dropout_p=dropout
        )
    mask = causal_mask(queries, keys, q)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
