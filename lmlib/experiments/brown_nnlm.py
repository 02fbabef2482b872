"""Table 1 of Bengio et al. (2003) on the Brown corpus: the ten MLP rows. Chapter 6.

    python -m lmlib.experiments brown_nnlm                  # MLP1 to MLP10
    python -m lmlib.experiments brown_nnlm --row MLP9       # MLP9 and MLP10
    python -m lmlib.experiments brown_nnlm --row MLP9 --recipe paper --batch 16
    python -m lmlib.experiments brown_nnlm --row free       # our best of this family

An even row is the odd one before it, mixed half and half with the interpolated
trigram of p. 1147, so each pair is one training. A learned weight and weights by
context frequency, both learned on validation, stand beside it. Rows are added to the
record as they finish; an interrupted training goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from lmlib import results
from lmlib.binned_mixture import binned_weights, mixed_log_probabilities
from lmlib.corpora import EncodedCorpus
from lmlib.experiments._brown_runs import (
    MLP_ROWS,
    Run,
    changes,
    corpus_of,
    options_of,
    runs_of,
)
from lmlib.experiments._counted import (
    SPLITS,
    Counted,
    Scores,
    interpolated_trigram,
    kneser_ney,
    perplexity,
    scores,
)
from lmlib.mixture import mixture_weights
from lmlib.nnlm import NNLM
from lmlib.papers import bengio_table1

NOTES = [
    "Our stream of Brown has 17,907 types, case kept, and text and paragraph marks; "
    "the paper's 16,383 types come from a tokenisation that could not be recovered.",
    "One recipe for all MLP rows, chosen on validation (lmlib.recipes.MINIBATCH).",
    "Perplexities without a seed in their name are medians over the seeds.",
    "Mixing weights other than 0.5 are learned on the validation part.",
]

Figures = dict[str, float]


def main(arguments: Sequence[str]) -> None:
    """Train what the rows need, score, mix, and write the record row by row."""
    options = options_of(arguments, __doc__)
    corpus = corpus_of(options.limit)
    wanted = set(options.row or MLP_ROWS)
    for row, mixed in [*zip(MLP_ROWS[::2], MLP_ROWS[1::2], strict=True), ("free", "")]:
        if not {row, mixed} & wanted:
            continue
        started = time.perf_counter()
        runs = runs_of(row, options)
        if row == "free":
            figures = free_figures(runs, corpus, options)
        else:
            ending = " paper recipe" if options.recipe == "paper" else ""
            names = (row + ending, mixed + ending)
            figures = pair_figures(names, runs, corpus, options)
        folder = runs[0].folder if changes(options) else results.RESULTS
        path = publish(runs, figures, started, options.out or folder)
        for key, value in figures.items():
            if key.endswith("_ppl"):
                print(f"{key:44} {value:9.2f}")
        print(f"written to {path}", flush=True)


def pair_figures(
    names: tuple[str, str],
    runs: Sequence[Run],
    corpus: EncodedCorpus,
    options: argparse.Namespace,
) -> Figures:
    """A network's row and the mixed row after it, medians over the seeds."""
    network, mixed = names
    counted = interpolated_trigram(corpus)
    singles = []
    for run in runs:
        model, history = run.trained(corpus, options.device, not options.quiet)
        held_out = scores(model, corpus)
        figures = network_figures(network, model, corpus, held_out)
        figures |= mixture_figures(mixed, held_out, counted)
        words = (history.best_step or 0) * run.recipe.batch
        figures[f"{network}/epochs"] = round(words / len(corpus.train), 2)
        figures[f"{network}/seconds"] = round(history.seconds, 1)
        singles.append(figures)
    merged = medians(singles)
    merged[f"{network}/parameters"] = runs[0].config.parameters(len(corpus.vocabulary))
    return merged | counted.figures()


def network_figures(
    row: str, model: NNLM, corpus: EncodedCorpus, held_out: Scores
) -> Figures:
    """Train, validation and test perplexity of a network by itself."""
    parts = {"train": model.token_log_probabilities(corpus.train), **held_out}
    return {f"{row}/{split}_ppl": perplexity(part) for split, part in parts.items()}


def mixture_figures(row: str, network: Scores, counted: Counted) -> Figures:
    """The network mixed with a counted model: half and half, learned, by bin."""
    both = {s: np.stack([network[s], counted.log_p[s]]) for s in SPLITS}  # (2, T)
    learned = mixture_weights(both["valid"])
    by_bin, overall = binned_weights(both["valid"], counted.bins["valid"])
    figures: Figures = {f"{row} learned weight/weight": round(float(learned[0]), 4)}
    for split, log_p in both.items():
        rows = [by_bin.get(q, overall) for q in counted.bins[split].tolist()]
        for name, weights in (
            (row, np.array([0.5, 0.5])),
            (f"{row} learned weight", learned),
            (f"{row} weights by bin", np.stack(rows, axis=1)),
        ):
            mixed = mixed_log_probabilities(log_p, weights)
            figures[f"{name}/{split}_ppl"] = perplexity(mixed)
    return figures


def medians(singles: Sequence[Figures]) -> Figures:
    """Medians over seeds, with the single runs beside them if there are several."""
    merged = {
        key: round(statistics.median(figures[key] for figures in singles), 4)
        for key in singles[0]
    }
    if len(singles) > 1:
        for seed, figures in enumerate(singles, start=1):
            for key, value in figures.items():
                name, _, measure = key.rpartition("/")
                merged[f"{name} seed {seed}/{measure}"] = value
    return merged


def free_figures(
    runs: Sequence[Run], corpus: EncodedCorpus, options: argparse.Namespace
) -> Figures:
    """Our best: all seeds' networks and Kneser-Ney in one mixture, weights learned."""
    counted = kneser_ney(corpus)
    figures, parts = counted.figures(), []
    for run in runs:
        model, history = run.trained(corpus, options.device, not options.quiet)
        held_out = scores(model, corpus)
        row = f"free network seed {run.seed}"
        figures |= network_figures(row, model, corpus, held_out)
        figures[f"{row}/seconds"] = round(history.seconds, 1)
        parts.append(held_out)
    for row, together in (
        ("free networks", parts),
        ("free one network", [parts[0], counted.log_p]),
        ("free", [*parts, counted.log_p]),
    ):
        log_p = {s: np.stack([part[s] for part in together]) for s in SPLITS}
        weights = mixture_weights(log_p["valid"])
        for split in SPLITS:
            mixed = mixed_log_probabilities(log_p[split], weights)
            figures[f"{row}/{split}_ppl"] = perplexity(mixed)
    size = runs[0].config.parameters(len(corpus.vocabulary))
    return figures | {"free/parameters": len(runs) * size}


def publish(
    runs: Sequence[Run], figures: Figures, started: float, folder: Path
) -> Path:
    """Add a row's figures to the record; rows measured before are kept."""
    command = "python -m lmlib.experiments brown_nnlm"
    record = results.begin("brown_nnlm", command, {"rows": {}}, [])
    if (folder / "brown_nnlm.json").exists():
        old = results.read("brown_nnlm", folder)
        record.config, record.figures = old.config, dict(old.figures)
        record.seeds, record.seconds = old.seeds, old.seconds
        record.started = old.started
    config = asdict(runs[0])
    name = config.pop("name")
    del config["seed"]
    record.config["rows"][name] = config
    record.seeds = sorted({*record.seeds, *(run.seed for run in runs)})
    record.seconds = round(record.seconds + time.perf_counter() - started, 1)
    record.figures |= figures
    paper = bengio_table1()
    record.paper = {key: paper[key] for key in record.figures if key in paper}
    record.notes = NOTES
    return results.write(record, folder)
