"""The shape of Bengio's network, and what a shape costs: parameters and operations.

Bengio, Ducharme, Vincent and Jauvin, "A neural probabilistic language model", JMLR
3:1137-1155, 2003. Chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NNLMConfig:
    """The sizes of one network, in the paper's letters.

    Raises ``ValueError`` for sizes that make no model: no context, no features, or
    neither hidden units nor direct connections.
    """

    order: int = 5  # n: the predicted word and n - 1 words of context
    hidden: int = 50  # h: units of the tanh layer, 0 for none
    features: int = 60  # m: numbers that describe a word, the width of C
    direct: bool = True  # W: connections from the features straight to the output
    # Not in the paper: share of x and of the hidden units set to zero in training.
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.order < 2:
            raise ValueError(
                f"order n={self.order} leaves no word of context: expected at least 2"
            )
        if self.features < 1:
            raise ValueError(
                f"features m={self.features} describe no word: expected at least 1"
            )
        if self.hidden < 0:
            raise ValueError(f"hidden h={self.hidden}: expected 0 or more")
        if self.hidden == 0 and not self.direct:
            raise ValueError(
                "with hidden h=0 and no direct connections the context could not "
                "reach the output: give h above 0, or direct=True"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"dropout={self.dropout} is a share of units to drop: expected at "
                "least 0 and below 1"
            )

    @property
    def inputs(self) -> int:
        """(n - 1) m: length of x, the concatenated features of the context."""
        return (self.order - 1) * self.features

    def parameters(self, words: int) -> int:
        """Free parameters for a vocabulary of ``words`` = |V|.

        |V| (1 + nm + h) + h (1 + (n-1)m) with direct connections, and
        |V| (1 + m + h) + h (1 + (n-1)m) without them (section 2). Linear in
        |V| and in n.
        """
        per_word = 1 + self.features + self.hidden
        if self.direct:
            per_word += self.inputs
        return words * per_word + self.hidden * (1 + self.inputs)

    def parts(self, words: int) -> dict[str, int]:
        """The same count, parameter by parameter, in the paper's letters."""
        return {
            "C": words * self.features,
            "W": words * self.inputs if self.direct else 0,
            "U": words * self.hidden,
            "b": words,
            "H": self.hidden * self.inputs,
            "d": self.hidden,
        }

    def operations(self, words: int) -> Operations:
        """Multiply-adds to predict one word from one context.

        The paper's count on p. 1144 is |V| (1 + nm + h) + h (1 + nm) + nm; since x has
        (n-1)m elements, not nm, that is what is counted here (and what the paper's
        99.7 % needs).
        """
        per_word = 1 + self.hidden + (self.inputs if self.direct else 0)
        return Operations(
            look_up=self.inputs,
            hidden=self.hidden * (1 + self.inputs),
            output=words * per_word,
        )


@dataclass(frozen=True)
class Operations:
    """Work of one prediction by layer, in multiply-adds."""

    look_up: int  # copying (n-1)m features
    hidden: int  # d + Hx
    output: int  # b + Wx + Ua, for every word of the vocabulary

    @property
    def total(self) -> int:
        """All layers."""
        return self.look_up + self.hidden + self.output

    @property
    def output_share(self) -> float:
        """Part of the work that is the output layer's: 0.997 for AP News."""
        return self.output / self.total


# Rows of the paper's Table 1. Each pair is one network: the even row is the mixture of
# the odd one with the interpolated trigram. Parameters are for the paper's
# |V| = 16,383.
_MLP1 = NNLMConfig(order=5, hidden=50, features=60, direct=True)  # 5,762,483
_MLP3 = NNLMConfig(order=5, hidden=0, features=60, direct=True)  # 4,931,283
_MLP5 = NNLMConfig(order=5, hidden=50, features=30, direct=True)  # 3,299,033
_MLP7 = NNLMConfig(order=3, hidden=50, features=30, direct=True)  # 2,313,053
_MLP9 = NNLMConfig(order=5, hidden=100, features=30, direct=False)  # 2,158,273

PRESETS: dict[str, NNLMConfig] = {
    "MLP1": _MLP1,
    "MLP2": _MLP1,
    "MLP3": _MLP3,
    "MLP4": _MLP3,
    "MLP5": _MLP5,
    "MLP6": _MLP5,
    "MLP7": _MLP7,
    "MLP8": _MLP7,
    "MLP9": _MLP9,
    "MLP10": _MLP9,
    # Table 2's MLP10, |V| = 17,964: 11,904,264 parameters, 95.2 MB in float64
    "AP_NEWS": NNLMConfig(order=6, hidden=60, features=100, direct=True),
}
