"""Stupid back-off: relative frequencies and a fixed factor. Not a probability."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from lmlib.language_model import NO_WORD, FloatArray, check_contexts, check_stream
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.contexts import available, cut_at_start
from lmlib.ngrams.counts import NgramCounts
from lmlib.ngrams.explain import Explanation, explain
from lmlib.ngrams.maximum_likelihood import maximum_likelihood
from lmlib.ngrams.trie import ABSENT
from lmlib.vocabulary import IntArray


class StupidBackoff:
    """S(w | h) = c(hw) / c(h) if hw was seen, else factor * S(w | h').

    Brants et al. (2007), with factor 0.4. The scores of a context do not sum to
    one, so there is no perplexity, and this is no ``LanguageModel``: mixing it or
    comparing it with one would mean nothing. A word never seen has score 0.
    """

    def __init__(self, counts: NgramCounts, factor: float = 0.4) -> None:
        if not 0 < factor <= 1:
            raise ValueError(
                f"factor={factor}: expected above 0, so that shorter n-grams have a "
                "say, and at most 1"
            )
        self.counts = counts
        self.vocabulary = counts.vocabulary
        self.factor = factor
        plain = maximum_likelihood(counts)
        weights = [np.full(len(a), np.log(factor)) for a in plain.log_alpha]
        self._table = BackoffModel(
            self.vocabulary, plain.trie, plain.log_p, weights, "stupid back-off"
        )
        self.context_size = self._table.context_size

    def next_log_scores(self, contexts: IntArray) -> FloatArray:
        """log S(w | context) for every word, ``(B, k)`` to ``(B, |V|)``."""
        contexts = check_contexts(self.vocabulary, contexts, self.context_size)
        contexts = cut_at_start(contexts, self.vocabulary.start_id)
        missed = np.zeros(len(contexts), np.int64)  # contexts not in the table
        for j, node in enumerate(
            self._table.trie.last_nodes(contexts, self.context_size), start=1
        ):
            missed += (node == ABSENT) & (contexts[:, -j] != NO_WORD)
        table = self._table.next_log_probabilities(contexts)
        scores: FloatArray = table + (np.log(self.factor) * missed)[:, None]
        return scores

    def token_log_scores(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log S of each token of a text from ``start`` on, ``(T - start,)``."""
        ids = check_stream(self.vocabulary, ids, start)
        missed = available(ids, self.context_size, self.vocabulary.start_id)
        walk = self._table.trie.walk(ids)
        for node in itertools.islice(walk, self.context_size):
            missed[1:] -= node[:-1] != ABSENT
        scores = self._table.token_log_probabilities(ids, start)
        scores += np.log(self.factor) * missed[start:]
        return scores

    def explain(self, context: Sequence[str], word: str) -> Explanation:
        """Which order answered, with each factor on the way."""
        return explain(self._table, context, word, absent=self.factor)
