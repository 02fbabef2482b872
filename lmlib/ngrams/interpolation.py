"""Linear interpolation: relative frequencies of all orders, mixed. Chapter 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmlib.binned_mixture import BinnedMixture
from lmlib.language_model import NO_WORD, FloatArray
from lmlib.mixture import Mixture
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.contexts import cut_at_start
from lmlib.ngrams.counts import Counts, NgramCounts
from lmlib.ngrams.maximum_likelihood import maximum_likelihood
from lmlib.ngrams.smoothing import Groups, Smoothing
from lmlib.ngrams.trie import ABSENT, Trie
from lmlib.vocabulary import IntArray, Vocabulary


class _JelinekMercer(Smoothing):
    name = "Jelinek-Mercer"

    def __init__(self, counts: NgramCounts, weights: Sequence[float]) -> None:
        super().__init__(counts)
        self.weights = weights

    def taken(self, order: int, count: Counts, group: Groups) -> FloatArray:
        return count * (1 - self.weights[order - 1])


def jelinek_mercer(
    counts: NgramCounts, weights: Sequence[float], cutoffs: Sequence[int] = ()
) -> BackoffModel:
    """P_k(w | h) = lambda_k c(hw) / c(h) + (1 - lambda_k) P_{k-1}(w | h').

    ``weights`` are lambda_1 .. lambda_n, each inside (0, 1), for instance from
    ``jelinek_mercer_weights``. P_0 is uniform (Jelinek and Mercer 1980; Chen and
    Goodman 1998, section 2.3).
    """
    if len(weights) != counts.order or not all(0 < x < 1 for x in weights):
        raise ValueError(
            f"weights {list(weights)} for order {counts.order}: expected one for each "
            "order from 1 on, inside (0, 1), so that no word becomes impossible"
        )
    return _JelinekMercer(counts, weights).estimate(True, cutoffs)


def jelinek_mercer_weights(
    counts: NgramCounts, ids: IntArray, start: int = 0, iterations: int = 20
) -> list[float]:
    """lambda_1 .. lambda_n that suit a held-out text, by EM.

    EM finds the weight a_k of each order; lambda_k is a_k as a part of a_0 .. a_k.
    """
    parts = relative_frequencies(counts)
    a = Mixture.fit(parts, ids, start, iterations).weights  # (n + 1,)
    return [float(a[k] / a[: k + 1].sum()) for k in range(1, len(a))]


def deleted_interpolation(
    counts: NgramCounts,
    ids: IntArray,
    start: int = 0,
    iterations: int = 20,
    literal: bool = False,
) -> BinnedMixture:
    """The interpolated trigram of Bengio et al. (2003, p. 1147), at any order n >= 2.

    P(w | h) = a_0(q) p_0 + a_1(q) p_1(w) + ... + a_n(q) p_n(w | h)

    p_0 = 1 / |V|, the others are relative frequencies, and the weights depend on how
    often the context was seen: q = ceil(-log((1 + c(h)) / T)), T the size of the
    counted text. EM finds them on a held-out text (``ids`` from ``start`` on), never
    on the counted one: there the longest n-grams would take all the weight. The paper
    took about 5 iterations.

    Departures: where h was never seen, p_n(w | h) is 0 / 0 and stands for the relative
    frequency of the longest seen end of h, so that every answer sums to one; a bin
    that the held-out text lacks has the weights learned over all bins.

    ``literal=True`` takes 0 / 0 as 0, as the formula is often programmed. After a word
    that was never seen the answers then sum to less than one: for comparison only.
    """
    if counts.order < 2:
        raise ValueError(
            "deleted interpolation at order 1 has no context to bin by: count at "
            "least 2-grams, or use jelinek_mercer"
        )

    def bins(contexts: IntArray) -> IntArray:
        return frequency_bins(counts, contexts)

    parts = relative_frequencies(counts)
    if literal:
        parts[2:] = [_only_longest(model) for model in parts[2:]]
    return BinnedMixture.fit(parts, bins, counts.order - 1, ids, start, iterations)


def _only_longest(model: BackoffModel) -> BackoffModel:
    """The n-grams of the highest order keep their log P; all else is impossible."""
    log_p = [np.full(len(p), -np.inf) for p in model.log_p[:-1]]
    log_alpha = [np.zeros(len(a)) for a in model.log_alpha]
    return BackoffModel(
        model.vocabulary, model.trie, [*log_p, model.log_p[-1]], log_alpha, model.name
    )


def frequency_bins(counts: NgramCounts, contexts: IntArray) -> IntArray:
    """q = ceil(-log((1 + c(h)) / T)) of contexts ``(B, n - 1)``: rare ones are high.

    A context cut short by ``<s>`` or the text's beginning is counted as what is left.
    """
    contexts = cut_at_start(contexts, counts.vocabulary.start_id)
    seen = np.full(len(contexts), counts.tokens)
    nodes = counts.trie.last_nodes(contexts, counts.order - 1)
    for j, node in enumerate(nodes, start=1):
        seen[contexts[:, -j] != NO_WORD] = 0
        known = np.flatnonzero(node != ABSENT)
        seen[known] = counts.followed(j)[node[known]]
    q: IntArray = np.ceil(-np.log((1 + seen) / counts.tokens)).astype(np.int64)
    return q


def relative_frequencies(counts: NgramCounts) -> list[BackoffModel]:
    """p_0 .. p_n: uniform, then maximum likelihood of each order."""
    orders = range(1, counts.order + 1)
    return [
        uniform(counts.vocabulary),
        *(maximum_likelihood(counts.upto(k)) for k in orders),
    ]


def uniform(vocabulary: Vocabulary) -> BackoffModel:
    """P(w) = 1 / |V| for every word but ``<s>``, which has none."""
    words = len(vocabulary) - (vocabulary.start_id is not None)
    log_p = np.full(len(vocabulary), -np.log(words))
    if vocabulary.start_id is not None:
        log_p[vocabulary.start_id] = -np.inf
    return BackoffModel(vocabulary, Trie(len(vocabulary), []), [log_p], [], "uniform")
