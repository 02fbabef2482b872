"""From subwords to words: a perplexity that can stand beside a word model's.

A perplexity per subword says little across vocabularies: shorter pieces are easier to
guess. But P(w | before) of a word is the product of its subwords' probabilities, each
given all before it, so the nats of a text can be divided by its words instead:

    perplexity per word = exp(-sum over all subwords of log P / number of words)

Words are the tokens of the word models of chapters 2 to 6, with punctuation and the
marks ``<text>`` and ``<p>``. Two differences remain, both against the subword model.
It must spell every rare word, where a word model pays only for the unknown symbol
(``word_log_probabilities`` tells the words apart). And a word may be spelled with its
subwords in other ways, whose probability is not added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmlib.bpe.coding import BPE
from lmlib.language_model import LanguageModel
from lmlib.vocabulary import reject_string


@dataclass(frozen=True)
class WordScore:
    """Total -log P of a text in nats, with the number of its words and subwords."""

    nats: float
    words: int
    subwords: int

    @property
    def perplexity(self) -> float:
        """exp(nats / words): per word."""
        return math.exp(self.nats / self.words)

    @property
    def subword_perplexity(self) -> float:
        """exp(nats / subwords), comparable only over the same subwords."""
        return math.exp(self.nats / self.subwords)

    def __str__(self) -> str:
        return (
            f"perplexity {self.perplexity:.4g} per word over {self.words:,} words, "
            f"{self.subword_perplexity:.4g} per subword over {self.subwords:,} subwords"
        )


def word_log_probabilities(
    model: LanguageModel, bpe: BPE, words: Iterable[str], start: int = 0
) -> NDArray[np.float64]:
    """log P(w_t | w_1 .. w_{t-1}) of the words from ``start`` on, ``(W - start,)``.

    In nats: the sum over a word's subwords. Words before ``start`` are context only.

    Raises ``ValueError`` when the model does not choose among these subwords, or no
    word is left.
    """
    reject_string(words, "words")
    if model.vocabulary.fingerprint != bpe.vocabulary.fingerprint:
        raise ValueError(
            f"the model chooses among {len(model.vocabulary):,} symbols that are not "
            f"these {len(bpe):,} subwords: give the byte-pair encoding it was trained "
            "with"
        )
    rows = bpe.encode_each(words)
    if not 0 <= start < len(rows):
        raise ValueError(
            f"start={start} leaves nothing of {len(rows)} words: expected 0 to "
            f"{len(rows) - 1}"
        )
    ids = np.array([i for row in rows for i in row], np.int32)
    borders = np.cumsum([0, *map(len, rows)])  # (W + 1,)
    log_p = model.token_log_probabilities(ids, int(borders[start]))
    first = borders[start:-1] - borders[start]
    total: NDArray[np.float64] = np.add.reduceat(log_p.astype(np.float64), first)
    return total


def evaluate_words(
    model: LanguageModel, bpe: BPE, words: Iterable[str], start: int = 0
) -> WordScore:
    """Score words from position ``start``; raises as ``word_log_probabilities``."""
    reject_string(words, "words")
    words = list(words)
    log_p = word_log_probabilities(model, bpe, words, start)
    return WordScore(
        nats=-float(log_p.sum()),
        words=len(log_p),
        subwords=sum(map(len, bpe.encode_each(words[start:]))),
    )
