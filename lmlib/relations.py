"""Relation questions from the Bible's own vocabulary: family, plural, past tense.

A question a : b = c : d joins two pairs of one relation ("king : queen = father :
mother"). The pairs are chosen from the words of the World English Bible that occur at
least some twenty times, so a wrong answer is not merely a word hardly ever seen.
Chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmlib.analogies import Question
from lmlib.vocabulary import Vocabulary

Pair = tuple[str, str]
Judged = tuple[str, str, float]


def _pairs(text: str) -> tuple[Pair, ...]:
    words = text.split()
    return tuple(zip(words[::2], words[1::2], strict=True))


BIBLE_PAIRS: dict[str, tuple[Pair, ...]] = {
    "family": _pairs(
        """man woman men women king queen father mother son daughter sons daughters
        brother sister brothers sisters husband wife he she He She
        himself herself male female bridegroom bride"""
    ),
    "plural": _pairs(
        """angel angels army armies bird birds branch branches bull bulls captain
        captains chariot chariots child children city cities cloud clouds commandment
        commandments day days door doors donkey donkeys ear ears enemy enemies eye eyes
        field fields foot feet garment garments gate gates hand hands heart hearts
        horse horses house houses judge judges king kings lamb lambs lion lions man men
        month months mountain mountains name names nation nations ox oxen priest
        priests prophet prophets river rivers servant servants sin sins son sons stone
        stones tree trees vineyard vineyards wall walls woman women word words year
        years"""
    ),
    "past tense": _pairs(
        """answer answered arise arose become became break broke bring brought build
        built call called come came cry cried deliver delivered die died drink drank
        eat ate fall fell fight fought find found flee fled follow followed gather
        gathered give gave go went hear heard hide hid keep kept kill killed know knew
        make made pray prayed rejoice rejoiced remember remembered return returned run
        ran say said see saw seek sought send sent sit sat speak spoke stand stood take
        took turn turned walk walked"""
    ),
}


def questions_from_pairs(
    pairs: Sequence[Pair], count: int | None = None, seed: int = 0
) -> list[Question]:
    """Questions a : b = c : d from every ordered pair of pairs, or ``count`` of them.

    Two pairs that share a word make no question. A smaller ``count`` is drawn without
    repetition. Raises ``ValueError`` for more questions than the pairs can make.
    """
    every = [(a, b, c, d) for a, b in pairs for c, d in pairs if not {a, b} & {c, d}]
    if count is None:
        return every
    if not 1 <= count <= len(every):
        raise ValueError(
            f"{count} questions were asked for, but {len(pairs)} pairs of words make "
            f"{len(every)}: ask for 1 to {len(every)}, or give more pairs"
        )
    chosen = np.random.default_rng(seed).permutation(len(every))[:count]
    return [every[i] for i in sorted(chosen.tolist())]


def bible_relations(
    vocabulary: Vocabulary, count: int | None = None, seed: int = 0
) -> dict[str, list[Question]]:
    """Relation to questions, from the pairs whose words are both in the vocabulary.

    ``count`` limits the questions of each relation. Raises ``ValueError`` if a
    relation has fewer than two pairs left, or not that many questions.
    """
    relations: dict[str, list[Question]] = {}
    for name, pairs in BIBLE_PAIRS.items():
        known = [(a, b) for a, b in pairs if a in vocabulary and b in vocabulary]
        if len(known) < 2:
            raise ValueError(
                f"only {len(known)} of the {len(pairs)} pairs of relation {name!r} are "
                f"among the {len(vocabulary)} words: a question needs two, so build "
                "the vocabulary from a whole Bible, with a smaller min_count"
            )
        relations[name] = questions_from_pairs(known, count, seed)
    return relations


def bible_similarities(vocabulary: Vocabulary) -> list[Judged]:
    """Word pairs with a similarity that follows from the relations: 2, 1 or 0.

    Two words of one pair (king, queen) have 2; two words on the same side of one
    relation (king, father) have 1; words of different relations (king, went) have 0.
    A coarse order, but nobody's opinion; for ``similarity_correlation``.
    """
    known = {
        name: [(a, b) for a, b in pairs if a in vocabulary and b in vocabulary]
        for name, pairs in BIBLE_PAIRS.items()
    }
    judged: list[Judged] = []
    names = list(known)
    for name, following in zip(names, names[1:] + names[:1], strict=True):
        pairs, others = known[name], known[following]
        for i, (a, b) in enumerate(pairs):
            judged.append((a, b, 2.0))
            following_pair = pairs[(i + 1) % len(pairs)]
            judged += [(a, following_pair[0], 1.0), (b, following_pair[1], 1.0)]
            other = others[i % len(others)]
            judged += [(a, other[0], 0.0), (b, other[1], 0.0)]
    return [(a, b, score) for a, b, score in judged if a != b]
