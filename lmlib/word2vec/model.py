"""Training word2vec: settings, the loop, and what comes out."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lmlib.vocabulary import IntArray, Vocabulary
from lmlib.word2vec import objectives
from lmlib.word2vec.huffman import HuffmanTree
from lmlib.word2vec.objectives import Gradients, Part, Tree
from lmlib.word2vec.sampling import (
    AliasTable,
    FloatArray,
    keep_probabilities,
    noise_distribution,
    normalised,
)
from lmlib.word2vec.windows import STRETCH, Blocks, TextBlocks, as_texts

ARCHITECTURES = ("cbow", "skip-gram")
LOSSES = ("negative-sampling", "hierarchical-softmax")


@dataclass(frozen=True)
class Word2VecConfig:
    """Settings of word2vec; the defaults are those of Mikolov et al. 2013b."""

    architecture: str = "skip-gram"  # or "cbow"
    loss: str = "negative-sampling"  # or "hierarchical-softmax"
    dimension: int = 100  # m
    window: int = 5  # w, words on either side at most
    dynamic: bool = True  # draw each window's size from 1..w
    negatives: int = 5  # k
    power: float = 0.75  # of the noise distribution
    subsample: float = 1e-3  # t; 0 keeps every word
    epochs: int = 5
    rate: float | None = None  # None: 0.025 for skip-gram, 0.1 for CBOW
    final_rate: float = 1e-4  # reached linearly
    batch: int | None = None  # words; None: 1024 for skip-gram, 2048 for CBOW
    crowd: float = 2.0  # rate times the terms that may add up in one vector

    def __post_init__(self) -> None:
        for name, known in (("architecture", ARCHITECTURES), ("loss", LOSSES)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not known: expected one of "
                    f"{', '.join(known)}"
                )
        for name in ("dimension", "window", "negatives", "epochs", "stretches"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: expected at least 1")
        for name in ("learning_rate", "crowd"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)}: expected above 0")

    @property
    def learning_rate(self) -> float:
        """The rate at the start. CBOW divides its gradient by the window's size."""
        if self.rate is not None:
            return self.rate
        return 0.025 if self.architecture == "skip-gram" else 0.1

    @property
    def stretches(self) -> int:
        """Stretches of text in a batch, each of 32 words."""
        words = self.batch
        if words is None:  # fewer products a word in CBOW: more words pay off
            words = 1024 if self.architecture == "skip-gram" else 2048
        return -(-words // STRETCH)


@dataclass
class Word2Vec:
    """Two tables of vectors: C, kept as embeddings, and V, needed while training."""

    config: Word2VecConfig
    vocabulary: Vocabulary
    C: Tensor  # (|V|, m)
    V: Tensor  # (|V|, m), or (|V| - 1, m) for a tree
    losses: list[float] = field(default_factory=list)  # nats a prediction, each epoch


def train_word2vec(
    vocabulary: Vocabulary,
    texts: IntArray | Sequence[IntArray],
    config: Word2VecConfig | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[Iterator[int]], Iterator[int]] = iter,
) -> Word2Vec:
    """Word vectors learned from texts (Mikolov et al. 2013a, 2013b), float32.

    ``texts`` is one row of word ids or several; windows do not cross from one into
    another. Plain stochastic gradient descent with a rate that falls linearly, as in
    the papers, but a batch of words at a time. Where so many terms of a batch are
    expected to pull at one vector that their sum times the rate exceeds ``crowd``, it
    would overshoot, so that vector's rate is lower. ``losses`` are estimated from one
    batch in sixteen. ``progress`` wraps the range of epochs, for instance ``tqdm``.
    The same seed gives the same vectors if there is one worker. More ``workers`` are
    threads that take batches in turn and write into the same tables without waiting
    for each other, as in section 3.1 of Bengio et al. 2003. That is not repeatable,
    and of use only where cores stand idle.

    Raises ``ValueError`` for bad settings, ids outside the vocabulary, an empty text,
    or a rate at which the vectors overflow.
    """
    config = config or Word2VecConfig()
    if workers < 1:
        raise ValueError(f"workers={workers}: expected at least 1")
    rows = as_texts(texts, len(vocabulary))
    counts = np.bincount(np.concatenate(rows), minlength=len(vocabulary))
    generator = np.random.default_rng(seed)
    keep = keep_probabilities(counts, config.subsample)
    text = TextBlocks(rows, config.window, keep, config.dynamic)
    m, tree = config.dimension, config.loss == "hierarchical-softmax"
    C = torch.from_numpy((generator.random((len(counts), m)) - 0.5) / m).float()
    model = Word2Vec(config, vocabulary, C, torch.zeros(len(counts) - tree, m))
    descents = [
        _Descent(model, _objective(config, counts * keep, own))
        for own in generator.spawn(workers)
    ]
    with _one_thread_each(), ThreadPoolExecutor(workers) as pool:
        for epoch in progress(iter(range(config.epochs))):
            batches = _Shared(text.epoch(config.stretches, generator, C.dtype))
            sums = list(
                pool.map(_Descent.run, descents, repeat(batches), repeat(epoch))
            )
            if not (model.C.isfinite().all() and model.V.isfinite().all()):
                raise ValueError(
                    f"the vectors overflowed in epoch {epoch + 1} with rate="
                    f"{config.learning_rate} and crowd={config.crowd}: lower one of "
                    "them"
                )
            total, predictions = np.sum(sums, axis=0).tolist()
            model.losses.append(total / max(predictions, 1.0))
    return model


class _Shared:
    """An iterator that several threads may take from, with a number for each item."""

    def __init__(self, batches: Iterator[tuple[Blocks, float]]) -> None:
        self._items = enumerate(batches)
        self._lock = threading.Lock()

    def __iter__(self) -> _Shared:
        return self

    def __next__(self) -> tuple[int, tuple[Blocks, float]]:
        with self._lock:
            return next(self._items)


@dataclass
class _Descent:
    """One worker: takes batches and changes the model's tables in place."""

    model: Word2Vec
    objective: tuple[Objective, Tensor, Tensor]

    def run(self, batches: _Shared, epoch: int) -> tuple[float, float]:
        """Sum of the losses that were looked at, and over how many predictions."""
        model, config = self.model, self.model.config
        objective, input_scale, output_scale = self.objective
        total, predictions = 0.0, 0.0
        for number, (block, done) in batches:
            ratio = (epoch + done) / config.epochs
            rate = config.learning_rate * (1 - ratio) + config.final_rate * ratio
            found = objective(block, model.C, model.V, number % 16 == 0)
            _descend(model.C, (found.inputs,), input_scale * -rate)
            _descend(model.V, found.outputs, output_scale * -rate)
            if found.loss is not None:
                total += float(found.loss)
                predictions += float(found.predictions)
        return total, predictions


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """The products are too small to be worth sharing out among threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Objective = Callable[[Blocks, Tensor, Tensor, bool], Gradients]


def _objective(
    config: Word2VecConfig, counts: FloatArray, generator: np.random.Generator
) -> tuple[Objective, Tensor, Tensor]:
    """The chosen loss, its noise or tree filled in, and the row scales of C and V."""
    skip_gram = config.architecture == "skip-gram"
    crowd = config.crowd / config.learning_rate  # terms
    # Predictions a batch, and how many of them each word is expected to be part of.
    predictions = config.stretches * STRETCH * (config.window + 1 if skip_gram else 1)
    occurring = predictions * normalised(counts, "counts")  # (|V|,)
    if config.loss == "hierarchical-softmax":
        huffman = HuffmanTree(counts)
        signs = (1 - 2 * huffman.bits) * huffman.on_path
        tree = Tree(torch.from_numpy(huffman.nodes), torch.from_numpy(signs).float())
        by_tree = objectives.skip_gram_tree if skip_gram else objectives.cbow_tree
        passing = np.bincount(
            huffman.nodes.ravel(), (huffman.on_path * occurring[:, None]).ravel()
        )
        return (
            lambda block, C, V, loss: by_tree(block, C, V, tree, loss),
            _row_scale(occurring * huffman.expected_length, crowd),
            _row_scale(passing, crowd),
        )
    noise = noise_distribution(counts, config.power)
    table = AliasTable(noise)
    # About as many different noise words for each word as if none were shared.
    draws = config.negatives * (config.window if skip_gram else 2)
    sampled = objectives.skip_gram_negative if skip_gram else objectives.cbow_negative

    def negative(block: Blocks, C: Tensor, V: Tensor, loss: bool) -> Gradients:
        drawn = table.sample((len(block.columns), draws), generator)
        return sampled(block, C, V, torch.from_numpy(drawn), config.negatives, loss)

    return (
        negative,
        _row_scale(occurring * (1 + config.negatives), crowd),
        _row_scale(occurring + config.negatives * predictions * noise, crowd),
    )


def _row_scale(terms: NDArray[Any], crowd: float) -> Tensor:
    """min(1, crowd / terms expected in a batch), as float32."""
    return torch.from_numpy(crowd / np.maximum(terms, crowd)).float()


def _descend(table: Tensor, parts: Sequence[Part], scale: Tensor) -> None:
    """table[row] += scale[row] * gradient, repeated rows added up."""
    for part in parts:
        step = part.gradient.mul_(scale[part.rows].unsqueeze(1))
        table.scatter_add_(0, part.rows.unsqueeze(1).expand_as(step), step)
