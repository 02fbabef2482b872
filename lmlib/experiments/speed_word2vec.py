"""word2vec beside gensim's compiled code: words per second, and what was learned.

    python -m lmlib.experiments speed_word2vec

One text (the World English Bible), the same dimension, window, negatives, subsampling
and number of threads, for both architectures with negative sampling:

- *speed*: one pass each in turn, gensim and ours, several times; medians of the words
  read a second, and the median of the pairwise ratios. Building vocabularies is not
  counted. gensim is given words, ours ids, as each is made for.
- *quality*: full training with three seeds each; accuracy on the relation questions of
  ``lmlib.relations`` and rank correlation with its judged pairs. Beside them chance and
  the co-occurrence baseline (positive PMI, SVD) of the same dimension.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from lmlib import corpora, results
from lmlib.analogies import chance, solve, solve_relations
from lmlib.cooccurrence import cooccurrence, positive_pmi, svd_embeddings
from lmlib.embeddings import Embeddings, similarity_correlation
from lmlib.relations import bible_relations, bible_similarities
from lmlib.vocabulary import IntArray, Vocabulary
from lmlib.word2vec import Word2VecConfig, train_word2vec

NAME = "speed_word2vec"
ARCHITECTURES = ("skip-gram", "cbow")
HALF = 0.5  # the claim: of gensim's words per second
MIN_COUNT = 5
SENTENCE = 1_000  # words in what gensim takes for a sentence

Figures = dict[str, float]


def main(arguments: Sequence[str]) -> None:
    """Measure and write ``data/results/speed_word2vec.json``."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lmlib.experiments {NAME}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=5, help="medians are over these")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--words", type=int, default=0, help="of the text; 0: all")
    parser.add_argument("--out", type=Path, default=results.RESULTS)
    options = parser.parse_args(arguments)
    if min(options.repeats, options.threads) < 1 or options.seeds < 2:
        parser.error("expected at least 1 repeat, 1 thread and 2 seeds")
    begun = time.perf_counter()
    tokens = corpora.bible().tokens[: options.words or None]
    vocabulary = Vocabulary.from_tokens(tokens, MIN_COUNT)
    run = Comparison(vocabulary, vocabulary.encode(tokens), options)
    config = {k: v for k, v in vars(options).items() if k != "out"}
    config |= {"words": len(tokens), "vocabulary": len(vocabulary)}
    command = " ".join(["python -m lmlib.experiments", NAME, *arguments])
    seeds = list(range(1, options.seeds + 1))
    record = results.begin(NAME, command, config, seeds)
    record.figures |= run.speeds(options.repeats)
    record.figures |= run.qualities(seeds)
    record.figures |= run.baselines()
    record.notes = notes(record.figures)
    record.seconds = round(time.perf_counter() - begun, 1)
    for key, value in record.figures.items():
        print(f"{key:44} {value:12.4g}")
    print(*record.notes, f"written to {results.write(record, options.out)}", sep="\n")


class Comparison:
    """One text, and both ways to train on it."""

    def __init__(
        self, vocabulary: Vocabulary, ids: IntArray, options: argparse.Namespace
    ) -> None:
        try:
            self.gensim: Any = importlib.import_module("gensim.models")
        except ImportError as error:
            raise ValueError("the peer is not installed: pip install gensim") from error
        self.vocabulary, self.ids, self.options = vocabulary, ids, options
        # Rare words as <unk> for both, so that both see the same text.
        words = vocabulary.decode(ids)
        self.texts = [ids[i : i + SENTENCE] for i in range(0, len(ids), SENTENCE)]
        self.sentences = [
            words[i : i + SENTENCE] for i in range(0, len(words), SENTENCE)
        ]
        self.relations = bible_relations(vocabulary)
        self.judged = bible_similarities(vocabulary)

    def ours(self, architecture: str, epochs: int, seed: int) -> tuple[float, Any]:
        """Seconds of training and the vectors."""
        config = Word2VecConfig(
            architecture, dimension=self.options.dimension, epochs=epochs
        )
        begun = time.perf_counter()
        model = train_word2vec(
            self.vocabulary, self.texts, config, seed, self.options.threads
        )
        seconds = time.perf_counter() - begun
        return seconds, Embeddings(self.vocabulary, model.C.numpy())

    def theirs(self, architecture: str, epochs: int, seed: int) -> tuple[float, Any]:
        """The same of gensim, with its own default rate."""
        model = self.gensim.Word2Vec(
            vector_size=self.options.dimension,
            window=5,
            min_count=1,
            negative=5,
            sample=1e-3,
            sg=int(architecture == "skip-gram"),
            workers=self.options.threads,
            seed=seed,
        )
        model.build_vocab(self.sentences)
        begun = time.perf_counter()
        model.train(self.sentences, total_examples=model.corpus_count, epochs=epochs)
        seconds = time.perf_counter() - begun
        words = Vocabulary(model.wv.index_to_key, None)
        return seconds, Embeddings(words, np.array(model.wv.vectors))

    def speeds(self, repeats: int) -> Figures:
        """Words a second of one pass: medians, single runs, and ratios."""
        found: Figures = {}
        for architecture in ARCHITECTURES:
            runs: list[tuple[float, float]] = []
            for seed in tqdm(range(repeats), desc=f"{architecture} speed", leave=False):
                theirs, _ = self.theirs(architecture, 1, seed)
                ours, _ = self.ours(architecture, 1, seed)
                runs.append((len(self.ids) / ours, len(self.ids) / theirs))
            for i, (ours, theirs) in enumerate(runs, 1):
                found[f"{architecture} run {i}/words_per_second"] = ours
                found[f"gensim {architecture} run {i}/words_per_second"] = theirs
            mine, peer = zip(*runs, strict=True)
            found[f"{architecture}/words_per_second"] = statistics.median(mine)
            found[f"gensim {architecture}/words_per_second"] = statistics.median(peer)
            ratios = [ours / theirs for ours, theirs in runs]
            found[f"{architecture}/ratio_to_gensim"] = statistics.median(ratios)
        return found

    def qualities(self, seeds: Sequence[int]) -> Figures:
        """Mean and standard deviation over the seeds of each score."""
        found: Figures = {}
        ways: dict[str, Callable[[str, int, int], tuple[float, Any]]] = {
            "": self.ours,
            "gensim ": self.theirs,
        }
        for architecture in ARCHITECTURES:
            for name, train in ways.items():
                scores = [
                    self.scores(train(architecture, self.options.epochs, seed)[1])
                    for seed in tqdm(
                        seeds, desc=f"{name}{architecture} quality", leave=False
                    )
                ]
                for measure in scores[0]:
                    values = [score[measure] for score in scores]
                    row = f"{name}{architecture}/{measure}"
                    found[row] = statistics.mean(values)
                    found[row + "_sd"] = statistics.stdev(values)
        return found

    def scores(self, embeddings: Embeddings) -> Figures:
        """Accuracy over all questions and by relation, and rank correlation."""
        every = [q for questions in self.relations.values() for q in questions]
        by_relation = solve_relations(embeddings, self.relations)
        return {
            "accuracy": solve(embeddings, every).accuracy,
            **{
                f"accuracy_{name.replace(' ', '_')}": answers.accuracy
                for name, answers in by_relation.items()
            },
            "spearman": similarity_correlation(embeddings, self.judged),
        }

    def baselines(self) -> Figures:
        """Chance, and the SVD of positive PMI."""
        counts = cooccurrence(self.vocabulary, self.texts, 5)
        matrix = positive_pmi(counts, smoothing=0.75)
        svd = svd_embeddings(self.vocabulary, matrix, self.options.dimension)
        found = {f"SVD/{key}": value for key, value in self.scores(svd).items()}
        questions = sum(map(len, self.relations.values()))
        return found | {"chance/accuracy": chance(svd), "all/questions": questions}


def notes(found: Figures) -> list[str]:
    """What the figures say about the claims."""
    said = []
    for architecture in ARCHITECTURES:
        ratio = found[f"{architecture}/ratio_to_gensim"]
        verdict = "Met" if ratio >= HALF else "Missed"
        winner = "gensim is faster" if ratio < 1 else "ours is faster"
        said.append(
            f"Claim: {architecture} at least {HALF:g} of gensim's words per second. "
            f"{verdict}: {ratio:.3g} ({winner})."
        )
        for measure in ("accuracy", "spearman"):
            said.append(_compared(found, architecture, measure))
    said.append(
        "Ours divides CBOW's gradient by the window's size and starts at rate 0.1; "
        "gensim does not divide and starts at 0.025. Ours updates once a batch, with "
        "noise words shared in stretches of text; gensim once a word."
    )
    return said


def _compared(found: Figures, architecture: str, measure: str) -> str:
    rows = [f"{name}{architecture}/{measure}" for name in ("", "gensim ")]
    ours, theirs = (found[row] for row in rows)
    # Twice the standard deviation of the difference of two single runs.
    noise = 2 * sum(found[row + "_sd"] ** 2 for row in rows) ** 0.5
    if abs(ours - theirs) <= noise:
        verdict = "Met"
    else:
        verdict = "Met, ours is better" if ours > theirs else "Missed, gensim is better"
    return (
        f"Claim: {architecture}'s {measure} within noise ({noise:.2g}) of gensim's. "
        f"{verdict}: {ours:.3g} and {theirs:.3g}."
    )
