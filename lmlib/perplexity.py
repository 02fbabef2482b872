"""Perplexity: how well a model predicts a text, with what makes it comparable.

Two perplexities may be compared only when both models chose among the same words and
counted unknown words alike. A ``Score`` knows both, and refuses other comparisons.
Chapter 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import total_ordering

import numpy as np

from lmlib.language_model import LanguageModel, check_stream
from lmlib.vocabulary import IntArray


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """How well a model predicts a text, with what one must know to compare it.

    ``nats`` is the summed -log P of ``tokens`` predicted tokens, ``unknown_tokens`` of
    which were the unknown symbol. ``unknown`` says how those count: "counted" as an
    ordinary word (as in Bengio et al. 2003), or "skipped".
    """

    nats: float
    tokens: int
    unknown_tokens: int
    unknown: str
    vocabulary_size: int
    vocabulary_fingerprint: str

    @property
    def cross_entropy(self) -> float:
        """Mean -log P per token, in nats."""
        return self.nats / self.tokens

    @property
    def bits(self) -> float:
        """Mean -log2 P per token."""
        return self.cross_entropy / math.log(2)

    @property
    def perplexity(self) -> float:
        """exp(cross-entropy): the geometric mean of 1/P per token."""
        try:
            return math.exp(self.cross_entropy)
        except OverflowError:
            return math.inf

    def check_comparable(self, other: Score) -> None:
        """``ValueError`` unless both scores are over the same words, counted alike."""
        if self.vocabulary_fingerprint != other.vocabulary_fingerprint:
            raise ValueError(
                "these perplexities are over different vocabularies "
                f"({self.vocabulary_size:,} and {other.vocabulary_size:,} words) and "
                "cannot be compared: score both models over one vocabulary"
            )
        if self.unknown != other.unknown:
            raise ValueError(
                f"unknown words are {self.unknown} in one perplexity and "
                f"{other.unknown} in the other: score both with the same unknown=..."
            )

    def _tokens_of(self, other: object) -> Score:
        if not isinstance(other, Score):
            raise TypeError(f"a Score is compared with a Score, not {other!r}")
        self.check_comparable(other)
        return other

    def __lt__(self, other: object) -> bool:
        return self.cross_entropy < self._tokens_of(other).cross_entropy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Score):
            return NotImplemented
        return self.cross_entropy == self._tokens_of(other).cross_entropy

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        how = f"{self.unknown_tokens:,} unknown {self.unknown}"
        return (
            f"perplexity {self.perplexity:.4g} ({self.bits:.3g} bits) per token over "
            f"{self.tokens:,} tokens, |V| = {self.vocabulary_size:,}, {how}"
        )


def evaluate(
    model: LanguageModel,
    ids: IntArray,
    start: int = 0,
    unknown: str = "counted",
) -> Score:
    """Score a text from position ``start``; the words before it are context.

    ``<s>`` is never predicted and so never scored. ``unknown="skipped"`` leaves out
    the tokens that are the unknown symbol, which makes a model look better: say so.

    Raises ``ValueError`` when nothing is left to predict.
    """
    if unknown not in ("counted", "skipped"):
        raise ValueError(f"unknown={unknown!r}: expected 'counted' or 'skipped'")
    ids = check_stream(model.vocabulary, ids, start)
    scored = model.is_scored(ids)[start:]
    is_unknown = ids[start:] == model.vocabulary.unknown_id
    if unknown == "skipped":
        scored &= ~is_unknown
    if not scored.any():
        raise ValueError(
            f"nothing to score: the text of {len(ids)} tokens has no predicted token "
            f"from position {start} on; give at least one"
        )
    log_p = model.token_log_probabilities(ids, start)[scored]
    return Score(
        nats=-float(log_p.sum(dtype=np.float64)),
        tokens=int(scored.sum()),
        unknown_tokens=int((is_unknown & scored).sum()),
        unknown=unknown,
        vocabulary_size=len(model.vocabulary),
        vocabulary_fingerprint=model.vocabulary.fingerprint,
    )
