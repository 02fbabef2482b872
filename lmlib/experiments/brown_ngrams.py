"""Table 1 of Bengio et al. (2003) on the Brown corpus: the count-based rows. Chapter 3.

    python -m lmlib.experiments brown_ngrams
    python -m lmlib.experiments brown_ngrams --classes 150 500

All eleven of them, and what stands beside them in the literature: interpolated and
back-off modified Kneser-Ney with and without cut-offs, and the other smoothing methods
at order 3. Word classes take minutes; once learned they are kept under ``runs/``, and a
repeated or interrupted run goes on from them.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from lmlib import corpora, results
from lmlib.corpora import EncodedCorpus
from lmlib.experiments._counted import perplexity, scores
from lmlib.files import replacing
from lmlib.language_model import LanguageModel
from lmlib.ngrams import (
    Additive,
    BackoffModel,
    DegenerateCounts,
    NgramCounts,
    absolute_discounting,
    count_ngrams,
    deleted_interpolation,
    jelinek_mercer,
    jelinek_mercer_weights,
    katz,
    kneser_ney,
    modified_kneser_ney,
    witten_bell,
)
from lmlib.ngrams.class_based import class_based
from lmlib.ngrams.classes import WordClasses
from lmlib.ngrams.exchange import exchange
from lmlib.papers import bengio_table1

NAME = "brown_ngrams"
RUNS = results.ROOT / "runs" / NAME

CLASSES = (150, 200, 500, 1000, 2000)  # with order 3; 500 with orders 4 and 5 too
LONG_CLASSES, LONG_ORDERS = 500, (4, 5)
CUTOFFS = (0, 0, 1)  # n-grams of order 3 and above that occur once are dropped
DELTAS = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # the best on validation is reported

NOTES = [
    "Our stream of Brown has 17,907 types, case kept, and text and paragraph marks; "
    "the paper's 16,383 types come from a tokenisation that could not be recovered.",
    "Kneser-Ney back-off n is modified Kneser-Ney, back-off, n-grams of order 3 and "
    "above that occur once dropped (the same model as MKN back-off cut-off n): a "
    "toolkit's default, and the only reading under which the perplexity hardly moves "
    "with n, as in the paper. Without the cut-off it rises (MKN back-off n).",
    "Deleted interpolation 3: a relative frequency after a context never seen is that "
    "of its longest seen end. Taken as zero (literal), the probabilities after a word "
    "never seen do not sum to one.",
    "Class-based rows: classes by exchange on the training part, then modified "
    "Kneser-Ney back-off with the same cut-offs over classes. The paper names neither.",
    "Additive 3: delta chosen on validation.",
    "table_mb is the size of the model in memory, keys and numbers, in 10**6 bytes.",
]

Rows = Iterator[tuple[str, LanguageModel]]


def main(arguments: Sequence[str]) -> None:
    """Estimate and score every row, then write the record."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lmlib.experiments {NAME}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--classes", type=int, nargs="*", default=list(CLASSES))
    parser.add_argument(
        "--runs", type=Path, default=RUNS, help="where classes are kept"
    )
    parser.add_argument("--out", type=Path, default=results.RESULTS)
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    brown = corpora.brown()
    corpus = brown.encode(brown.vocabulary(min_count=4))
    config = {
        "corpus": brown.name,
        "tokens": len(corpus.ids),
        "borders": list(corpus.borders),
        "words": len(corpus.vocabulary),
        "cutoffs": list(CUTOFFS),
        "classes": options.classes,
    }
    command = " ".join(["python -m lmlib.experiments", NAME, *arguments])
    record = results.begin(NAME, command, config, seeds=[])
    for row, model in rows(corpus, options.classes, options.runs):
        record.figures |= figures(row, model, corpus)
        shown = (record.figures[f"{row}/{split}_ppl"] for split in ("valid", "test"))
        print(f"{row:42} {'  '.join(f'{x:8.2f}' for x in shown)}", flush=True)
    published = bengio_table1()
    record.paper = {k: published[k] for k in record.figures if k in published}
    record.notes = NOTES
    record.seconds = round(time.perf_counter() - started, 1)
    print(f"written to {results.write(record, options.out)}")


def figures(row: str, model: LanguageModel, corpus: EncodedCorpus) -> dict[str, float]:
    """Train, validation and test perplexity of a row, and its table's size."""
    parts = {
        "train": model.token_log_probabilities(corpus.train),
        **scores(model, corpus),
    }
    found = {f"{row}/{split}_ppl": perplexity(p) for split, p in parts.items()}
    if isinstance(model, BackoffModel):
        found[f"{row}/table_mb"] = round(model.nbytes / 1e6, 2)
    return found


def rows(corpus: EncodedCorpus, classes: Sequence[int], folder: Path) -> Rows:
    """Every row's name and model, one at a time."""
    counts = count_ngrams(corpus.vocabulary, corpus.train, order=5)
    yield from interpolated(counts.upto(3), corpus)
    for n in (3, 4, 5):
        cut = modified_kneser_ney(counts.upto(n), False, CUTOFFS)
        yield f"Kneser-Ney back-off {n}", cut
        yield f"MKN back-off cut-off {n}", cut
        yield f"MKN back-off {n}", modified_kneser_ney(counts.upto(n), False)
        yield f"MKN interpolated {n}", modified_kneser_ney(counts.upto(n))
    yield from others(counts.upto(3))
    for number in classes:
        found = learned_classes(counts.upto(2), number, folder)
        orders = (3, *LONG_ORDERS) if number == LONG_CLASSES else (3,)
        for n in orders:
            model = class_based(found, corpus.train, order=n)
            yield f"class-based back-off {n} {number}", model


def interpolated(counts: NgramCounts, corpus: EncodedCorpus) -> Rows:
    """The models whose weights are fitted on the validation part."""
    held_out = (corpus.upto_valid, corpus.valid_start)
    n = counts.order
    yield f"Deleted interpolation {n}", deleted_interpolation(counts, *held_out)
    yield (
        f"Deleted interpolation {n} literal",
        deleted_interpolation(counts, *held_out, literal=True),
    )
    weights = jelinek_mercer_weights(counts, *held_out)
    yield f"Jelinek-Mercer {n}", jelinek_mercer(counts, weights)
    models = [Additive(counts, delta) for delta in DELTAS]
    yield (
        f"Additive {n}",
        max(models, key=lambda m: m.token_log_probabilities(*held_out).sum()),
    )


def others(counts: NgramCounts) -> Rows:
    """The other discounting methods, each in both forms."""
    methods: dict[str, Callable[..., BackoffModel]] = {
        "Katz": katz,
        "Witten-Bell": witten_bell,
        "Absolute discounting": absolute_discounting,
        "Kneser-Ney one discount": kneser_ney,
    }
    for name, method in methods.items():
        for how in ("back-off", "interpolated"):
            with warnings.catch_warnings():
                # Merged rare words leave few single words, and Good-Turing none to
                # work with at order 1: its documented fall-back serves.
                warnings.filterwarnings("ignore", r".* the 1-grams", DegenerateCounts)
                model = method(counts, interpolated=how == "interpolated")
            yield f"{name} {how} {counts.order}", model


def learned_classes(counts: NgramCounts, number: int, folder: Path) -> WordClasses:
    """Classes by exchange, read back where an earlier run has learned them."""
    vocabulary = counts.vocabulary
    pairs = hashlib.sha256(counts.trie.keys[0].tobytes() + counts.of(2).tobytes())
    path = folder / f"classes-{number}-{pairs.hexdigest()[:12]}.npz"
    total = number + (vocabulary.start_id is not None)
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            return WordClasses(
                vocabulary,
                file["of"],
                total,
                counts.of(1),
                tuple(file["history"].tolist()),
                tuple(file["moves"].tolist()),
            )
    with tqdm(total=1, desc=f"{number} classes", file=sys.stderr) as bar:
        found = exchange(counts, number)
        bar.update()
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, of=found.of, history=found.history, moves=found.moves)
    return found
