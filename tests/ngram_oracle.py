"""A second n-gram implementation for the tests: dictionaries, recursion, no NumPy.

It follows the formulas word by word, slowly, and shares no code with ``lmlib.ngrams``.
Also the random texts that the properties are tried on.
"""

import itertools
import math
from collections import Counter

from hypothesis import strategies as st

from lmlib.ngrams import (
    absolute_discounting,
    jelinek_mercer,
    katz,
    kneser_ney,
    modified_kneser_ney,
    witten_bell,
)
from lmlib.vocabulary import Vocabulary

SMOOTHED = {
    "Witten-Bell": witten_bell,
    "Witten-Bell back-off": lambda c: witten_bell(c, interpolated=False),
    "absolute": absolute_discounting,
    "absolute back-off": lambda c: absolute_discounting(c, interpolated=False),
    "Katz": katz,
    "Katz interpolated": lambda c: katz(c, interpolated=True),
    "Kneser-Ney": kneser_ney,
    "Kneser-Ney back-off": lambda c: kneser_ney(c, interpolated=False),
    "modified": modified_kneser_ney,
    "modified back-off": lambda c: modified_kneser_ney(c, interpolated=False),
    "modified, cut": lambda c: modified_kneser_ney(c, True, (0, 1)[: c.order]),
    "back-off, cut": lambda c: modified_kneser_ney(c, False, (0, 1)[: c.order]),
    "Jelinek-Mercer": lambda c: jelinek_mercer(c, [0.9, 0.6, 0.5, 0.4][: c.order]),
}


@st.composite
def texts(draw, shortest_order=1):
    """A vocabulary, a text of it (a stream, or sentences with marks), an order."""
    order = draw(st.integers(shortest_order, 4))
    plain = list("abcdef")[: draw(st.integers(1, 6))]
    if draw(st.booleans()):
        vocabulary = Vocabulary(["<unk>", *plain])
        word = st.integers(0, len(vocabulary) - 1)
        return vocabulary, draw(st.lists(word, min_size=order, max_size=50)), order
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", *plain])
    word = st.sampled_from([0, *range(3, len(vocabulary))])
    sentence = st.lists(word, max_size=6).map(lambda ids: [1, *ids, 2])
    count = st.lists(sentence, min_size=(order + 1) // 2, max_size=9)
    return vocabulary, list(itertools.chain(*draw(count))), order


def contexts_for(vocabulary, ids, width):
    """Contexts of a text, of other texts, cut short, and with <s> inside."""
    rows = [list(ids[i : i + width]) for i in range(min(12, len(ids) - width + 1))]
    words = range(len(vocabulary))
    rows += [[(3 * i + j * j) % len(words) for j in range(width)] for i in words]
    rows += [[-1] * cut + row[cut:] for row in rows[:4] for cut in range(1, width + 1)]
    return rows


class Dictionaries:
    """Counts of a text, by tuple."""

    def __init__(self, vocabulary, ids, order):
        self.start = vocabulary.start_id
        self.words = [i for i in range(len(vocabulary)) if i != self.start]
        self.order = order
        self.counts = Counter(
            tuple(ids[end - k + 1 : end + 1])
            for end in range(len(ids))
            for k in range(1, order + 1)
            if end - k + 1 >= 0
            and ids[end] != self.start
            and self.start not in ids[end - k + 2 : end]
        )

    def continuation(self, gram):
        """How many different words stand before; plain counts at <s> and the top."""
        if len(gram) == self.order or gram[0] == self.start:
            return self.counts[gram]
        return len({g[0] for g in self.counts if g[1:] == gram})


def probability(words, count, discount, interpolated, context, word):
    """P(word | context), with ``count(gram)`` and ``discount(order, count)``."""
    below = (
        1 / len(words)
        if not context
        else probability(words, count, discount, interpolated, context[1:], word)
    )
    seen = {v: count((*context, v)) for v in words}
    seen = {v: c for v, c in seen.items() if c > 0}
    total = sum(seen.values())
    if not total:
        return below
    lost = {v: discount(len(context) + 1, c) for v, c in seen.items()}
    if sum(lost.values()) == 0:  # a reserve of one count
        total += 1
        reserve = 1 / total
    else:
        reserve = sum(lost.values()) / total
    share = {v: (c - lost[v]) / total for v, c in seen.items()}
    if interpolated or not context:
        return share.get(word, 0) + reserve * below
    if len(seen) == len(words):
        return share[word] / math.fsum(share.values())
    if word in seen:
        return share[word]
    rest = math.fsum(
        probability(words, count, discount, interpolated, context[1:], v)
        for v in words
        if v not in seen
    )
    return reserve * below / rest
