"""Smoothing: take a little from every count, give it to what was not counted.

A method says how much it takes, d(hw), from the count c(hw) of each n-gram. What is
left is the n-gram's share, and what was taken is the context's reserve:

    share(w | h) = (c(hw) - d(hw)) / c(h)        gamma(h) = sum_w d(hw) / c(h)

*Interpolated*, every word gets its share plus a part of the reserve:

    P(w | h) = share(w | h) + gamma(h) P(w | h')

*Back-off*, only the words not counted after h divide the reserve:

    P(w | h) = share(w | h)                                         if c(hw) > 0
             = gamma(h) / (1 - sum_{v: c(hv) > 0} P(v | h')) P(w | h')  if not

Below the unigrams stands the uniform distribution over all words but ``<s>``; the
unigrams' reserve is always spread over it evenly. (Chen and Goodman 1998, section 2.)

Two cases the formulas leave open. A context whose n-grams lose nothing (as Katz leaves
counts above 5) would make new words impossible: its total is counted as one more than
it is, and the reserve is that one. A context after which every word was counted has
nothing to back off to: its shares are divided by their sum. Chapter 3.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmlib.language_model import FloatArray
from lmlib.ngrams.backoff import BackoffModel, Floats
from lmlib.ngrams.counts import Counts, NgramCounts
from lmlib.ngrams.trie import Nodes, Trie

STRETCH = 2**16  # n-grams worked on at a time: their arrays stay in the cache


class DegenerateCounts(UserWarning):
    """A text whose counts of counts give no usable discount; says what is used."""


def announce(method: str, order: int, n: Sequence[int], instead: str) -> None:
    """Warn that the counts of counts of an order give no usable discount."""
    found = ", ".join(f"n_{r} = {n_r}" for r, n_r in enumerate(n, start=1))
    warnings.warn(
        f"{method} finds no usable discount for the {order}-grams of this text "
        f"({found}): {instead} their counts instead",
        DegenerateCounts,
        stacklevel=2,
    )


class Smoothing(ABC):
    """One method: which counts it uses and what it takes from them."""

    name: str
    reserves = True  # False only for maximum likelihood, which takes nothing

    def __init__(self, counts: NgramCounts) -> None:
        self.counts = counts
        self.used = self.effective_counts()

    def effective_counts(self) -> list[Counts]:
        """The counts c(hw) by order from 1: as counted, unless a method says else."""
        return [self.counts.of(k) for k in range(1, self.counts.order + 1)]

    def count_in_words(self, order: int, count: int) -> str:
        """What a count means, for ``explain``."""
        return f"was counted {count} time{'s' * (count != 1)}"

    @abstractmethod
    def taken(self, order: int, count: Counts, group: Groups) -> FloatArray:
        """d(hw) of n-grams of an order, given their counts and contexts."""

    def shares(self, order: int, count: Counts, group: Groups) -> tuple[Floats, Floats]:
        """share(w | h) of each n-gram, and gamma(h) of each context."""
        taken = self.taken(order, count, group)
        total = group.sum(count).astype(np.float64)
        reserve = group.sum(taken)
        empty = total == 0  # nothing was counted in this context
        total[empty] = reserve[empty] = 1
        kept = count - taken
        if self.reserves and not reserve.all():
            total[reserve == 0] += 1
            reserve[reserve == 0] = 1
        return kept / group.spread(total), reserve / total

    def estimate(self, interpolated: bool, cutoffs: Sequence[int] = ()) -> BackoffModel:
        """The model as one table of n-grams.

        ``cutoffs[k - 1]`` drops the n-grams of order k >= 2 that occur that often or
        less, and their extensions, after totals and discounts were taken: their share
        goes to the reserve. The last cut-off holds for all higher orders.
        """
        counts = self.counts
        cutoffs = check_cutoffs(cutoffs, counts.order)
        p = self._unigrams()
        keep, log_p, log_alpha = [np.full(len(p), True)], [], []
        for k in range(2, counts.order + 1):
            keep.append(np.empty(counts.trie.size(k), bool))
            below, p = p, np.empty(counts.trie.size(k))
            weights = np.ones(len(below))
            for part in counts.trie.stretches(k, STRETCH):
                group = Groups(counts.trie.parents(k, part))
                kept = keep[-2][group.parents] & (counts.of(k)[part] > cutoffs[k - 1])
                p_below = below[counts.shorter(k)[part]]
                count = self.used[k - 1][part]
                p[part], weights[group.contexts] = self._probabilities(
                    k, count, group, kept, p_below, interpolated
                )
                keep[-1][part] = kept
            log_p.append(_log(below))
            log_alpha.append(_log(weights))
        log_p.append(_log(p))
        how = "interpolated" if interpolated else "back-off"
        name = f"{self.name}, {how}" if self.reserves else self.name
        trie = counts.trie
        if any(cutoffs):
            name += f", cut-offs {' '.join(map(str, cutoffs))}"
            trie, log_p, log_alpha = compress(trie, log_p, log_alpha, keep)
        return BackoffModel(
            counts.vocabulary, trie, log_p, log_alpha, name, self, interpolated
        )

    def _probabilities(
        self,
        order: int,
        count: Counts,
        group: Groups,
        kept: NDArray[np.bool_],
        p_below: Floats,
        interpolated: bool,
    ) -> tuple[Floats, Floats]:
        """P of n-grams of an order, all those of some contexts, and these' alpha."""
        share, gamma = self.shares(order, count, group)
        seen = kept & (count > 0)
        everything = bool(seen.all())
        if not everything:
            gamma = gamma + group.sum(np.where(seen, 0, share))
            share = np.where(seen, share, 0)
        if interpolated:
            share += group.spread(gamma) * p_below
            return share, gamma
        # Where all words were seen there is nothing left to back off to.
        full = group.sum(seen.astype(np.int64)) == predictable(self.counts)
        less = group.sum(p_below if everything else np.where(seen, p_below, 0))
        less[full] = 0
        alpha = gamma / (1 - less)
        if full.any():
            alpha[full] = 1
            share /= group.spread(np.where(full, 1 - gamma, 1))
        if not everything:
            share = np.where(seen, share, group.spread(alpha) * p_below)
        return share, alpha

    def _unigrams(self) -> Floats:
        """P(w), the reserve spread evenly over all words but ``<s>``."""
        count = self.used[0]
        share, gamma = self.shares(1, count, Groups(np.zeros(len(count), np.int32)))
        p = share + gamma / predictable(self.counts)
        if self.counts.vocabulary.start_id is not None:
            p[self.counts.vocabulary.start_id] = 0
        return p


class DiscountTable(Smoothing):
    """A method whose d depends on the order and the count alone.

    ``discounts[k - 1][r]`` is taken from an n-gram of order k with count r; larger
    counts than the table holds lose what its last entry says.
    """

    def __init__(self, counts: NgramCounts) -> None:
        super().__init__(counts)
        self.discounts = [
            np.asarray(self.table(k, self.used[k - 1]), np.float64)
            for k in range(1, counts.order + 1)
        ]

    @abstractmethod
    def table(self, order: int, count: Counts) -> Sequence[float]:
        """Discounts of the counts 0, 1, 2, ... at an order."""

    def taken(self, order: int, count: Counts, group: Groups) -> FloatArray:
        """The table's entry for each count."""
        table = self.discounts[order - 1]
        return table[np.minimum(count, len(table) - 1)]


class Groups:
    """N-grams that stand together because they share their context."""

    def __init__(self, parents: Nodes) -> None:
        self.parents = parents
        first = np.empty(len(parents), bool)
        first[:1] = True
        np.not_equal(parents[1:], parents[:-1], out=first[1:])
        self.starts = np.flatnonzero(first)
        self.contexts = parents[self.starts]
        self.sizes = np.diff(self.starts, append=len(parents))

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum over the n-grams of each context."""
        if not len(self.starts):
            return values[:0].copy()
        summed: NDArray[Any] = np.add.reduceat(values, self.starts)
        return summed

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value of each context, given to all its n-grams."""
        return np.repeat(values, self.sizes)


def predictable(counts: NgramCounts) -> int:
    """Number of words a model chooses from: all but ``<s>``."""
    return len(counts.vocabulary) - (counts.vocabulary.start_id is not None)


def compress(
    trie: Trie,
    log_p: Sequence[Floats],
    log_alpha: Sequence[Floats],
    keep: Sequence[NDArray[np.bool_]],
) -> tuple[Trie, list[Floats], list[Floats]]:
    """The table without the n-grams that are not kept; contexts must be kept."""
    keys = []
    new = np.arange(trie.words, dtype=np.int32)  # number after dropping
    for k in range(2, trie.order + 1):
        kept = np.flatnonzero(keep[k - 1])
        keys.append(trie.pack(new[trie.parents(k)[kept]], trie.last_words_of(k, kept)))
        new = np.cumsum(keep[k - 1], dtype=np.int32) - np.int32(1)
    return (
        Trie(trie.words, keys),
        [p[kept] for p, kept in zip(log_p, keep, strict=True)],
        [a[kept] for a, kept in zip(log_alpha, keep[:-1], strict=True)],
    )


def check_cutoffs(cutoffs: Sequence[int], order: int) -> list[int]:
    """One cut-off an order, the last one repeated; ``ValueError`` if unusable."""
    given = list(cutoffs) or [0]
    if len(given) > order or min(given) < 0 or given[0] != 0:
        raise ValueError(
            f"cut-offs {given} for order {order}: expected at most one an order, none "
            "negative, and 0 for single words (merge rare words when the vocabulary "
            "is built instead)"
        )
    return given + given[-1:] * (order - len(given))


def _log(p: Floats) -> Floats:
    """The logarithms, in the place of what they are taken of."""
    with np.errstate(divide="ignore"):
        return np.log(p, out=p)
