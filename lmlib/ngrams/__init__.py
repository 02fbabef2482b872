"""N-gram models: count, then decide what to do about the n-grams never seen.

    counts = count_ngrams(vocabulary, ids, order=3)
    model = modified_kneser_ney(counts)
    print(model.explain(["San"], "Francisco"))

In reading order (chapters 2 and 3):

- ``trie``, ``counts``: every n-gram of a text, sorted and counted
- ``backoff``: the one table that all smoothed models become, and how it is asked
- ``maximum_likelihood``, ``additive``: the two first answers, and why they fail
- ``smoothing``: what all discounting methods share, back-off and interpolated
- ``katz`` (Good-Turing), ``witten_bell``, ``absolute_discounting``, ``kneser_ney``
- ``interpolation``: Jelinek-Mercer, and the deleted interpolation of Bengio et al.
- ``classes``, ``exchange``, ``merging``: words put into classes by their company
- ``class_based``: n-grams of classes
- ``stupid_backoff``: scores that are no probabilities
- ``explain``: one answer followed step by step
- ``pruning``, ``arpa``, ``arpa_reading``, ``storage``: smaller models, and files

Needs NumPy only.
"""

from lmlib.ngrams.absolute_discounting import absolute_discounting
from lmlib.ngrams.additive import Additive
from lmlib.ngrams.arpa import write_arpa
from lmlib.ngrams.arpa_lines import ArpaError, ArpaWarning
from lmlib.ngrams.arpa_reading import read_arpa
from lmlib.ngrams.backoff import BackoffModel
from lmlib.ngrams.class_based import ClassBased, class_based
from lmlib.ngrams.classes import WordClasses
from lmlib.ngrams.counts import NgramCounts, count_ngrams, counts_of_counts
from lmlib.ngrams.exchange import exchange
from lmlib.ngrams.explain import Explanation, Step
from lmlib.ngrams.interpolation import (
    deleted_interpolation,
    frequency_bins,
    jelinek_mercer,
    jelinek_mercer_weights,
    uniform,
)
from lmlib.ngrams.katz import good_turing_count, katz
from lmlib.ngrams.kneser_ney import (
    continuation_counts,
    kneser_ney,
    modified_discounts,
    modified_kneser_ney,
)
from lmlib.ngrams.maximum_likelihood import maximum_likelihood
from lmlib.ngrams.merging import merging
from lmlib.ngrams.pruning import prune
from lmlib.ngrams.smoothing import DegenerateCounts
from lmlib.ngrams.storage import load, save
from lmlib.ngrams.stupid_backoff import StupidBackoff
from lmlib.ngrams.witten_bell import witten_bell

__all__ = [
    "Additive",
    "ArpaError",
    "ArpaWarning",
    "BackoffModel",
    "ClassBased",
    "DegenerateCounts",
    "Explanation",
    "NgramCounts",
    "Step",
    "StupidBackoff",
    "WordClasses",
    "absolute_discounting",
    "class_based",
    "continuation_counts",
    "count_ngrams",
    "counts_of_counts",
    "deleted_interpolation",
    "exchange",
    "frequency_bins",
    "good_turing_count",
    "jelinek_mercer",
    "jelinek_mercer_weights",
    "katz",
    "kneser_ney",
    "load",
    "maximum_likelihood",
    "merging",
    "modified_discounts",
    "modified_kneser_ney",
    "prune",
    "read_arpa",
    "save",
    "uniform",
    "witten_bell",
    "write_arpa",
]
