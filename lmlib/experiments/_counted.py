"""The counted models that the neural ones are mixed with, scored once on Brown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from lmlib.corpora import EncodedCorpus
from lmlib.language_model import FloatArray, LanguageModel, context_windows
from lmlib.ngrams.counts import count_ngrams
from lmlib.ngrams.interpolation import deleted_interpolation
from lmlib.ngrams.kneser_ney import modified_kneser_ney
from lmlib.vocabulary import IntArray

SPLITS = ("valid", "test")

Scores = dict[str, FloatArray]  # log P of each token, by split


def scores(model: LanguageModel, corpus: EncodedCorpus) -> Scores:
    """log P of every validation and test token."""
    start, end = corpus.borders
    log_p = model.token_log_probabilities(corpus.ids, start)
    return {"valid": log_p[: end - start], "test": log_p[end - start :]}


def perplexity(log_p: FloatArray) -> float:
    """exp of the mean -log P, to the four decimals a record keeps."""
    return round(math.exp(-log_p.mean(dtype=np.float64)), 4)


@dataclass(frozen=True)
class Counted:
    """A counted model's log P of each token, and each token's context bin."""

    name: str
    log_p: Scores
    bins: dict[str, IntArray] = field(default_factory=dict)

    def figures(self) -> dict[str, float]:
        """Its own perplexities, under the name it has in the records."""
        return {f"{self.name}/{s}_ppl": perplexity(self.log_p[s]) for s in SPLITS}


def interpolated_trigram(corpus: EncodedCorpus) -> Counted:
    """The trigram of p. 1147, 20 EM iterations on validation, and its bins."""
    counts = count_ngrams(corpus.vocabulary, corpus.train, order=3)
    model = deleted_interpolation(counts, corpus.upto_valid, corpus.valid_start)
    start, end = corpus.borders
    windows = context_windows(corpus.ids, 2, corpus.vocabulary.start_id, start)
    bins = model.bins(windows)
    return Counted(
        "Deleted interpolation 3",
        scores(model, corpus),
        {"valid": bins[: end - start], "test": bins[end - start :]},
    )


def kneser_ney(corpus: EncodedCorpus) -> Counted:
    """Interpolated modified Kneser-Ney of order 5, the best counted model."""
    counts = count_ngrams(corpus.vocabulary, corpus.train, order=5)
    return Counted("MKN interpolated 5", scores(modified_kneser_ney(counts), corpus))
