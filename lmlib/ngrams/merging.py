"""Word classes by merging: begin with single words, join the two that lose least.

Brown et al. (1992, section 3). The most frequent words have a class each; the next word
is a class more, and then the two classes are merged whose union lowers the likelihood
least; and so on, until all words are placed. With V words and c classes that is V - c
merges, each chosen among all pairs of c + 1 classes. What was merged is never taken
apart; ``exchange`` may begin with these classes and improve them. Chapter 3.

Departure: words not yet placed form one class more, which is never merged, so that
every step has the exact likelihood of the whole text. Brown et al. leave them out of
the sums. Their last step, merging down to one class for a binary tree, is not made.
"""

from __future__ import annotations

import numpy as np

from lmlib.ngrams.backoff import Floats
from lmlib.ngrams.class_pairs import Classes, ClassPairs, Profile, WordPairs
from lmlib.ngrams.classes import WordClasses, check_number, finish
from lmlib.ngrams.counts import Counts, NgramCounts
from lmlib.vocabulary import IntArray


def merging(counts: NgramCounts, number: int) -> WordClasses:
    """Learn ``number`` classes from the word pairs of a text by merging.

    Nothing is random: equal losses go to the lowest pair. ``history`` of the answer
    holds the log-likelihood before the first merge, when the less frequent words are
    still one class, and at the end.

    Raises ``ValueError`` for a number of classes outside 1 to the number of different
    words, and for counts without word pairs.
    """
    pairs = WordPairs(counts)
    words = pairs.by_frequency()
    check_number(number, len(words))
    window = _Window(pairs, words, number)
    history = [window.table.log_likelihood]
    for word in words[number:].tolist():
        window.place(word)
        window.merge()
    history.append(window.table.log_likelihood)
    return finish(pairs, window.classes(), number, history)


class _Window:
    """c + 1 classes, one of them empty between two merges, and the pairs' gains.

    ``gain[i, j]``, symmetric and never above zero, is what merging i and j would add to
    the log-likelihood. Placing a word or merging changes few columns of N, and a
    column changes few of the pairs: only those are computed again.
    """

    def __init__(self, pairs: WordPairs, words: IntArray, number: int) -> None:
        self.pairs = pairs
        self.free = number  # the empty class
        self.rest = number + 1  # words not yet placed
        total = number + 2
        of = np.full(len(pairs.vocabulary), self.rest, np.int32)
        of[words[:number]] = np.arange(number)
        if pairs.vocabulary.start_id is not None:
            of[pairs.vocabulary.start_id] = number + 2  # never merged either
            total += 1
        self.of = of
        self.table = ClassPairs(pairs, of, total)
        self.members = [[word] for word in words[:number].tolist()] + [[]]
        self.gain = np.full((number + 1, number + 1), -np.inf)
        for i in range(number):
            self._renew(i)

    def place(self, word: int) -> None:
        """Make a word a class of its own, in the empty one's place."""
        who = self.pairs.profile(word, self.of, len(self.table.rows))
        self._move(who, self.rest, self.free)
        self.of[word] = self.free
        self.members[self.free] = [word]
        self._renew(self.free)

    def merge(self) -> None:
        """Join the two classes that lose least."""
        best = int(self.gain.argmax())
        i, j = sorted(divmod(best, len(self.gain)))
        if len(self.members[i]) < len(self.members[j]):
            i, j = j, i  # the smaller one moves
        self._move(self._profile(j), j, i)
        self.of[self.members[j]] = i
        self.members[i] += self.members[j]
        self.members[j] = []
        self.free = j
        self.gain[j] = self.gain[:, j] = -np.inf
        self._renew(i)

    def classes(self) -> Classes:
        """Class of each word, numbered 0 to c - 1."""
        filled = [number for number, words in enumerate(self.members) if words]
        new = np.full(len(self.table.rows), len(filled), np.int32)  # <s> is the last
        new[filled] = np.arange(len(filled))
        return new[self.of]

    def _profile(self, number: int) -> Profile:
        """The company of a whole class, itself left out."""
        row, column = self.table.rows[number], self.table.columns[number]
        after, before = np.flatnonzero(row), np.flatnonzero(column)
        after, before = after[after != number], before[before != number]
        return Profile(
            after,
            row[after],
            before,
            column[before],
            int(row[number]),
            int(self.table.followed[number]),
            int(self.table.follows[number]),
        )

    def _renew(self, number: int) -> None:
        """Gains of merging one class with each other one."""
        who = self._profile(number)
        self.table.add(who, number, sign=-1)
        gain = self.table.gains(who)[: self.rest]
        self.table.add(who, number)
        gain -= gain[number]  # that of a class alone, as it was
        gain[[not words for words in self.members]] = -np.inf
        gain[number] = -np.inf
        self.gain[number] = self.gain[:, number] = gain

    def _move(self, who: Profile, old: int, new: int) -> None:
        """Move a word or class; correct the gains of all pairs without old or new."""
        pairs = self.rest
        rows, columns = self.table.rows, self.table.columns
        sides = ((rows, who.after), (columns, who.before))
        was = [(t[old, :pairs].copy(), t[new, :pairs].copy()) for t, _ in sides]
        self.table.add(who, old, sign=-1)
        self.table.add(who, new)
        for (table, classes), (old_was, new_was) in zip(sides, was, strict=True):
            touched = classes[classes < pairs]
            self._correct(touched, old_was, table[old, :pairs])
            self._correct(touched, new_was, table[new, :pairs])

    def _correct(self, touched: IntArray, was: Counts, now: Counts) -> None:
        """Exchange what one row or column u of N adds to the gain of every pair.

        That is f(u_i + u_j) - f(u_i) - f(u_j), changed only for ``touched`` i or j.
        """
        f = self.table.f
        single: Floats = f[now] - f[was]
        # Only i = j can be beyond the end of f, and is never asked for.
        change = f.take(now[touched, None] + now, mode="clip")  # (k, c + 1)
        change -= f.take(was[touched, None] + was, mode="clip")
        change -= single
        change -= single[touched, None]
        both = change[:, touched]
        self.gain[touched] += change
        self.gain[:, touched] += change.T
        self.gain[np.ix_(touched, touched)] -= both  # was added twice
