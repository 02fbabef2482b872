"""A recurrent language model to hold GPT against. Chapters 10 and 12.

The ablation of Radford et al. 2018 (section 5): one layer of long short-term memory in
the place of the Transformer, everything else alike. Each step reads one token and
passes on a state of fixed size, so there is no window, and no way to look back.

As in the GPT here, the output layer is the embedding matrix; where the state is of
another width, a matrix without bias stands between. The paper gives no more than "a
single layer 2048 unit LSTM"; the rest is our choice.

Shapes: B texts, T tokens, m features a token, h units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.answering import answering
from lmlib.causal_model import CausalModel
from lmlib.language_model import FloatArray, check_stream
from lmlib.output_layer import target_log_probabilities
from lmlib.vocabulary import IntArray, Vocabulary

_AT_ONCE = 1024  # tokens of a long text between two looks at the output layer

State = tuple[Tensor, Tensor]  # h and c, (layers, B, h) each


@dataclass(frozen=True)
class LSTMConfig:
    """The shape of one model. Raises ``ValueError`` for sizes that make none."""

    layers: int = 1  # as in the paper
    units: int = 2048  # h: as in the paper
    features: int = 768  # m: numbers that describe a token, the width of C
    dropout: float = 0.1  # on features, between layers, and before the output

    def __post_init__(self) -> None:
        for name in ("layers", "units", "features"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name}={getattr(self, name)} makes no model: expected at least 1"
                )
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"dropout={self.dropout} is a share of units to drop: expected at "
                "least 0 and below 1"
            )

    def parameters(self, words: int) -> int:
        """Free parameters: |V| m + sum over layers of 4h (inputs + h + 2), + h m.

        Four gates, each with a matrix for the input, one for the state, and (as
        PyTorch and cuDNN have it) a bias for either. The last term, the matrix before
        the output, is missing where h = m.
        """
        h, m = self.units, self.features
        inputs = [m] + [h] * (self.layers - 1)
        projection = h * m if h != m else 0
        return words * m + sum(4 * h * (n + h + 2) for n in inputs) + projection


# As many as the GPT of that name has: 6,877,568 beside 6,868,480, for |V| = 8,192.
SMALL = LSTMConfig(layers=1, units=944, features=256)


class LSTM(CausalModel):
    """P(u_t | all tokens before) = softmax(C P h_t), h_t = lstm(C(u_{t-1}), h_{t-1}).

    ``generator`` draws the starting values: C from N(0, 0.02^2) as in GPT, the others
    uniform within 1 / sqrt(h). The forget gates start open (bias 1), so that gradients
    pass through time from the start.
    """

    config_type = LSTMConfig
    config: LSTMConfig

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: LSTMConfig,
        generator: np.random.Generator,
        *,
        dtype: torch.dtype = torch.float32,
        compute_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(vocabulary, config, compute_dtype)
        self.context_size: None = None
        h, m = config.units, config.features

        def uniform(*shape: int) -> Tensor:
            bound = h**-0.5
            return torch.tensor(generator.uniform(-bound, bound, shape), dtype=dtype)

        features = generator.normal(0, 0.02, (len(vocabulary), m))
        self.C = nn.Parameter(torch.tensor(features, dtype=dtype))  # (|V|, m)
        between = config.dropout if config.layers > 1 else 0.0
        self.lstm = nn.LSTM(
            m, h, config.layers, batch_first=True, dropout=between, dtype=dtype
        )
        with torch.no_grad():
            for name, parameter in self.lstm.named_parameters():
                parameter.copy_(uniform(*parameter.shape))
                if name.startswith("bias"):
                    # PyTorch's order of gates: input, forget, cell, output.
                    parameter.zero_()
                    parameter[h : 2 * h] = 1.0 if name.startswith("bias_ih") else 0.0
        self.P = nn.Parameter(uniform(m, h)) if h != m else None  # (m, h)

    @classmethod
    def _make(cls, vocabulary: Vocabulary, config: LSTMConfig) -> Self:
        return cls(vocabulary, config, np.random.default_rng(0))

    @property
    def output_weight(self) -> Tensor:
        """C again, ``(|V|, m)``."""
        return self.C

    def hidden(self, ids: Tensor) -> Tensor:
        """P h_t of every token, ``(B, T)`` to ``(B, T, m)``."""
        return self.step(ids, None)[0]

    def step(self, ids: Tensor, state: State | None) -> tuple[Tensor, State]:
        """Read on from a state (None at a text's beginning): P h_t and the new state.

        ``ids`` ``(B, T)``; the answer has ``(B, T, m)``.
        """
        features = self._drop(F.embedding(ids, self.C))  # (B, T, m)
        h, state = self.lstm(features, state)  # (B, T, h)
        h = self._drop(h)
        return (h if self.P is None else h @ self.P.T), state

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P(u_t | all tokens before) for t = start .. T-1, in nats, ``(T-start,)``.

        One pass from the text's beginning: the state is carried along.
        """
        ids = check_stream(self.vocabulary, ids, start)
        out = np.full(len(ids), -np.log(len(self.vocabulary)))
        tokens = torch.from_numpy(ids.astype(np.int64)).to(self.C.device)
        state: State | None = None
        with answering(self):
            for low in range(0, len(ids) - 1, _AT_ONCE):
                high = min(low + _AT_ONCE, len(ids) - 1)
                h, state = self.step(tokens[None, low:high], state)
                if high < start:
                    continue
                log_p = target_log_probabilities(
                    (h[0],), (self.C,), None, tokens[low + 1 : high + 1]
                )
                out[low + 1 : high + 1] = log_p.cpu().numpy()
        return out[start:]

    def _drop(self, values: Tensor) -> Tensor:
        if not self.training or self.config.dropout == 0:
            return values
        return F.dropout(values, self.config.dropout)
