"""Word classes by exchange: move one word at a time to the class that suits it best.

The exchange algorithm of Kneser and Ney (1993), in the form of Martin, Liermann and Ney
(1998): take each word out of its class, try all classes, and put it where the
log-likelihood of the class-bigram model is largest. Stop when no word moves. The
likelihood never falls, so the search ends, in a maximum that is local: with nearly as
many classes as words, most words that begin alone stay alone, and ``merging`` finds a
better start. Chapter 3.
"""

from __future__ import annotations

import numpy as np

from lmlib.ngrams.class_pairs import Classes, ClassPairs, WordPairs
from lmlib.ngrams.classes import WordClasses, check_number, finish
from lmlib.ngrams.counts import NgramCounts
from lmlib.vocabulary import IntArray

# A move must gain this many nats: below it, rounding decides.
_LEAST_GAIN = 1e-6
_DECIMALS = 6


def exchange(
    counts: NgramCounts,
    number: int,
    passes: int = 20,
    start: WordClasses | None = None,
) -> WordClasses:
    """Learn ``number`` classes from the word pairs of a text.

    At the start the most frequent words have a class each, and all others share the
    last one; or they have the classes of ``start``, such as ``merging`` finds. A pass
    visits every word once, the most frequent first; at most ``passes`` passes are made,
    fewer if one moves no word. Nothing is random: equal gains go to the lowest class.
    ``history`` of the answer holds the log-likelihood before the first pass and after
    each.

    Raises ``ValueError`` for a number of classes outside 1 to the number of different
    words, for ``passes`` below 0, for counts without word pairs, and for a ``start`` of
    another vocabulary, with another number of classes, or made for another text.
    """
    pairs = WordPairs(counts)
    words = pairs.by_frequency()
    check_number(number, len(words))
    if passes < 0:
        raise ValueError(f"passes={passes}: expected 0 or more")
    total = number + (pairs.vocabulary.start_id is not None)
    of = _by_rank(pairs, words, number) if start is None else start.of.copy()
    if start is not None:
        _check_start(start, pairs, words, total)
    table = ClassPairs(pairs, of, total)
    members = np.bincount(of[words], minlength=total)
    history, moves = [table.log_likelihood], []
    for _ in range(passes):
        moved = 0
        for word in words.tolist():
            old = int(of[word])
            if members[old] == 1:
                continue  # leaving would merge two classes, and that gains nothing
            who = pairs.profile(word, of, total)
            table.add(who, old, sign=-1)
            gain = table.gains(who)[:number]
            new = int(np.round(gain, _DECIMALS).argmax())
            if gain[new] <= gain[old] + _LEAST_GAIN:
                new = old
            table.add(who, new)
            if new != old:
                of[word] = new
                members[old] -= 1
                members[new] += 1
                moved += 1
        moves.append(moved)
        history.append(table.log_likelihood)
        if not moved:
            break
    return finish(pairs, of, number, history, moves)


def _by_rank(pairs: WordPairs, words: IntArray, number: int) -> Classes:
    of = np.full(len(pairs.vocabulary), number - 1, np.int32)
    of[words] = np.minimum(np.arange(len(words)), number - 1)
    if pairs.vocabulary.start_id is not None:
        of[pairs.vocabulary.start_id] = number  # a class of its own, never entered
    return of


def _check_start(
    start: WordClasses, pairs: WordPairs, words: IntArray, total: int
) -> None:
    if start.vocabulary != pairs.vocabulary or start.number != total:
        raise ValueError(
            f"the exchange cannot start from {start.number} classes of "
            f"{len(start.vocabulary)} words: expected {total} classes (that of '<s>' "
            f"included, if any) of the {len(pairs.vocabulary)} words that were counted"
        )
    start_id = pairs.vocabulary.start_id
    if start_id is not None and start.of[start_id] != total - 1:
        raise ValueError(
            f"'<s>' is class {start.of[start_id]} of the start: expected the last, "
            f"{total - 1}, as exchange and merging number it"
        )
    empty = np.setdiff1d(np.arange(total - (start_id is not None)), start.of[words])
    if len(empty):
        raise ValueError(
            f"class {empty[0]} of the start holds no word of this text: start from "
            "classes made for the same text"
        )
