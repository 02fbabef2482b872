"""The neural probabilistic language model: y = b + Wx + U tanh(d + Hx). Chapter 4.

Bengio et al. 2003, section 2. Parameters carry the paper's letters: ``C``, ``H``,
``d``, ``U``, ``W``, ``b``. Where we depart from the paper: dropout (off unless the
configuration asks for it), the starting values (the paper gives none), and vectors of
zeros as the features of words before the text's first, which the paper leaves open.

Shapes: B contexts, n - 1 words each, m features a word, h hidden units.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.nnlm.config import NNLMConfig
from lmlib.nnlm.window import Uniform, WindowModel
from lmlib.output_layer import (
    output_log_probabilities,
    output_loss,
    target_log_probabilities,
)
from lmlib.vocabulary import IntArray, Vocabulary


class NNLM(WindowModel):
    """P(w_t | w_{t-1} .. w_{t-n+1}) = softmax(b + Wx + U tanh(d + Hx)), eq. 1.

    x = (C(w_{t-1}), ..., C(w_{t-n+1})) holds the features of the context, **the most
    recent word first** as in the paper, although contexts are given oldest word
    first as everywhere in this package.

    ``generator`` draws the starting values, the same on every machine. ``counts``
    (how often each word occurs in the training text, ``(|V|,)``) start b at the log
    frequencies, so that training begins near the unigram model. The matrix products
    of the output layer are made in ``compute_dtype`` while training (for example
    ``torch.bfloat16``); answers are always computed in the parameters' own type.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: NNLMConfig,
        generator: np.random.Generator,
        *,
        counts: IntArray | None = None,
        dtype: torch.dtype = torch.float32,
        compute_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(vocabulary, config, generator, counts=counts, dtype=dtype)
        self.compute_dtype = compute_dtype

    def _make(self, uniform: Uniform, log_frequencies: Tensor) -> None:
        words, h = len(log_frequencies), self.config.hidden
        self._make_g(uniform)
        self.U = uniform(0.05, words, h)  # (|V|, h)
        self.W = None
        if self.config.direct:
            self.W = uniform(0.05, words, self.config.inputs)  # (|V|, (n-1)m)
        self.b = nn.Parameter(log_frequencies)  # (|V|,)

    def _make_g(self, uniform: Uniform) -> None:
        """Parameters of the hidden layer: ``H (h, (n-1)m)`` and ``d (h,)``."""
        h, inputs = self.config.hidden, self.config.inputs
        self.H = uniform(1 / inputs**0.5, h, inputs)
        self.d = nn.Parameter(torch.zeros(h, dtype=self.C.dtype))

    def x(self, features: Tensor) -> Tensor:
        """Features side by side, most recent word first: ``(B, (n-1)m)``."""
        return features.flip(1).flatten(1)

    def g(self, features: Tensor) -> Tensor:
        """The hidden layer a = tanh(d + Hx): ``(B, n-1, m)`` to ``(B, h)``."""
        return torch.tanh(self.d + self.x(features) @ self.H.T)

    def output_inputs(self, contexts: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """What the output layer sums, y = b + sum_i input_i weight_i^T.

        Inputs ``(B, h)`` and ``(B, (n-1)m)`` beside weights U and W; one pair is
        missing where h = 0 or there are no direct connections.
        """
        features = self._drop(self.features(contexts))  # (B, n-1, m)
        inputs: list[Tensor] = []
        weights: list[Tensor] = []
        if self.config.hidden:
            inputs.append(self._drop(self.g(features)))
            weights.append(self.U)
        if self.W is not None:
            inputs.append(self.x(features))
            weights.append(self.W)
        return inputs, weights

    def forward(self, contexts: Tensor) -> Tensor:
        """The scores y of eq. 1 before the softmax, ``(B, |V|)``: to look at."""
        inputs, weights = self.output_inputs(contexts)
        y = self._bias()
        for part, weight in zip(inputs, weights, strict=True):
            y = y + part @ weight.T
        return y

    def loss(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """Mean -log P(target | context) over the batch, in nats.

        Contexts ``(B, n-1)``, oldest word first; targets ``(B,)``.
        """
        inputs, weights = self.output_inputs(contexts)
        targets = targets.to(self.b.device)
        return output_loss(
            inputs, weights, self._bias(), targets, compute_dtype=self.compute_dtype
        )

    def log_probabilities(self, contexts: Tensor) -> Tensor:
        """log P(w | context) for every word: ``(B, n-1)`` to ``(B, |V|)``."""
        inputs, weights = self.output_inputs(contexts)
        return output_log_probabilities(inputs, weights, self._bias())

    def target_log_probabilities(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """log P(target | context) without the table of all words: ``(B,)``."""
        inputs, weights = self.output_inputs(contexts)
        return target_log_probabilities(inputs, weights, self._bias(), targets)

    def _bias(self) -> Tensor:
        return self._without_start(self.b, -torch.inf)

    def _drop(self, values: Tensor) -> Tensor:
        if not self.training or self.config.dropout == 0:
            return values
        return F.dropout(values, self.config.dropout)
