"""How fast interpolated modified Kneser-Ney is estimated and scored, and how it grows.

    python -m lmlib.experiments speed_ngrams

Three measurements in one run:

- the 5-gram on Brown: count and estimate from 800,000 ids in memory, score the
  377,359 that follow; medians, and the peak memory of a fresh process
- the same at 1, 2, 4, 8 and 16 million tokens, each size in a fresh process. The
  *mixed* text is Brown, two Bible translations and the toy world in shuffled blocks of
  1,000 tokens, so that every size has the same share of each. The *drawn* text is the
  hardest there is: words drawn by themselves with Brown's frequencies, so that nearly
  every long n-gram is new.
- ``nltk.lm`` on a part of Brown that it can manage, beside ours on the same part, and
  KenLM scoring the same 377,359 tokens with the same model
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from lmlib import corpora, results
from lmlib.corpora import EncodedCorpus
from lmlib.experiments._ngram_trial import PARTS, in_a_fresh_process, trial
from lmlib.ngrams import count_ngrams, kneser_ney, modified_kneser_ney, write_arpa
from lmlib.vocabulary import Vocabulary

NAME = "speed_ngrams"
ROW = "MKN interpolated 5"
ORDER = 5
SECONDS, MEGABYTES, SLOPE = 1.0, 600.0, 1.1  # the claims
MILLIONS = (1, 2, 4, 8, 16)
HELD_OUT = 100_000  # tokens scored at every size
BLOCK = 1_000

Figures = dict[str, float]


def main(arguments: Sequence[str]) -> None:
    """Measure and write ``data/results/speed_ngrams.json``."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lmlib.experiments {NAME}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=7, help="medians are over these")
    parser.add_argument("--millions", type=int, nargs="+", default=list(MILLIONS))
    parser.add_argument(
        "--part", type=int, default=20_000, help="tokens nltk.lm counts"
    )
    parser.add_argument("--out", type=Path, default=results.RESULTS)
    options = parser.parse_args(arguments)
    if options.repeats < 1 or len(options.millions) < 2 or min(options.millions) < 1:
        parser.error("expected at least 1 repeat and at least two sizes")
    begun = time.perf_counter()
    brown = corpora.brown()
    corpus = brown.encode(brown.vocabulary(min_count=4))
    config = {
        "order": ORDER,
        "words": len(corpus.vocabulary),
        "counted": len(corpus.train),
        "scored": len(corpus.ids) - len(corpus.train),
        "repeats": options.repeats,
        "millions": options.millions,
        "held_out": HELD_OUT,
        "nltk_part": options.part,
    }
    command = " ".join(["python -m lmlib.experiments", NAME, *arguments])
    record = results.begin(NAME, command, config, seeds=[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record.figures |= on_brown(corpus, folder, options.repeats)
        record.figures |= beside_nltk(corpus, options.part)
        record.figures |= beside_kenlm(corpus, folder, options.repeats)
        for series, (words, ids) in {
            "mixed": mixed_text(max(options.millions)),
            "drawn": drawn_text(corpus, max(options.millions)),
        }.items():
            record.figures |= growth(
                series, words, ids, options.millions, folder, options.repeats
            )
    record.notes = notes(record.figures)
    record.seconds = round(time.perf_counter() - begun, 1)
    for key, value in record.figures.items():
        print(f"{key:44} {value:12.4g}")
    print(*record.notes, f"written to {results.write(record, options.out)}", sep="\n")


def on_brown(corpus: EncodedCorpus, folder: Path, repeats: int) -> Figures:
    """Medians of the parts, the single runs, and the peak of a fresh process."""
    start, words = corpus.valid_start, len(corpus.vocabulary)
    runs = [trial(corpus.vocabulary, corpus.ids, ORDER, start) for _ in range(repeats)]
    found = {
        f"{ROW}/{part}_seconds": statistics.median(run[part] for run in runs)
        for part in PARTS
    }
    found[f"{ROW}/seconds"] = statistics.median(run["total"] for run in runs)
    found[f"{ROW}/cpu_seconds"] = statistics.median(run["cpu"] for run in runs)
    found |= {f"{ROW} run {i}/seconds": r["total"] for i, r in enumerate(runs, 1)}
    np.save(folder / "brown.npy", corpus.ids)
    alone = in_a_fresh_process(folder / "brown.npy", words, ORDER, start, 1)
    if "peak_mb" in alone:
        found[f"{ROW}/peak_mb"] = alone["peak_mb"]
    return found


def beside_nltk(corpus: EncodedCorpus, part: int, scored: int = 200) -> Figures:
    """Interpolated Kneser-Ney of ``nltk.lm`` and ours, counted and scored alike."""
    lm = _optional("nltk.lm")
    if lm is None:
        return {}
    preprocessing = importlib.import_module("nltk.lm.preprocessing")
    ids = corpus.train[: part + scored]
    tokens = corpus.vocabulary.decode(ids)
    begun = time.perf_counter()
    text, words = preprocessing.padded_everygram_pipeline(ORDER, [tokens[:part]])
    peer = lm.KneserNeyInterpolated(ORDER, discount=0.75)
    peer.fit(text, words)
    fitted = time.perf_counter()
    for t in tqdm(range(part, part + scored), desc="nltk.lm", leave=False):
        peer.logscore(tokens[t], tokens[t - ORDER + 1 : t])
    theirs = (fitted - begun, (time.perf_counter() - fitted) / scored)
    begun = time.perf_counter()
    ours = kneser_ney(count_ngrams(corpus.vocabulary, ids[:part], ORDER), 0.75)
    fitted = time.perf_counter()
    ours.token_log_probabilities(ids, part)
    mine = (fitted - begun, (time.perf_counter() - fitted) / scored)
    return {
        "nltk.lm/fit_seconds": theirs[0],
        "nltk.lm/seconds_per_scored_token": theirs[1],
        f"ours on {part} tokens/fit_seconds": mine[0],
        f"ours on {part} tokens/seconds_per_scored_token": mine[1],
        f"ours on {part} tokens/fit_ratio_to_nltk.lm": theirs[0] / mine[0],
        f"ours on {part} tokens/score_ratio_to_nltk.lm": theirs[1] / mine[1],
    }


def beside_kenlm(corpus: EncodedCorpus, folder: Path, repeats: int) -> Figures:
    """KenLM's scoring of the held-out tokens through its Python module, and ours."""
    kenlm = _optional("kenlm")
    if kenlm is None:
        return {}
    start = corpus.valid_start
    model = modified_kneser_ney(count_ngrams(corpus.vocabulary, corpus.train, ORDER))
    write_arpa(model, folder / "brown.arpa")
    peer = kenlm.LanguageModel(str(folder / "brown.arpa"))
    tokens = corpus.vocabulary.decode(corpus.ids[start:])
    theirs, mine = [], []
    for _ in range(repeats):
        begun = time.perf_counter()
        state, after = kenlm.State(), kenlm.State()
        peer.NullContextWrite(state)
        for token in tokens:
            peer.BaseScore(state, token, after)
            state, after = after, state
        theirs.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        model.token_log_probabilities(corpus.ids, start)
        mine.append(time.perf_counter() - begun)
    ratios = [a / b for a, b in zip(theirs, mine, strict=True)]
    return {
        "KenLM/score_seconds": statistics.median(theirs),
        f"{ROW}/score_ratio_to_KenLM": statistics.median(ratios),
    }


def growth(
    series: str,
    words: int,
    ids: NDArray[np.int32],
    millions: Sequence[int],
    folder: Path,
    repeats: int,
) -> Figures:
    """Medians of seconds, and memory, at each size; slopes of a log-log fit."""
    found: Figures = {}
    sizes, seconds, cpu, memory = [], [], [], []
    for size in tqdm(millions, desc=series, leave=False):
        start = size * 10**6
        np.save(folder / "text.npy", ids[: start + HELD_OUT])
        one = in_a_fresh_process(folder / "text.npy", words, ORDER, start, repeats)
        sizes.append(start)
        seconds.append(one["total"])
        cpu.append(one["cpu"])
        found[f"{series} {size} M/seconds"] = one["total"]
        found[f"{series} {size} M/cpu_seconds"] = one["cpu"]
        if "peak_mb" in one:
            memory.append(one["added_mb"])
            found[f"{series} {size} M/peak_mb"] = one["peak_mb"]
    found[f"{series}/seconds_slope"] = slope(sizes, seconds)
    found[f"{series}/cpu_seconds_slope"] = slope(sizes, cpu)
    if memory:
        found[f"{series}/memory_slope"] = slope(sizes, memory)
    return found


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The power of the size that the values grow with: 1 is linear."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def mixed_text(millions: int) -> tuple[int, NDArray[np.int32]]:
    """Corpora and toy world in blocks, shuffled in a fixed order; words and ids."""
    size = millions * 10**6 + HELD_OUT
    texts = [corpora.brown(), corpora.bible("web"), corpora.bible("ylt")]
    toy = corpora.toy(sentences=100_000)
    tokens = [token for text in texts for token in text.tokens]
    vocabulary = Vocabulary.from_tokens([*tokens, *toy.tokens])
    generator = np.random.default_rng(0)
    ids = vocabulary.encode(tokens)[:size]
    missing = max(0, size + BLOCK - len(ids))
    ids = np.concatenate([ids, more_toy_world(vocabulary, toy, missing, generator)])
    blocks = ids[: len(ids) // BLOCK * BLOCK].reshape(-1, BLOCK)
    return len(vocabulary), generator.permutation(blocks).ravel()[:size]


def more_toy_world(
    vocabulary: Vocabulary,
    toy: corpora.Corpus,
    size: int,
    generator: np.random.Generator,
) -> NDArray[np.int32]:
    """Sentences drawn again from a sample of the toy world, until there are enough."""
    ids = vocabulary.encode(toy.tokens)
    ends = np.flatnonzero(ids == ids[-1]) + 1  # every sentence ends like the last
    begins = np.concatenate([[0], ends[:-1]])
    mean = len(ids) / len(ends)
    drawn = generator.integers(0, len(ends), int(size / mean * 1.05) + 10)
    lengths = ends[drawn] - begins[drawn]
    offset = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    more: NDArray[np.int32] = ids[np.repeat(begins[drawn], lengths) + offset]
    return more[:size]


def drawn_text(corpus: EncodedCorpus, millions: int) -> tuple[int, NDArray[np.int32]]:
    """Words drawn independently with Brown's frequencies; words and ids."""
    generator = np.random.default_rng(0)
    size = millions * 10**6 + HELD_OUT
    drawn = corpus.train[generator.integers(0, len(corpus.train), size)]
    return len(corpus.vocabulary), drawn


def notes(found: Figures) -> list[str]:
    """What the figures say about the claims."""
    said = [
        _claim(f"{ROW}/seconds", found, SECONDS, "s by the clock for 5-grams on Brown")
    ]
    if f"{ROW}/peak_mb" in found:
        said.append(_claim(f"{ROW}/peak_mb", found, MEGABYTES, "MB of peak memory"))
    said += [
        _claim(key, found, SLOPE, f"for {key}")
        for key in found
        if key.endswith("_slope")
    ]
    said.append(
        "KenLM is scored word by word through its Python module, which costs it most "
        "of its time; its estimator is no part of that module and was not measured."
    )
    return said


def _claim(key: str, found: Figures, limit: float, what: str) -> str:
    verdict = "Met" if found[key] <= limit else "Missed"
    return f"Claim: at most {limit:g} {what}. {verdict}: {found[key]:.3g}."


def _optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
