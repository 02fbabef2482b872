"""The energy variant of the NNLM, and features for an unknown word. Chapter 4.

Bengio et al. 2003, section 5.1. The candidate for the next word stands among the
inputs, so a word is described by its features (and one bias), and a new word needs
nothing else to be predicted. The price: the hidden layer runs once for every word of
the vocabulary, and training keeps B |V| h numbers, so this is for small vocabularies.

The paper calls E an unnormalised log-probability; as it then uses exp(-E), it is an
energy: low for likely words. The paper sums the biases of all n words, but those of
the context cancel in the quotient, so only the candidate's is here.

Shapes: B contexts, n - 1 words each, m features a word, h hidden units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lmlib.nnlm.config import NNLMConfig
from lmlib.nnlm.window import Uniform, WindowModel
from lmlib.vocabulary import IntArray, Vocabulary

_AT_ONCE = 2**22  # hidden units of a chunk of candidates


@dataclass(frozen=True)
class EnergyConfig(NNLMConfig):
    """``NNLMConfig`` without direct connections or dropout."""

    direct: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direct or self.dropout or self.hidden < 1:
            raise ValueError(
                "the energy variant has hidden units and neither direct connections "
                "nor dropout: expected hidden h of at least 1, direct=False, dropout=0"
            )

    def parameters(self, words: int) -> int:
        """|V| (1 + m) + h (2 + nm): nothing but features and a bias for each word."""
        inputs = self.order * self.features
        return words * (1 + self.features) + self.hidden * (2 + inputs)


class EnergyNNLM(WindowModel):
    """P(w_t | context) = exp(-E(w_t, context)) / sum_w exp(-E(w, context)).

    E = v . tanh(d + Hx) + b_{w_t} with x = (C(w_t), C(w_{t-1}), ..., C(w_{t-n+1})),
    the candidate first (section 5.1).
    """

    config_type = EnergyConfig
    scored_at_once = 256

    def _make(self, uniform: Uniform, log_frequencies: Tensor) -> None:
        h, inputs = self.config.hidden, self.config.order * self.config.features
        self.H = uniform(1 / inputs**0.5, h, inputs)  # (h, nm)
        self.d = nn.Parameter(torch.zeros(h, dtype=self.C.dtype))
        self.v = uniform(1 / h**0.5, h)
        self.b = nn.Parameter(-log_frequencies)  # (|V|,), an energy

    def energies(self, contexts: Tensor) -> Tensor:
        """E of every candidate after each context: ``(B, n-1)`` to ``(B, |V|)``."""
        m = self.config.features
        x = self.features(contexts).flip(1).flatten(1)  # (B, (n-1)m)
        from_context = self.d + x @ self.H[:, m:].T  # (B, h)
        from_word = self.C @ self.H[:, :m].T  # (|V|, h)
        chunk = max(1, _AT_ONCE // from_context.numel())
        parts = [
            torch.tanh(from_context[:, None] + some) @ self.v  # (B, r)
            for some in torch.split(from_word, chunk)
        ]
        return torch.cat(parts, dim=1) + self._without_start(self.b, torch.inf)

    def log_probabilities(self, contexts: Tensor) -> Tensor:
        """log P(w | context) for every word: ``(B, n-1)`` to ``(B, |V|)``."""
        return torch.log_softmax(-self.energies(contexts), dim=1)

    def loss(self, contexts: Tensor, targets: Tensor) -> Tensor:
        """Mean -log P(target | context) over the batch, in nats."""
        return F.nll_loss(self.log_probabilities(contexts), targets.to(self.C.device))

    def with_word(self, word: str, contexts: IntArray) -> Self:
        """This model with one word more, guessed from where the word was seen.

        Features and bias are the mean of the other words', weighted by their
        probability in the word's contexts ``(B, k)``: C(new) = sum_i C(i)
        P(i | context), averaged over the contexts. Then the probabilities are
        renormalised: an old word's is what it was, times 1 - P(new | context).

        Raises ``ValueError`` for a word that the vocabulary already has.
        """
        old = self.vocabulary
        if word in old:
            raise ValueError(
                f"{word!r} is already among the {len(old)} words and has features"
            )
        p = word_weights(self, contexts)  # (|V|,)
        bias = torch.where(p > 0, self.b, 0.0).detach()
        vocabulary = Vocabulary([*old.words, word], old.unknown)
        model = type(self)(
            vocabulary, self.config, np.random.default_rng(0), dtype=self.C.dtype
        )
        state = self.state_dict()
        state["C"] = torch.cat([self.C.detach(), (p @ self.C.detach())[None]])
        state["b"] = torch.cat([self.b.detach(), (p @ bias)[None]])
        model.load_state_dict(state)
        return model


def new_word_features(model: WindowModel, contexts: IntArray) -> Tensor:
    """C(new) = sum_i C(i) P(i | context), mean over the contexts ``(B, k)``: ``(m,)``.

    The guess of section 5.1 for a word outside the vocabulary: the features of the
    words that could have stood in its place. Works for every model of this package.
    """
    return word_weights(model, contexts) @ model.C.detach()


def word_weights(model: WindowModel, contexts: IntArray) -> Tensor:
    """P(w | context), mean over the contexts ``(B, k)``: ``(|V|,)``."""
    if len(contexts) == 0:
        raise ValueError(
            "no context: a new word is guessed from at least one place where it stood"
        )
    p = np.exp(model.next_log_probabilities(np.asarray(contexts))).mean(axis=0)
    return torch.from_numpy(p).to(model.C)
