"""GPT-1: embeddings, a stack of blocks, and the embeddings again as output layer.

    h_0 = U W_e + W_p
    h_l = block(h_{l-1}),  l = 1 .. n
    P(u) = softmax(h_n W_e^T)                  (Radford et al. 2018, eq. 2)

W_e ``(|V|, d)`` describes the subwords, W_p ``(k, d)`` the k positions of the window;
U stands for the tokens as one-hot rows, so U W_e is a look-up. Chapter 9.

Shapes: B texts, T tokens, d numbers a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.answering import answering
from lmlib.causal_model import CausalModel
from lmlib.gpt.block import Block, KeysValues
from lmlib.gpt.config import GPTConfig
from lmlib.gpt.dropout import drop
from lmlib.language_model import FloatArray, check_stream
from lmlib.output_layer import target_log_probabilities
from lmlib.vocabulary import IntArray, Vocabulary

_SCALE = 0.02  # standard deviation of the starting weights


class GPT(CausalModel):
    """The decoder of 2018 over a vocabulary of subwords (or of words).

    ``generator`` draws the starting weights from N(0, 0.02^2), the same on every
    machine; biases start at 0. ``compute_dtype`` (for example ``torch.bfloat16``) is
    the type of activations and matrix products while training and answering; the
    parameters stay as they are. ``device="meta"`` makes a model without numbers, to
    count its parameters.

    ``stride`` matters for texts longer than the window: with 1, every token is
    predicted from as many tokens before it as the window holds. With s, the window
    moves s tokens at a time and predicts its last s, which is some s times faster and
    gives a slightly higher perplexity: say so.
    """

    config_type = GPTConfig
    config: GPTConfig

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: GPTConfig,
        generator: np.random.Generator,
        *,
        dtype: torch.dtype = torch.float32,
        compute_dtype: torch.dtype | None = None,
        device: str = "cpu",
        stride: int = 1,
    ) -> None:
        super().__init__(vocabulary, config, compute_dtype)
        if not 1 <= stride <= config.positions:
            raise ValueError(
                f"stride={stride}: expected 1 to the window's {config.positions}"
            )
        self.context_size: int = config.positions
        self.stride = stride

        def normal(*shape: int) -> nn.Parameter:
            if device == "meta":
                return nn.Parameter(torch.empty(shape, dtype=dtype, device=device))
            values = generator.normal(0, _SCALE, shape)
            return nn.Parameter(torch.tensor(values, dtype=dtype, device=device))

        self.W_e = normal(len(vocabulary), config.width)
        self.W_p = normal(config.positions, config.width)
        self.blocks = nn.ModuleList(Block(config, normal) for _ in range(config.layers))

    @classmethod
    def _make(cls, vocabulary: Vocabulary, config: GPTConfig) -> Self:
        return cls(vocabulary, config, np.random.default_rng(0))

    @property
    def output_weight(self) -> Tensor:
        """W_e again, ``(|V|, d)``."""
        return self.W_e

    def hidden(self, ids: Tensor, past: Sequence[KeysValues] | None = None) -> Tensor:
        """h_n, ``(B, T)`` to ``(B, T, d)``.

        With ``past`` (see ``remember``), ids go on where the remembered ones ended.
        """
        begin = past[0].length if past else 0
        h = self.embed(ids, begin)
        for i, block in enumerate(self.blocks):
            h = block(h, past[i] if past else None)  # h_l
        return h

    def embed(self, ids: Tensor, begin: int = 0) -> Tensor:
        """h_0 = U W_e + W_p, ``(B, T)`` to ``(B, T, d)``, dropped out in training."""
        h = F.embedding(ids, self.W_e) + self.W_p[begin : begin + ids.shape[1]]
        if self.compute_dtype is not None:
            h = h.to(self.compute_dtype)
        return drop(h, self.config.dropout if self.training else 0.0)

    def remember(self, texts: int = 1) -> list[KeysValues]:
        """An empty memory of keys and values, one a layer, for ``hidden``."""
        like = self.W_e.new_empty(0, dtype=self.compute_dtype)
        return [KeysValues(texts, self.config, like) for _ in self.blocks]

    def attention_weights(self, ids: Tensor) -> list[Tensor]:
        """How much each token looks at each, by layer: ``(B, H, T, T)`` each."""
        self.check(ids)
        found = []
        with answering(self):
            h = self.embed(ids.to(self.W_e.device))
            for block in self.blocks:
                assert isinstance(block, Block)
                found.append(block.attention_weights(h))
                h = block(h)
        return found

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P(u_t | the tokens before) for t = start .. T-1, in nats, ``(T-start,)``.

        Within the first window one pass answers for all tokens; after that see
        ``stride``.
        """
        ids = check_stream(self.vocabulary, ids, start)
        window, stride = self.context_size, self.stride
        out = np.full(len(ids), -np.log(len(self.vocabulary)))
        tokens = torch.from_numpy(ids.astype(np.int64))
        with answering(self):
            first = min(window, len(ids) - 1)  # targets 1 .. first
            if first >= max(1, start):
                log_p = self._target_log_p(tokens[None, : first + 1], first)
                out[1 : first + 1] = log_p[0].cpu().numpy()
            # Windows whose last `stride` tokens predict low .. low + stride - 1.
            lows = np.arange(window + 1, len(ids), stride)
            lows = lows[lows + stride > start]
            for part in range(0, len(lows), self.answered_at_once):
                some = lows[part : part + self.answered_at_once]
                ends = np.minimum(some + stride, len(ids))  # the last may be shorter
                for row, end in zip(some, ends, strict=True):
                    if end - row < stride:
                        self._score_tail(tokens, row, end, out)
                some = some[ends - some == stride]
                if len(some):
                    rows = some[:, None] + np.arange(stride - window - 1, stride)
                    log_p = self._target_log_p(tokens[torch.from_numpy(rows)], stride)
                    out[some[:, None] + np.arange(stride)] = log_p.cpu().numpy()
        return out[start:]

    def _score_tail(self, tokens: Tensor, low: int, end: int, out: FloatArray) -> None:
        row = tokens[None, end - self.context_size - 1 : end]
        out[low:end] = self._target_log_p(row, end - low)[0].cpu().numpy()

    def _target_log_p(self, rows: Tensor, last: int) -> Tensor:
        """log P of the ``last`` tokens of each row: ``(B, T + 1)`` to ``(B, last)``."""
        rows = rows.to(self.W_e.device)
        h = self.hidden(rows[:, :-1])[:, -last:].flatten(0, 1).to(self.W_e.dtype)
        targets = rows[:, -last:].flatten()
        log_p = target_log_probabilities((h,), (self.W_e,), None, targets)
        return log_p.view(len(rows), last)
