"""The ways to train a GPT that ``speed_gpt`` compares: one function, one update.

All are GPT-1 with the same starting weights, so without dropout they compute the same
loss, and all are updated by PyTorch's fused AdamW.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.gpt import GPT, SMALL, GPTConfig
from lmlib.gpt.huggingface import huggingface_names
from lmlib.vocabulary import Vocabulary

TEXTS = 16  # a batch
WORDS = 8192
RATE = 2.5e-4

PLAIN = "plain PyTorch"
HUGGING_FACE = "Hugging Face"
OURS = "lmlib"
PRODUCTS = "products alone"

Step = Callable[[Tensor], Tensor]  # tokens (B, T + 1) -> mean loss


class PlainGPT(nn.Module):
    """GPT-1 as one writes it at first: nn.Linear, SDPA, cross_entropy on all logits."""

    def __init__(self, model: GPT) -> None:
        super().__init__()
        config = model.config
        self.config = config
        self.tokens = nn.Embedding(len(model.vocabulary), config.width)
        self.positions = nn.Embedding(config.positions, config.width)
        self.blocks = nn.ModuleList(_PlainBlock(config) for _ in range(config.layers))
        mine = dict(model.named_parameters())
        with torch.no_grad():
            self.tokens.weight.copy_(mine["W_e"])
            self.positions.weight.copy_(mine["W_p"])
            for i, block in enumerate(self.blocks):
                for name, theirs in block.named_parameters():
                    part, kind = name.split(".")
                    letter = {"weight": "W", "bias": "b"}[kind]
                    if part.startswith("norm"):
                        letter = {"weight": "g", "bias": "b"}[kind]
                    value = mine[f"blocks.{i}.{part}.{letter}"]
                    theirs.copy_(value.t())

    def logits(self, ids: Tensor) -> Tensor:
        """Scores of the next token, ``(B, T)`` to ``(B, T, |V|)``."""
        places = torch.arange(ids.shape[1], device=ids.device)
        h = self.tokens(ids) + self.positions(places)
        h = F.dropout(h, self.config.dropout, self.training)
        for block in self.blocks:
            h = block(h)
        return F.linear(h, self.tokens.weight)

    def loss(self, tokens: Tensor) -> Tensor:
        """The mean loss through ``F.cross_entropy``."""
        logits = self.logits(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


class _PlainBlock(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        d = config.width
        self.config = config
        self.W_qkv = nn.Linear(d, 3 * d)
        self.W_o = nn.Linear(d, d)
        self.norm_1 = nn.LayerNorm(d)
        self.W_1 = nn.Linear(d, 4 * d)
        self.W_2 = nn.Linear(4 * d, d)
        self.norm_2 = nn.LayerNorm(d)

    def forward(self, x: Tensor) -> Tensor:
        B, T, d = x.shape
        p = self.config.dropout
        q, k, v = (
            part.view(B, T, self.config.heads, -1).transpose(1, 2)
            for part in self.W_qkv(x).split(d, dim=2)
        )
        a = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=p if self.training else 0.0
        )
        a = self.W_o(a.transpose(1, 2).reshape(B, T, d))
        n = self.norm_1(x + F.dropout(a, p, self.training))
        m = self.W_2(F.gelu(self.W_1(n), approximate="tanh"))
        h: Tensor = self.norm_2(n + F.dropout(m, p, self.training))
        return h


class HuggingFaceGPT(nn.Module):
    """``OpenAIGPTLMHeadModel`` with the weights of ours; its loss shifts the labels."""

    def __init__(self, model: GPT) -> None:
        super().__init__()
        transformers: Any = importlib.import_module("transformers")
        config = model.config
        self.model = transformers.OpenAIGPTLMHeadModel(
            transformers.OpenAIGPTConfig(
                vocab_size=len(model.vocabulary),
                n_positions=config.positions,
                n_embd=config.width,
                n_layer=config.layers,
                n_head=config.heads,
                embd_pdrop=config.dropout,
                attn_pdrop=config.dropout,
                resid_pdrop=config.dropout,
            )
        )
        theirs = dict(self.model.named_parameters())
        mine = dict(model.named_parameters())
        with torch.no_grad():
            for name, other in huggingface_names(config.layers).items():
                theirs[other].copy_(mine[name])

    def loss(self, tokens: Tensor) -> Tensor:
        """The same loss from its logits (its own would need one position more)."""
        logits = self.model(tokens[:, :-1]).logits
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def make_step(
    way: str, precision: str, config: GPTConfig = SMALL, words: int = WORDS
) -> Step:
    """One update of one way, in ``"float32"`` or ``"bfloat16"``.

    Bfloat16 is autocast for the others, and ``compute_dtype`` for ours.
    """
    if precision not in ("float32", "bfloat16"):
        raise ValueError(f"precision {precision!r}: expected 'float32' or 'bfloat16'")
    half = precision == "bfloat16"
    vocabulary = Vocabulary([str(i) for i in range(words)], unknown=None)
    ours = GPT(
        vocabulary,
        config,
        np.random.default_rng(0),
        compute_dtype=torch.bfloat16 if half else None,
    )
    if way == PRODUCTS:
        return products_step(config, words, torch.bfloat16 if half else torch.float32)
    kinds: dict[str, Callable[[GPT], Any]] = {
        OURS: lambda model: model,
        PLAIN: PlainGPT,
        HUGGING_FACE: HuggingFaceGPT,
    }
    if way not in kinds:
        raise ValueError(f"way {way!r}: expected one of {[*kinds, PRODUCTS]}")
    model = kinds[way](ours)
    model.train()
    adam = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01, fused=True)

    def step(tokens: Tensor) -> Tensor:
        adam.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half and way != OURS):
            loss: Tensor = model.loss(tokens)
        torch.autograd.backward(loss)
        adam.step()
        return loss.detach()

    return step


def products_step(config: GPTConfig, words: int, dtype: torch.dtype) -> Step:
    """The matrix products of an update with its weights, and nothing else at all.

    Three for each weight (forward, gradient of the input, gradient of the weight), in
    memory that is already there: what the machine could do at best.
    """
    d, tokens = config.width, TEXTS * config.positions
    shapes = [(d, 3 * d), (d, d), (d, 4 * d), (4 * d, d)] * config.layers
    shapes.append((d, words))
    tables: dict[tuple[int, int], list[Tensor]] = {}
    for n, m in set(shapes):
        sizes = ((tokens, n), (n, m), (tokens, m), (tokens, n), (n, m))
        tables[n, m] = [torch.randn(size).to(dtype) for size in sizes]

    def step(_: Tensor) -> Tensor:
        for shape in shapes:
            x, W, y, dx, dW = tables[shape]
            torch.mm(x, W, out=y)
            torch.mm(y, W.T, out=dx)
            torch.mm(x.T, y, out=dW)
        return torch.zeros(())

    return step
