"""Entropy pruning: drop the n-grams that the model can do without (Stolcke 1998)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lmlib.ngrams.backoff import BackoffModel, Floats
from lmlib.ngrams.smoothing import Groups, compress


def prune(model: BackoffModel, threshold: float) -> BackoffModel:
    """The model without the n-grams whose loss costs least; it still sums to one.

    Dropping hw changes P(w | h) to alpha'(h) P(w | h'), and the training perplexity by
    a factor exp(D), where D is the relative entropy (Stolcke 1998)

        D = -P(h) { P(w | h) [log P(w | h') + log alpha'(h) - log P(w | h)]
                    + [log alpha'(h) - log alpha(h)] (1 - sum_v P(v | h)) }

    with the sum over all hv in the table, and P(h) the model's own probability of the
    context. N-grams with
    exp(D) - 1 < ``threshold`` are dropped, the longest first; one that begins a longer
    kept n-gram stays. Back-off weights are then worked out anew. SRILM's ``-prune``
    does the same.

    Raises ``ValueError`` for a negative threshold, and for a model whose contexts leave
    nothing to back off to (maximum likelihood).
    """
    if not threshold >= 0:
        raise ValueError(
            f"threshold {threshold}: expected 0 or more, the relative rise of "
            "perplexity below which an n-gram is dropped, such as 1e-8"
        )
    trie, order = model.trie, model.order
    if any(not np.isfinite(a).all() for a in model.log_alpha):
        raise ValueError(
            f"{model!r} has back-off weights of zero: what is pruned would become "
            "impossible; prune a smoothed model"
        )
    log_context = _context_log_probabilities(model)
    keep = [np.full(trie.size(k), True) for k in range(1, order + 1)]
    log_alpha = [np.zeros(trie.size(k)) for k in range(1, order)]
    for k in range(order, 1, -1):
        group = Groups(trie.parents(k))
        log_p = model.log_p[k - 1]
        log_below = model.last_log_probabilities(trie.rows(k)[:, 1:])
        p, below = np.exp(log_p), np.exp(log_below)
        reserve, free = _left(group, p), _left(group, below)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = np.log(group.spread(reserve) + p) - np.log(group.spread(free) + below)
            old = np.log(reserve) - np.log(free)
            change = new - group.spread(old)
            cost = p * (log_below + new - log_p) + group.spread(reserve) * change
            rise = np.expm1(-np.exp(log_context[k - 2][group.parents]) * cost)
        # Where nothing is left to compare with (nan), the n-gram stays.
        kept = ~(rise < threshold)
        if k < order:
            kept[trie.parents(k + 1)[keep[k]]] = True
        keep[k - 1] = kept
        # The lower orders are pruned later, so their P(w | h') changes a little: the
        # weights are made right at the end.
    pruned_trie, kept_p, kept_alpha = compress(trie, model.log_p, log_alpha, keep)
    pruned = BackoffModel(
        model.vocabulary,
        pruned_trie,
        kept_p,
        kept_alpha,
        f"{model.name}, pruned at {threshold:g}",
        model.smoothing,
        model.interpolated,
    )
    set_back_off_weights(pruned)
    return pruned


def set_back_off_weights(model: BackoffModel) -> None:
    """alpha(h) = (1 - sum_w p(w | h)) / (1 - sum_w P(w | h')), from the bottom up.

    Sums are over the n-grams hw of the table. This makes every context sum to one.
    """
    trie = model.trie
    for k in range(2, model.order + 1):
        group = Groups(trie.parents(k))
        below = np.exp(model.last_log_probabilities(trie.rows(k)[:, 1:]))
        reserve = _left(group, np.exp(model.log_p[k - 1]))
        free = _left(group, below)
        usable = (reserve > 0) & (free > 0)
        log_alpha = np.zeros(trie.size(k - 1))
        log_alpha[group.contexts[usable]] = np.log(reserve[usable] / free[usable])
        model.log_alpha[k - 2] = log_alpha


def _left(group: Groups, p: Floats) -> NDArray[np.float64]:
    return 1 - group.sum(p)


def _context_log_probabilities(model: BackoffModel) -> list[Floats]:
    """log P(w_1 .. w_k) of each n-gram as a context, by the chain rule."""
    first = model.log_p[0].copy()
    vocabulary = model.vocabulary
    start_id = vocabulary.start_id
    if start_id is not None:
        # <s> is never predicted but stands before every sentence: it is as frequent
        # as </s>, where there is one.
        ends = "</s>" in vocabulary
        first[start_id] = first[vocabulary.id("</s>")] if ends else 0.0
    out = [first]
    for k in range(2, model.order):
        out.append(out[-1][model.trie.parents(k)] + model.log_p[k - 1])
    return out
