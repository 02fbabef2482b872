"""The NNLM with a recurrent network in the place of tanh(d + Hx). Chapter 4.

Bengio et al. (2003, section 2) leave g open: "a feed-forward or recurrent neural
network or another parametrized function". Here g reads the features of the context
one word at a time, oldest first, with the same shared C, and its last state takes the
place of the hidden layer. The window stays n - 1 words, so every other part of the
model, training and scoring is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lmlib.nnlm.config import NNLMConfig
from lmlib.nnlm.model import NNLM
from lmlib.nnlm.window import Uniform

CELLS = {"elman": 1, "lstm": 4}  # gates: tables of h x (m + h) a cell has


@dataclass(frozen=True)
class RecurrentConfig(NNLMConfig):
    """``NNLMConfig`` and the kind of cell."""

    cell: str = "elman"  # or "lstm"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cell not in CELLS:
            raise ValueError(
                f"cell {self.cell!r} is not known: expected one of {', '.join(CELLS)}"
            )
        if self.hidden < 1:
            raise ValueError(
                "a recurrent g needs a state: expected hidden h of at least 1"
            )

    def parameters(self, words: int) -> int:
        """|V| (1 + m + h), plus |V| (n-1) m with W, plus gates h (1 + m + h)."""
        h, m = self.hidden, self.features
        direct = self.inputs if self.direct else 0
        return words * (1 + m + h + direct) + CELLS[self.cell] * h * (1 + m + h)


class RecurrentNNLM(NNLM):
    """y = b + Wx + U s, s the last state of a recurrent network over the context.

    Elman (1990): s_i = tanh(d + H x_i + R s_{i-1}).
    LSTM (Hochreiter and Schmidhuber 1997, with forget gates): i, f, o = sigmoid,
    z = tanh of the four parts of d + H x_i + R s_{i-1}; c_i = f c_{i-1} + i z;
    s_i = o tanh(c_i).
    """

    config: RecurrentConfig
    config_type = RecurrentConfig

    def _make_g(self, uniform: Uniform) -> None:
        """``H (gates h, m)`` on features, ``R (gates h, h)`` on the state, ``d``."""
        h, m = self.config.hidden, self.config.features
        gates = CELLS[self.config.cell]
        self.H = uniform(1 / h**0.5, gates * h, m)
        self.R = uniform(1 / h**0.5, gates * h, h)
        self.d = uniform(1 / h**0.5, gates * h)

    def g(self, features: Tensor) -> Tensor:
        """The state after the context's last word: ``(B, n-1, m)`` to ``(B, h)``."""
        from_words = self.d + features @ self.H.T  # (B, n-1, gates h)
        state = features.new_zeros(len(features), self.config.hidden)  # (B, h)
        memory = torch.zeros_like(state)
        for step in from_words.unbind(1):
            total = step + state @ self.R.T  # (B, gates h)
            if self.config.cell == "elman":
                state = torch.tanh(total)
                continue
            i, f, o, z = total.chunk(4, dim=1)
            memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(z)
            state = torch.sigmoid(o) * torch.tanh(memory)
        return state
