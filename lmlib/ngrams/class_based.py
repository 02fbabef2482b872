"""A class-based n-gram model: first the class of the next word, then the word in it.

    P(w | h) = P(w | g(w)) P(g(w) | classes of h)

A trigram of classes sees in "on Tuesday morning" the same as in "on Friday evening",
so it needs far less text; the price is that within a class the context has no say
(Brown et al. 1992, section 3). It was the earlier answer to what word vectors do:
similar words share what is learned about one of them. Chapter 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lmlib.language_model import (
    NO_WORD,
    FloatArray,
    LanguageModel,
    check_contexts,
    check_stream,
)
from lmlib.ngrams.backoff import BackoffModel, Floats
from lmlib.ngrams.classes import WordClasses
from lmlib.ngrams.counts import NgramCounts, count_ngrams
from lmlib.ngrams.explain import Explanation
from lmlib.ngrams.kneser_ney import modified_kneser_ney
from lmlib.ngrams.smoothing import DegenerateCounts
from lmlib.ngrams.witten_bell import witten_bell
from lmlib.vocabulary import IntArray, Vocabulary, reject_string


class ClassBased(LanguageModel):
    """P(w | h) = P(w | g(w)) P(g(w) | classes of h), made by ``class_based``.

    ``class_model`` is any language model over ``classes.class_vocabulary``;
    ``log_membership`` is log P(w | g(w)) for every word, ``(|V|,)``.
    """

    def __init__(
        self,
        classes: WordClasses,
        class_model: LanguageModel,
        log_membership: Floats,
    ) -> None:
        if class_model.vocabulary != classes.class_vocabulary:
            raise ValueError(
                f"the class model chooses among {len(class_model.vocabulary)} words "
                f"that are not the {classes.number} classes: estimate it on "
                "classes.of[ids] with classes.class_vocabulary"
            )
        self.vocabulary: Vocabulary = classes.vocabulary
        self.context_size = class_model.context_size
        self.classes = classes
        self.class_model = class_model
        self.log_membership = log_membership

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log P(w | context) for every word, ``(B, k)`` to ``(B, |V|)``."""
        contexts = check_contexts(self.vocabulary, contexts, self.context_size)
        of = self.classes.of
        known = np.where(contexts == NO_WORD, 0, contexts)
        class_contexts = np.where(contexts == NO_WORD, NO_WORD, of[known])
        log_p = self.class_model.next_log_probabilities(class_contexts)  # (B, c)
        table: FloatArray = log_p[:, of]  # (B, |V|)
        table += self.log_membership
        return table

    def token_log_probabilities(self, ids: IntArray, start: int = 0) -> FloatArray:
        """log P of each token: of its class in the text, and of it in its class."""
        ids = check_stream(self.vocabulary, ids, start)
        of = self.classes.of
        log_p = self.class_model.token_log_probabilities(of[ids], start)
        total: FloatArray = log_p + self.log_membership[ids[start:]]
        return total

    def explain(self, context: Sequence[str], word: str) -> ClassExplanation:
        """Which order of the class model answers, and the word's part of its class.

        Raises ``ValueError`` where the class model is no back-off model.
        """
        if not isinstance(self.class_model, BackoffModel):
            raise ValueError(
                f"the classes are predicted by a {type(self.class_model).__name__}, "
                "and only a BackoffModel explains itself: choose such a smoother"
            )
        reject_string(context, "context")
        names, of = self.class_model.vocabulary.words, self.classes.of
        target = self.vocabulary.id(word)
        class_context = [names[of[i]] for i in self.vocabulary.encode(context)]
        return ClassExplanation(
            word=self.vocabulary.words[target],
            context=tuple(context),
            membership=float(np.exp(self.log_membership[target])),
            of_class=self.class_model.explain(class_context, names[of[target]]),
        )


@dataclass(frozen=True)
class ClassExplanation:
    """P(word | context) as two factors; ``print`` it to read it."""

    word: str
    context: tuple[str, ...]
    membership: float  # P(w | g(w))
    of_class: Explanation  # P(g(w) | classes of the context)

    @property
    def probability(self) -> float:
        """P(word | context)."""
        return self.membership * self.of_class.probability

    def __str__(self) -> str:
        given = " ".join(self.context) or "nothing before it"
        return (
            f"P({self.word} | {given}) = {self.of_class.probability:.4g} x "
            f"{self.membership:.4g} = {self.probability:.4g}: its class "
            f"{self.of_class.word} comes next, and it is {self.word} of that class.\n"
            f"{self.of_class}"
        )


def class_based(
    classes: WordClasses,
    ids: IntArray,
    order: int = 3,
    smoother: Callable[[NgramCounts], LanguageModel] | None = None,
) -> ClassBased:
    """Count n-grams of classes in a text and smooth them.

    ``smoother`` makes a model of the counts, such as ``katz``. None stands for modified
    Kneser-Ney, back-off, n-grams of order 3 and above dropped if they occur once: our
    reading of Table 1 in Bengio et al. (2003), which names neither smoothing nor
    cut-offs.

    Raises ``ValueError`` for ids of another vocabulary and for an unusable order.
    """
    ids = check_stream(classes.vocabulary, ids)
    counts = count_ngrams(classes.class_vocabulary, classes.of[ids], order)
    with warnings.catch_warnings():
        # No class is rare, so single classes give no discount, and need none.
        warnings.filterwarnings("ignore", r".* the 1-grams", DegenerateCounts)
        model = (smoother or _default)(counts)
    return ClassBased(classes, model, log_membership(classes, ids))


def log_membership(classes: WordClasses, ids: IntArray) -> Floats:
    """log P(w | g(w)) = log P(w) - log P(g(w)) for every word, in nats, ``(|V|,)``.

    P(w) is the relative frequency smoothed by Witten-Bell, so that words the text does
    not hold are possible too: a vocabulary built from more text than the classes were
    learned on has many of them (Brown: 794 of 17,907). ``<s>``, alone in its class, has
    probability 1.
    """
    unigrams = witten_bell(count_ngrams(classes.vocabulary, ids, 1))
    p = np.exp(unigrams.log_p[0])
    start_id = classes.vocabulary.start_id
    if start_id is not None:
        p[start_id] = 1
    total = np.bincount(classes.of, p, classes.number)
    log_p: Floats = np.log(p / total[classes.of])
    return log_p


def _default(counts: NgramCounts) -> LanguageModel:
    cutoffs = (0, 0, 1)[: counts.order]
    return modified_kneser_ney(counts, interpolated=False, cutoffs=cutoffs)
