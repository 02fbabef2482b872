"""Generating text: one word after the other, drawn from the model's own answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmlib.language_model import FloatArray, LanguageModel, context_windows
from lmlib.vocabulary import reject_string


def filter_log_probabilities(
    log_p: FloatArray,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> FloatArray:
    """Sharpen and truncate log-probabilities ``(..., |V|)``, then renormalise them.

    ``temperature`` divides the log-probabilities (0 keeps the single best word);
    ``top_k`` keeps the k most probable words; ``top_p`` keeps the smallest set whose
    probability reaches p (Holtzman et al. 2020). Ties go to the lower id.
    """
    if not temperature >= 0:  # NaN too
        raise ValueError(f"temperature={temperature}: expected 0 or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k} keeps no word: expected at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p}: expected above 0, at most 1")
    if temperature == 0:
        top_k, temperature = 1, 1.0
    with np.errstate(over="ignore"):  # near temperature 0 all but the best go to -inf
        best = np.max(log_p, axis=-1, keepdims=True)
        scaled = normalise((log_p - best) / temperature)
    if top_k is None and top_p is None:
        return scaled
    order = np.argsort(-scaled, axis=-1, kind="stable")
    ranked = np.take_along_axis(scaled, order, axis=-1)
    keep = np.ones(ranked.shape, bool)
    if top_k is not None:
        keep[..., top_k:] = False
    if top_p is not None:
        p = np.exp(ranked)
        keep &= np.cumsum(p, axis=-1) - p < top_p
    ranked = np.where(keep, ranked, -np.inf)
    out = np.empty_like(ranked)
    np.put_along_axis(out, order, ranked, axis=-1)
    return normalise(out)


def normalise(log_p: FloatArray) -> FloatArray:
    """Subtract the log of the sum, so that the last axis sums to one."""
    total: FloatArray = np.logaddexp.reduce(log_p, axis=-1, keepdims=True)
    return log_p - total


def generate(
    model: LanguageModel,
    length: int,
    generator: np.random.Generator,
    context: Sequence[str] = (),
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: str | None = None,
) -> list[str]:
    """Draw up to ``length`` words, one after the other; returns the new words only.

    ``stop`` ends the text early, once that word was drawn (it is included). The same
    generator state gives the same words.
    """
    if length < 0:
        raise ValueError(f"length={length}: expected 0 or more words")
    reject_string(context, "context")
    stop_id = None if stop is None else model.vocabulary.id(stop)
    ids = model.vocabulary.encode(context).tolist()
    begin = len(ids)
    while len(ids) < begin + length:
        width = model.window(len(ids))
        window = context_windows(
            np.array([*ids, 0]), width, model.vocabulary.start_id, len(ids)
        )
        log_p = model.next_log_probabilities(window)[0]  # (|V|,)
        p = np.exp(filter_log_probabilities(log_p, temperature, top_k, top_p))
        # Inverse of the distribution function: one uniform number a word.
        total = np.cumsum(p)
        ids.append(int(np.searchsorted(total, generator.random() * total[-1], "right")))
        if ids[-1] == stop_id:
            break
    return model.vocabulary.decode(ids[begin:])
