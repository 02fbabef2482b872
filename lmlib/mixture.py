"""Mixtures: several models' answers averaged, with fixed or learned weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import FloatArray, LanguageModel
from lmlib.vocabulary import IntArray


class Mixture(LanguageModel):
    """P(w | context) = sum_k weight_k P_k(w | context).

    Bengio et al. (2003) mix their network with an interpolated trigram, half and
    half. The weights are fixed: equal if none are given, or learned by
    ``Mixture.fit``.
    """

    def __init__(
        self, models: Sequence[LanguageModel], weights: Sequence[float] | None = None
    ) -> None:
        if not models:
            raise ValueError("a mixture needs at least one model, got none")
        if weights is None:
            weights = [1 / len(models)] * len(models)
        if len(weights) != len(models):
            raise ValueError(
                f"{len(weights)} weights for {len(models)} models: give one each"
            )
        array = np.asarray(weights, np.float64)
        if (array < 0).any() or not math.isclose(array.sum(), 1, abs_tol=1e-9):
            raise ValueError(
                f"weights {list(weights)}: expected none negative and a sum of 1, so "
                "that the mixture is a probability"
            )
        for model in models[1:]:
            if model.vocabulary != models[0].vocabulary:
                raise ValueError(
                    "models over different vocabularies "
                    f"({len(models[0].vocabulary):,} and {len(model.vocabulary):,} "
                    "words) cannot be mixed: build them on one vocabulary"
                )
        self.models = tuple(models)
        self.weights = array  # (K,)
        self.vocabulary = models[0].vocabulary
        sizes = [model.context_size for model in models]
        known = [size for size in sizes if size is not None]
        self.context_size = max(known) if len(known) == len(sizes) else None

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log of the weighted sum, ``(B, |V|)``."""
        return self._mix([m.next_log_probabilities(contexts) for m in self.models])

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """Each part scores the text its own fast way, then the answers are mixed."""
        return self._mix([m.token_log_probabilities(ids, start) for m in self.models])

    def _mix(self, parts: list[FloatArray]) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        total: FloatArray = parts[0] + logs[0]
        for part, log_weight in zip(parts[1:], logs[1:], strict=True):
            total = np.logaddexp(total, part + log_weight)
        return total

    @classmethod
    def fit(
        cls,
        models: Sequence[LanguageModel],
        ids: IntArray,
        start: int = 0,
        iterations: int = 50,
    ) -> Mixture:
        """The weights that make a held-out text most probable, by EM."""
        cls(models)  # refuses what cannot be mixed before any work is done
        scored = models[0].is_scored(np.asarray(ids))[start:]
        log_p = np.stack(
            [m.token_log_probabilities(ids, start)[scored] for m in models]
        )
        return cls(models, list(mixture_weights(log_p, iterations)))


def mixture_weights(log_p: FloatArray, iterations: int = 50) -> NDArray[np.float64]:
    """EM for the weights of a mixture, from its parts' log P of each token ``(K, T)``.

    Each step gives a part the share of the tokens that it explains (Jelinek and
    Mercer 1980). The held-out likelihood never falls from one step to the next.
    """
    if log_p.ndim != 2 or log_p.shape[1] == 0:
        raise ValueError(
            f"log-probabilities have shape {log_p.shape}: expected (models, tokens) "
            "with at least one token"
        )
    best = np.max(log_p, axis=0)
    if not np.isfinite(best).all():
        raise ValueError(
            f"token {int(np.argmin(np.isfinite(best)))} is impossible under every "
            "model, so no weights can explain it: add a model that gives every word "
            "some probability"
        )
    p = np.exp(log_p - best)  # the scale of a token cancels
    weights = np.full(len(p), 1 / len(p))
    for _ in range(iterations):
        share = weights[:, None] * p  # (K, T)
        weights = (share / share.sum(axis=0)).mean(axis=1)
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised
