"""A mixture whose weights depend on how often the context was seen. Chapter 6.

Bengio et al. (2003) name three ways to mix the network with the
interpolated trigram: half and half, one learned weight, or weights for each bin of
context frequency. The first two are ``lmlib.mixture``, the third is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import (
    NO_WORD,
    FloatArray,
    LanguageModel,
    check_contexts,
    check_stream,
    context_windows,
)
from lmlib.mixture import Mixture, mixture_weights
from lmlib.vocabulary import IntArray

Bins = Callable[[IntArray], IntArray]


class BinnedMixture(LanguageModel):
    """P(w | context) = sum_k weight_{q,k} P_k(w | context), q the context's bin.

    ``bins`` maps contexts ``(B, width)``, oldest word first, to bin numbers ``(B,)``.
    ``weights`` gives each bin its weights ``(K,)``; a bin that it does not name has
    those of ``otherwise``.
    """

    def __init__(
        self,
        models: Sequence[LanguageModel],
        bins: Bins,
        width: int,
        weights: dict[int, NDArray[np.float64]],
        otherwise: Sequence[float] | None = None,
    ) -> None:
        plain = Mixture(models, otherwise)  # checks models and weights
        for part in weights.values():
            Mixture(models, list(part))
        if width < 1:
            raise ValueError(f"width={width}: bins look at one word of context or more")
        self.models, self.vocabulary = plain.models, plain.vocabulary
        self.bins, self.width = bins, width
        self.weights, self.otherwise = weights, plain.weights
        size = plain.context_size
        self.context_size = None if size is None else max(size, width)

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log of the weighted sum, ``(B, |V|)``."""
        contexts = check_contexts(self.vocabulary, contexts)
        parts = [m.next_log_probabilities(contexts) for m in self.models]
        short = max(0, self.width - contexts.shape[1])
        padded = np.pad(contexts, ((0, 0), (short, 0)), constant_values=NO_WORD)
        weights = self._weights(self.bins(padded[:, -self.width :]))
        return mixed_log_probabilities(np.stack(parts), weights)

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """Each part scores the text its own fast way, then the answers are mixed."""
        ids = check_stream(self.vocabulary, ids, start)
        parts = [m.token_log_probabilities(ids, start) for m in self.models]
        windows = context_windows(ids, self.width, self.vocabulary.start_id, start)
        return mixed_log_probabilities(
            np.stack(parts), self._weights(self.bins(windows))
        )

    def _weights(self, bins: IntArray) -> NDArray[np.float64]:
        """The weights of each context, ``(K, B)``."""
        found, which = np.unique(bins, return_inverse=True)
        rows = [self.weights.get(q, self.otherwise) for q in found.tolist()]
        return np.reshape(rows, (len(found), len(self.models)))[which].T

    @classmethod
    def fit(
        cls,
        models: Sequence[LanguageModel],
        bins: Bins,
        width: int,
        ids: IntArray,
        start: int = 0,
        iterations: int = 50,
    ) -> Self:
        """Weights of each bin, by EM on a held-out text from ``start`` on.

        A bin that does not occur there gets the weights learned over all bins.
        """
        Mixture(models)
        ids = check_stream(models[0].vocabulary, ids, start)
        scored = models[0].is_scored(ids)[start:]
        log_p = np.stack([m.token_log_probabilities(ids, start) for m in models])
        windows = context_windows(ids, width, models[0].vocabulary.start_id, start)
        weights, otherwise = binned_weights(
            log_p[:, scored], bins(windows)[scored], iterations
        )
        return cls(models, bins, width, weights, list(otherwise))


def binned_weights(
    log_p: FloatArray, bins: IntArray, iterations: int = 50
) -> tuple[dict[int, NDArray[np.float64]], NDArray[np.float64]]:
    """EM for each bin by itself: weights ``(K,)`` by bin, and those over all bins.

    ``log_p`` is ``(K, T)``, each part's log P of each token, ``bins`` is ``(T,)``.
    """
    overall = mixture_weights(log_p, iterations)
    return {
        int(q): mixture_weights(log_p[:, bins == q], iterations)
        for q in np.unique(bins)
    }, overall


def mixed_log_probabilities(log_p: FloatArray, weights: FloatArray) -> FloatArray:
    """log sum_k weight_k P_k from ``(K, ...)`` log-probabilities, in nats.

    ``weights`` are ``(K,)``, the same everywhere, or ``(K, T)``, some for each token.
    """
    weights = np.asarray(weights, np.float64)
    shape = weights.shape + (1,) * (log_p.ndim - weights.ndim)
    with np.errstate(divide="ignore"):
        logs = np.log(weights).reshape(shape)
    mixed: FloatArray = np.logaddexp.reduce(log_p + logs, axis=0)
    return mixed
