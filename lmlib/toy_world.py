"""A toy world: our own grammar, whose true distribution is known exactly.

Cats and dogs walk in rooms and bedrooms, kings lose their crowns, and every sentence
has a probability one can compute with fractions. So every model of the book can be
held against the truth: no model predicts better than the world's own entropy, and the
distance to it is what the model has not learned.

A sentence is drawn in two steps: first a *pattern*, then a word for each of its slots,
independently. Facts that tie words together (cats eat fish, a queen loses *her* crown)
are separate patterns. The patterns are listed in ``_patterns``, to be read aloud.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lmlib.language_model import (
    NO_WORD,
    FloatArray,
    LanguageModel,
    check_contexts,
)
from lmlib.vocabulary import IntArray, Vocabulary, reject_string

STOP = "."  # ends every sentence; what follows does not depend on what came before

# singular, plural, what it eats
ANIMALS = (
    ("cat", "cats", "fish"),
    ("dog", "dogs", "meat"),
    ("horse", "horses", "hay"),
    ("bird", "birds", "seeds"),
    ("mouse", "mice", "cheese"),
    ("cow", "cows", "grass"),
)
# he, she, what they own
PEOPLE = (
    ("man", "woman", "coat"),
    ("king", "queen", "crown"),
    ("prince", "princess", "ring"),
    ("boy", "girl", "kite"),
    ("father", "mother", "lamp"),
    ("brother", "sister", "clock"),
)
# -ing, present, past, how it is done, and the more general verb that it entails
ACTIONS = (
    ("walking", "walks", "walked", "slowly", "moving"),
    ("running", "runs", "ran", "quickly", "moving"),
    ("jumping", "jumps", "jumped", "high", "moving"),
    ("playing", "plays", "played", "happily", "moving"),
    ("sleeping", "sleeps", "slept", "deeply", "resting"),
    ("sitting", "sits", "sat", "quietly", "resting"),
)
PLACES = ("room", "bedroom", "kitchen", "garden", "house", "market")

Slot = tuple[tuple[str, Fraction], ...]  # words and their probabilities
Suffix = tuple[Slot, ...]  # the slots still to come


def _slot(words: str | Iterable[str]) -> Slot:
    """Equally likely words; one that is named twice is twice as likely."""
    names = words.split() if isinstance(words, str) else list(words)
    weights: dict[str, Fraction] = {}
    for name in names:
        weights[name] = weights.get(name, Fraction(0)) + Fraction(1, len(names))
    return tuple(weights.items())


def _patterns() -> Iterator[tuple[int, list[str]]]:
    """The grammar: pairs (weight, slots), each slot a choice of words."""
    singular = " ".join([a[0] for a in ANIMALS] + [w for p in PEOPLE for w in p[:2]])
    plural = " ".join(a[1] for a in ANIMALS)
    doing = " ".join([a[0] for a in ACTIONS] + ["moving", "resting"])
    where = ["in", "the a", " ".join(PLACES)]

    # "the cat is walking in the bedroom", "a dog was running in a room"
    yield 3240, ["the a", singular, "is was", doing, *where]
    yield 180, ["the an", "animal", "is was", doing, *where]
    yield 180, ["the a", "person", "is was", doing, *where]
    # "some cats were sleeping in the garden"
    yield 1200, ["the some", plural, "are were", doing, *where]
    # "I love cats", "they adore dogs"
    yield 1200, ["I you we they", "love adore like admire", plural]
    for one, many, food in ANIMALS:  # "the cat eats fish", "some cats eat fish"
        yield 120, ["the a", one, "eats ate", food]
        yield 80, ["the some", many, "eat ate", food]
    for he, she, thing in PEOPLE:  # "the queen lost her crown"
        for person, own, pronoun in ((he, "his", "he"), (she, "her", "she")):
            yield 150, ["the a", person, "lost found sold kept", own, thing]
            # "the king says he is tired"
            yield 50, ["the a", person, "says", pronoun, "is", "tired hungry happy"]
            yield 50, ["the a", person, "said", pronoun, "was", "tired hungry happy"]
    for ing, present, past, how, _ in ACTIONS:  # "a boy walks slowly today"
        yield 75, ["the a", singular, present, how, "today"]
        yield 75, ["the a", singular, past, how, "yesterday"]
        yield 50, ["the a", singular, "is", ing, how, "now"]


@dataclass(frozen=True, eq=False)
class _State:
    """What is known after some words: the possible continuations and their odds."""

    odds: tuple[tuple[Suffix, Fraction], ...]
    next: dict[str, tuple[Fraction, _State | None]] = field(default_factory=dict)


class ToyWorld(LanguageModel):
    """The true distribution, as a language model like any other.

    A context is read from its last ``.`` on. Where it is no beginning of any sentence
    of the world, the truth is silent and the answer is uniform.

    >>> world = ToyWorld()
    >>> round(world.perplexity, 2)
    4.93
    """

    def __init__(self) -> None:
        total = sum(weight for weight, _ in _patterns())
        start: dict[Suffix, Fraction] = {}
        for weight, slots in _patterns():
            suffix = (*(_slot(words) for words in slots), _slot(STOP))
            start[suffix] = start.get(suffix, Fraction(0)) + Fraction(weight, total)
        self._states: dict[frozenset[tuple[Suffix, Fraction]], _State] = {}
        self._start = self._state(start)
        words = {w for suffix in start for slot in suffix for w, _ in slot}
        self.vocabulary = Vocabulary([STOP, *sorted(words - {STOP})], unknown=None)
        # A window that always reaches back to the last full stop.
        self.context_size = max(map(len, start))
        self._tables: dict[int, FloatArray] = {}

    def _state(self, odds: dict[Suffix, Fraction]) -> _State:
        key = frozenset(odds.items())
        if key not in self._states:
            state = self._states[key] = _State(tuple(odds.items()))
            follow: dict[str, dict[Suffix, Fraction]] = {}
            for (slot, *rest), weight in state.odds:
                for word, p in slot:
                    branch = follow.setdefault(word, {})
                    suffix = tuple(rest)
                    branch[suffix] = branch.get(suffix, Fraction(0)) + weight * p
            for word, branch in follow.items():
                p_word = sum(branch.values(), Fraction(0))
                rest_odds = {s: w / p_word for s, w in branch.items()}
                after = None if () in rest_odds else self._state(rest_odds)
                state.next[word] = (p_word, after)
        return self._states[key]

    def sentence_probability(self, sentence: Sequence[str]) -> Fraction:
        """P(sentence), exactly, for words that end with a full stop."""
        reject_string(sentence, "sentence")
        p, state = Fraction(1), self._start
        for i, word in enumerate(sentence):
            p_word, after = state.next.get(word, (Fraction(0), None))
            p *= p_word
            if after is None:
                return p if p_word and i == len(sentence) - 1 else Fraction(0)
            state = after
        return Fraction(0)  # the sentence did not end

    @functools.cached_property
    def sentence_entropy(self) -> float:
        """-sum P(s) log P(s) over all sentences, in nats: exact up to rounding.

        The chain rule again: the entropies of the next word, added up over every
        state, weighted by how often a sentence passes through it.
        """
        return math.fsum(
            float(visits) * -math.fsum(float(p) * math.log(p) for p in odds)
            for visits, odds in self._visits()
        )

    @functools.cached_property
    def mean_length(self) -> Fraction:
        """Expected tokens per sentence, the full stop included."""
        return sum((visits for visits, _ in self._visits()), Fraction(0))

    def _visits(self) -> Iterator[tuple[Fraction, list[Fraction]]]:
        level: dict[_State, Fraction] = {self._start: Fraction(1)}
        while level:
            below: dict[_State, Fraction] = {}
            for state, visits in level.items():
                yield visits, [p for p, _ in state.next.values()]
                for p, after in state.next.values():
                    if after is not None:
                        below[after] = below.get(after, Fraction(0)) + visits * p
            level = below

    @property
    def entropy(self) -> float:
        """Nats per token: the floor under every model's cross-entropy.

        Sentences are independent, so this is the entropy of one sentence over its
        mean length.
        """
        return self.sentence_entropy / float(self.mean_length)

    @property
    def perplexity(self) -> float:
        """exp(entropy): the perplexity per token of a model that knows everything."""
        return math.exp(self.entropy)

    def sample(
        self,
        sentences: int,
        generator: np.random.Generator,
        without: Iterable[Sequence[str]] = (),
    ) -> list[str]:
        """Draw sentences as one stream of tokens; those in ``without`` never appear."""
        if sentences < 1:
            raise ValueError(f"sentences={sentences}: expected at least 1")
        banned = {tuple(sentence) for sentence in without}
        tokens: list[str] = []
        while sentences:
            drawn = self._draw(generator)
            if tuple(drawn) not in banned:
                tokens += drawn
                sentences -= 1
        return tokens

    def _draw(self, generator: np.random.Generator) -> list[str]:
        words: list[str] = []
        state: _State | None = self._start
        while state is not None:
            mark = generator.random()
            for word, (p, after) in state.next.items():  # noqa: B007
                mark -= float(p)
                if mark < 0:
                    break
            words.append(word)
            state = after
        return words

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """The true log P(w | words since the last full stop), ``(B, |V|)``, nats."""
        contexts = check_contexts(self.vocabulary, contexts)
        return np.stack(
            [self._table(self._after(row)) for row in contexts.tolist()]
            or [np.empty((0, len(self.vocabulary)))]
        ).reshape(-1, len(self.vocabulary))

    def _after(self, row: list[int]) -> _State | None:
        words = [self.vocabulary.words[i] for i in row if i != NO_WORD]
        if STOP in words:
            words = words[len(words) - words[::-1].index(STOP) :]
        state: _State | None = self._start
        for word in words:
            state = state.next.get(word, (0, None))[1] if state else None
        return state

    def _table(self, state: _State | None) -> FloatArray:
        if id(state) not in self._tables:
            p = np.zeros(len(self.vocabulary))
            if state is None:
                p[:] = 1 / len(p)
            else:
                for word, (p_word, _) in state.next.items():
                    p[self.vocabulary.id(word)] = float(p_word)
            with np.errstate(divide="ignore"):
                self._tables[id(state)] = np.log(p)
        return self._tables[id(state)]


def categories() -> dict[str, str]:
    """The grammar's own word classes: content word to name of its class."""
    classes = {
        "animal": [a[0] for a in ANIMALS],
        "animals": [a[1] for a in ANIMALS],
        "food": [a[2] for a in ANIMALS],
        "person": [w for p in PEOPLE for w in p[:2]],
        "possession": [p[2] for p in PEOPLE],
        "doing": [a[0] for a in ACTIONS] + ["moving", "resting"],
        "does": [a[1] for a in ACTIONS],
        "did": [a[2] for a in ACTIONS],
        "how": [a[3] for a in ACTIONS],
        "place": list(PLACES),
        "who": ["I", "you", "we", "they"],
        "liking": ["love", "adore", "like", "admire"],
        "feeling": ["tired", "hungry", "happy"],
    }
    return {word: name for name, words in classes.items() for word in words}


def analogies() -> dict[str, list[tuple[str, str, str, str]]]:
    """Questions a : b = c : d by relation, every ordered pair of pairs."""
    relations = {
        "male : female": [p[:2] for p in PEOPLE],
        "singular : plural": [a[:2] for a in ANIMALS],
        "present : past": [a[1:3] for a in ACTIONS],
        "doing : does": [a[:2] for a in ACTIONS],
    }
    return {
        name: [(a, b, c, d) for a, b in pairs for c, d in pairs if a != c]
        for name, pairs in relations.items()
    }
