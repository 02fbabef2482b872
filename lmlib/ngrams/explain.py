"""Why this probability? A model's answer to one question, step by step in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lmlib.ngrams.contexts import cut_at_start
from lmlib.ngrams.trie import ABSENT
from lmlib.vocabulary import reject_string

if TYPE_CHECKING:
    from lmlib.ngrams.backoff import BackoffModel

UNIFORM = 0  # the order below the unigrams


@dataclass(frozen=True)
class Discounted:
    """A count and what became of it: ``share`` is (count - discount) / total."""

    count: int
    discount: float
    total: float
    share: float
    reserve: float  # gamma of the context
    meaning: str  # of the count, in words


@dataclass(frozen=True)
class Step:
    """What one order had to say about the word.

    ``found``: the n-gram is in the table and answers with ``probability``. If not, the
    question goes to the next shorter context, and its answer is multiplied by
    ``back_off``, which is 1 where the context itself was never seen.
    """

    order: int
    context: tuple[str, ...]
    found: bool
    probability: float
    back_off: float
    context_known: bool
    discounted: Discounted | None


@dataclass(frozen=True)
class Explanation:
    """P(word | context) and the steps that led to it; ``print`` it to read it."""

    word: str
    context: tuple[str, ...]
    log_probability: float
    order: int  # of the n-gram that answered
    unknown: bool  # the word is not in the vocabulary and counts as the unknown symbol
    steps: tuple[Step, ...]
    interpolated: bool

    @property
    def probability(self) -> float:
        """P(word | context)."""
        return math.exp(self.log_probability)

    def __str__(self) -> str:
        given = " ".join(self.context) or "nothing before it"
        as_unknown = ", which stands for an unknown word" if self.unknown else ""
        lines = [
            f"P({self.word} | {given}) = {self.probability:.4g}{as_unknown}; "
            f"order {self.order} answers."
        ]
        lines += [f"  {self._sentence(step)}" for step in self.steps]
        weights = [step.back_off for step in self.steps if not step.found]
        if weights:
            answer = next(step for step in self.steps if step.found)
            factors = [*weights, answer.probability]
            product = " x ".join(f"{x:.4g}" for x in factors)
            lines.append(f"  Together: {product} = {self.probability:.4g}.")
        return "\n".join(lines)

    def _sentence(self, step: Step) -> str:
        context = " ".join(step.context)
        ngram = " ".join((*step.context, self.word))
        head = f"Order {step.order}: "
        if not step.found:
            if not step.context_known:
                what = f'the context "{context}" is not in the table'
            else:
                what = f'"{ngram}" is not in the table'
            return f"{head}{what}; back off, with weight {step.back_off:.4g}."
        below = f"order {step.order - 1}" if step.order > 1 else "the uniform one"
        d = step.discounted
        if d is None:
            return f'{head}"{ngram}" is in the table: {step.probability:.4g}.'
        text = f'{head}"{ngram}" {d.meaning}'
        if d.count:
            text += (
                f";\n    less the discount {d.discount:.4g}, of {d.total:.10g} in all: "
                f"{d.share:.4g}"
            )
        if (self.interpolated or step.order == 1) and d.reserve:
            rest = step.probability - d.share
            text += (
                f";\n    plus the reserve {d.reserve:.4g} times {below}'s "
                f"{rest / d.reserve:.4g}: {step.probability:.4g}"
            )
        elif not d.count or not math.isclose(d.share, step.probability, rel_tol=1e-9):
            text += f"; its probability is {step.probability:.4g}"
        return text + "."


def explain(
    model: BackoffModel, context: Sequence[str], word: str, absent: float = 1.0
) -> Explanation:
    """Follow one question through the orders of a back-off or interpolated model.

    ``absent`` is the back-off weight of a context that is not in the table. Raises
    ``ValueError`` for a string in place of the context's words, and for ``<s>`` as the
    word.
    """
    reject_string(context, "context")
    vocabulary, trie = model.vocabulary, model.trie
    ids = vocabulary.encode(context)[max(0, len(context) - model.context_size) :]
    if model.context_size == 0:
        ids = ids[:0]
    ids = cut_at_start(ids[None, :], vocabulary.start_id)[0]
    ids = ids[ids != ABSENT]
    target = vocabulary.id(word)
    if target == vocabulary.start_id:
        raise ValueError(
            f"{word!r} starts a sentence and is never predicted: ask for another word"
        )
    nodes = trie.last_nodes(ids[None, :], len(ids))
    steps: list[Step] = []
    log_p = 0.0
    for j in range(len(ids), -1, -1):  # contexts of j words, the longest first
        known = j == 0 or bool(nodes[j - 1][0] != ABSENT)
        node = target
        if j:
            node = int(trie.find(j + 1, nodes[j - 1], np.array([target]))[0])
        found = node != ABSENT
        p = float(model.log_p[j][node]) if found else 0.0
        weight = 1.0
        if not found:
            log_alpha = model.log_alpha[j - 1][nodes[j - 1][0]] if known else None
            weight = absent if log_alpha is None else math.exp(log_alpha)
            log_p += math.log(absent) if log_alpha is None else float(log_alpha)
        row = ids[len(ids) - j :]
        steps.append(
            Step(
                order=j + 1,
                context=tuple(vocabulary.decode(row)),
                found=found,
                probability=math.exp(p) if found else 0.0,
                back_off=weight,
                context_known=known,
                discounted=_discounted(model, row, target) if found else None,
            )
        )
        if found and not any(step.found for step in steps[:-1]):
            log_p += p
            order = j + 1
        if found and not model.interpolated:
            break
    return Explanation(
        word=vocabulary.words[target],
        context=tuple(vocabulary.decode(ids)),
        log_probability=log_p,
        order=order,
        unknown=target == vocabulary.unknown_id and word != vocabulary.unknown,
        steps=tuple(steps),
        interpolated=model.interpolated,
    )


def _discounted(
    model: BackoffModel, context: np.ndarray, word: int
) -> Discounted | None:
    """Count and discount of an n-gram, worked out again for its context alone."""
    from lmlib.ngrams.smoothing import Groups  # it imports the model, which imports us

    smoothing = model.smoothing
    if smoothing is None:
        return None
    trie, order = smoothing.counts.trie, len(context) + 1
    if order == 1:
        low, high, at = 0, trie.words, word
    else:
        node = trie.last_nodes(context[None, :], order - 1)[-1]
        first, last = trie.children(order, node)
        low, high = int(first[0]), int(last[0])
        at = int(trie.find(order, node, np.array([word]))[0])
        if at == ABSENT:
            return None
    count = smoothing.used[order - 1][low:high]
    group = Groups(np.zeros(high - low, np.int32))
    share, gamma = smoothing.shares(order, count, group)
    c, total = int(count[at - low]), float(count.sum())
    return Discounted(
        count=c,
        discount=c - float(share[at - low]) * total,
        total=total,
        share=float(share[at - low]),
        reserve=float(gamma[0]),
        meaning=smoothing.count_in_words(order, c),
    )
