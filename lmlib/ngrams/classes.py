"""Word classes: groups of words that keep the same company. Chapter 3."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmlib.ngrams.class_pairs import Classes, WordPairs
from lmlib.ngrams.counts import Counts
from lmlib.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Which class each word belongs to, and how that was found.

    Class ids are 0 to ``number`` - 1. ``<s>``, where there is one, is a class of its
    own, the last, beyond those that were asked for.
    """

    vocabulary: Vocabulary
    of: Classes  # (|V|,) class of each word
    number: int  # of classes
    counts: Counts  # (|V|,) how often each word was predicted in the text
    history: tuple[float, ...] = ()  # log-likelihood in nats, from the start on
    moves: tuple[int, ...] = ()  # words that changed their class, by pass

    def __post_init__(self) -> None:
        words, start_id = len(self.vocabulary), self.vocabulary.start_id
        if self.of.shape != (words,) or self.counts.shape != (words,):
            raise ValueError(
                f"classes of shape {self.of.shape} and counts of shape "
                f"{self.counts.shape}: expected one of each for the {words} words"
            )
        outside = np.flatnonzero((self.of < 0) | (self.of >= self.number))
        if len(outside):
            raise ValueError(
                f"{self.vocabulary.words[outside[0]]!r} is in class "
                f"{self.of[outside[0]]}, outside 0 to {self.number - 1}"
            )
        sizes = np.bincount(self.of, minlength=self.number)
        if not sizes.all():
            raise ValueError(
                f"class {int(sizes.argmin())} of {self.number} has no word, and what "
                "probability it gets would be lost: number the classes without gaps"
            )
        if start_id is not None and sizes[self.of[start_id]] > 1:
            raise ValueError(
                f"'<s>' shares its class with {sizes[self.of[start_id]] - 1} words, "
                "but it is never predicted and they are: give it a class of its own"
            )

    def class_words(self, longest: int | None = None) -> list[list[str]]:
        """The words of each class, most frequent first, at most ``longest`` of each.

        Equally frequent words are ordered by id.
        """
        order = np.lexsort((-self.counts, self.of))
        edges = np.searchsorted(self.of[order], np.arange(self.number + 1))
        return [
            self.vocabulary.decode(order[low:high][:longest])
            for low, high in itertools.pairwise(edges.tolist())
        ]

    @functools.cached_property
    def class_vocabulary(self) -> Vocabulary:
        """The classes as words, ``{the}`` for the class in which "the" leads."""
        start_id = self.vocabulary.start_id
        names = ["{" + leader + "}" for [leader] in self.class_words(1)]
        if start_id is not None:
            names[self.of[start_id]] = self.vocabulary.words[start_id]
        return Vocabulary(names, unknown=None)


def check_number(number: int, words: int) -> None:
    """``ValueError`` unless so many classes can be made of so many words."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise ValueError(f"{number!r} classes: expected an integer")
    if not 1 <= number <= words:
        raise ValueError(
            f"{number} classes cannot be made of the {words} different words that the "
            f"text holds: expected 1 to {words}"
        )


def finish(
    pairs: WordPairs,
    of: Classes,
    number: int,
    history: Sequence[float],
    moves: Sequence[int] = (),
) -> WordClasses:
    """The classes found, with a home for the words that the text does not hold.

    A word of the vocabulary that never occurs joins the class of the unknown symbol,
    which stands for the rare words of the text; where that symbol is missing or does
    not occur either, the class with the most words that occur once, or the last.
    """
    vocabulary = pairs.vocabulary
    unseen = pairs.occurrences == 0
    start_id, unknown_id = vocabulary.start_id, vocabulary.unknown_id
    if start_id is not None:
        unseen[start_id] = False
    if unknown_id is not None and not unseen[unknown_id]:
        home = int(of[unknown_id])
    else:
        once = np.bincount(of[pairs.occurrences == 1], minlength=1)
        home = int(once.argmax()) if once.any() else number - 1
    of = np.where(unseen, np.int32(home), of)
    total = number + (start_id is not None)
    return WordClasses(
        vocabulary, of, total, pairs.occurrences, tuple(history), tuple(moves)
    )
