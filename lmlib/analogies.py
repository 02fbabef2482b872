"""Analogies: a is to b as c is to which word? By arithmetic on vectors. Chapter 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmlib.embeddings import Embeddings, FloatArray
from lmlib.vocabulary import IntArray

Question = tuple[str, str, str, str]  # a : b = c : d

METHODS = ("3CosAdd", "3CosMul", "only c")
_CHUNK = 1024  # questions answered at once
_EPSILON = 1e-3  # Levy and Goldberg's, against division by zero


@dataclass(frozen=True)
class Analogies:
    """The answers to some questions, one entry a question.

    ``ranks`` is 1 where the expected word came first. ``own_word_first`` says where
    one of the question's own three words scored above every other: without the usual
    rule that excludes them, the answer would have been that word.
    """

    questions: tuple[Question, ...]
    answers: tuple[str, ...]
    ranks: tuple[int, ...]
    own_word_first: tuple[bool, ...]

    @property
    def accuracy(self) -> float:
        """Share of the questions whose expected word ranked first."""
        return sum(rank == 1 for rank in self.ranks) / len(self.ranks)

    @property
    def accuracy_without_exclusion(self) -> float:
        """The same, had the question's own words been allowed as answers."""
        pairs = zip(self.ranks, self.own_word_first, strict=True)
        return sum(rank == 1 and not own for rank, own in pairs) / len(self.ranks)


def solve(
    embeddings: Embeddings, questions: Sequence[Question], method: str = "3CosAdd"
) -> Analogies:
    """Answer questions a : b = c : d, the words a, b and c excluded as answers.

    With unit vectors, the answer is the word x that maximises

    - "3CosAdd": cos(x, b) - cos(x, a) + cos(x, c) (Mikolov et al. 2013c), that is, x
      nearest to b - a + c;
    - "3CosMul": cos(x, b) cos(x, c) / (cos(x, a) + 0.001), cosines moved to 0..1 (Levy
      and Goldberg 2014a), where one large term cannot drown the others;
    - "only c": cos(x, c), which ignores the relation. What it gets right, it gets
      right because d is simply near c (Linzen 2016): the baseline to beat.

    Raises ``ValueError`` for an unknown word, a zero vector, a question with d among
    a, b, c, an unknown method, or no question at all.
    """
    if method not in METHODS:
        raise ValueError(
            f"method={method!r} is not known: expected one of {', '.join(METHODS)}"
        )
    _check_questions(questions)
    words = embeddings.directed(w for question in questions for w in question)
    rows = words.reshape(-1, 4)  # (q, 4)
    answers: list[str] = []
    ranks: list[int] = []
    own: list[bool] = []
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        scores = _scores(embeddings.directions, part, method)  # (q, |V|)
        scores[:, embeddings.is_zero] = -np.inf
        at = np.arange(len(part))
        best_own = scores[at[:, None], part[:, :3]].max(1)
        scores[at[:, None], part[:, :3]] = -np.inf
        best = scores.argmax(1)
        expected = scores[at, part[:, 3]]
        answers += [embeddings.vocabulary.words[i] for i in best.tolist()]
        ranks += (1 + (scores > expected[:, None]).sum(1)).tolist()
        own += (best_own > scores[at, best]).tolist()
    return Analogies(tuple(questions), tuple(answers), tuple(ranks), tuple(own))


def solve_relations(
    embeddings: Embeddings,
    relations: Mapping[str, Sequence[Question]],
    method: str = "3CosAdd",
) -> dict[str, Analogies]:
    """``solve`` for each relation by itself: relation to answers."""
    return {
        name: solve(embeddings, questions, method)
        for name, questions in relations.items()
    }


def chance(embeddings: Embeddings) -> float:
    """Accuracy of guessing: one word among all but the question's own three."""
    if len(embeddings) < 4:
        raise ValueError(
            f"an analogy needs 4 words, but there are only {len(embeddings)}"
        )
    return 1 / (len(embeddings) - 3)


def _scores(directions: FloatArray, rows: IntArray, method: str) -> FloatArray:
    """Score of every word for every question, ``(q, |V|)``."""
    a, b, c = (directions[rows[:, i]] for i in range(3))  # each (q, m)
    every = directions.T
    result: FloatArray
    if method == "only c":
        result = c @ every
    elif method == "3CosAdd":
        result = (b - a + c) @ every
    else:
        like_a, like_b, like_c = ((x @ every + 1) / 2 for x in (a, b, c))
        result = like_b * like_c / (like_a + _EPSILON)
    return result


def _check_questions(questions: Sequence[Question]) -> None:
    if not questions:
        raise ValueError("there are no questions: expected at least one (a, b, c, d)")
    for question in questions:
        if len(question) != 4:
            raise ValueError(
                f"question {question!r} has {len(question)} words: expected four, "
                "a : b = c : d"
            )
        if question[3] in question[:3]:
            raise ValueError(
                f"in question {question!r} the answer {question[3]!r} is one of the "
                "question's own words, which are never answers"
            )
