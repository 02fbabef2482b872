"""Word vectors and what can be asked of them: neighbours, similarities, maps.

An embedding is a row of C, one vector a word. Words used alike end up near each other,
and *near* means a small angle: cosines, not distances, because a frequent word's
vector may be longer without meaning something else. Chapter 7.

Everything is exact and in batches: the similarities of q words to all others are one
product (q, m) x (m, |V|). Analogies are in ``analogies``, files in
``embedding_files``.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lmlib.vocabulary import IntArray, Vocabulary, reject_string

FloatArray = NDArray[np.floating[Any]]


class Embeddings:
    """A vocabulary and a vector for each of its words, ``(|V|, m)``.

    Asking for a word outside the vocabulary is a ``ValueError``, even where the
    vocabulary has an unknown symbol: that symbol's vector is no other word's.
    """

    def __init__(self, vocabulary: Vocabulary, vectors: ArrayLike) -> None:
        array = np.asarray(vectors)
        if not np.issubdtype(array.dtype, np.floating):
            array = array.astype(np.float64)
        self.vocabulary = vocabulary
        self.vectors: FloatArray = array  # (|V|, m)
        if array.ndim != 2 or len(array) != len(vocabulary):
            raise ValueError(
                f"vectors have shape {array.shape}: expected one row for each of the "
                f"{len(vocabulary)} words"
            )
        if array.shape[1] == 0:
            raise ValueError(
                "vectors of dimension 0 cannot tell words apart: expected at least 1"
            )
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array).all(1))[0])
            raise ValueError(
                f"the vector of {vocabulary.words[row]!r} holds nan or infinity: the "
                "training diverged (lower its rate) or the file is damaged"
            )

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        return f"Embeddings({len(self)} words, dimension {self.dimension})"

    @property
    def dimension(self) -> int:
        """m, numbers a word."""
        return int(self.vectors.shape[1])

    def ids(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Rows of the words, ``(q,)``; ``ValueError`` names one that has none."""
        reject_string(words, "words")
        words = list(words)
        for word in words:
            if word not in self.vocabulary:
                raise ValueError(
                    f"{word!r} is not among the {len(self)} words with a vector: it "
                    "was never seen, or too rarely; choose another word"
                )
        return np.array([self.vocabulary.id(word) for word in words], dtype=np.int64)

    def __getitem__(self, word: str) -> FloatArray:
        """The vector of one word, ``(m,)``."""
        row: FloatArray = self.vectors[self.ids([word])[0]]
        return row

    @functools.cached_property
    def is_zero(self) -> NDArray[np.bool_]:
        """Which words have the zero vector, ``(|V|,)``: they are near nothing."""
        result: NDArray[np.bool_] = (self.vectors == 0).all(axis=1)
        return result

    @functools.cached_property
    def directions(self) -> FloatArray:
        """The vectors divided by their lengths, ``(|V|, m)``; a zero one stays zero."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        result: FloatArray = self.vectors / np.where(lengths == 0, 1, lengths)
        return result

    def directed(self, words: Iterable[str]) -> NDArray[np.int64]:
        """As ``ids``, and ``ValueError`` names a word whose vector is zero."""
        rows = self.ids(words)
        zero = rows[self.is_zero[rows]]
        if zero.size:
            raise ValueError(
                f"{self.vocabulary.words[zero[0]]!r} has the zero vector, which has no "
                "direction and no cosine with any other: the word was never trained "
                "on or has no features; choose another word"
            )
        return rows

    def select(self, words: Iterable[str]) -> Embeddings:
        """Only these words, in this order; the vocabulary is then a closed one."""
        words = list(words)
        return Embeddings(Vocabulary(words, None), self.vectors[self.ids(words)])

    def similarities(self, words: Sequence[str]) -> FloatArray:
        """Cosines of the words with every word, ``(q, |V|)``; 0 with a zero vector."""
        rows = self.directed(words)
        result: FloatArray = self.directions[rows] @ self.directions.T
        return result

    def similarity(self, first: str, second: str) -> float:
        """Cosine of the angle between two words' vectors, -1 to 1."""
        a, b = self.directions[self.directed([first, second])]
        return float(a @ b)

    def neighbours(
        self, words: Sequence[str], k: int = 10
    ) -> list[list[tuple[str, float]]]:
        """The k words nearest to each, with their cosines, nearest first.

        The word itself and words with a zero vector are left out; equal cosines are
        ordered by id. Raises ``ValueError`` for an unknown word, a zero vector, or k
        larger than the number of other words.
        """
        others = len(self) - int(self.is_zero.sum()) - 1
        if not 1 <= k <= others:
            raise ValueError(
                f"k={k} neighbours of a word were asked for, but there are {others} "
                f"other words: expected 1 to {others}"
            )
        cosines = self.similarities(words)  # (q, |V|)
        cosines[np.arange(len(cosines)), self.ids(words)] = -np.inf
        cosines[:, self.is_zero] = -np.inf
        best = largest(cosines, k)  # (q, k)
        return [
            [(self.vocabulary.words[j], float(row[j])) for j in top]
            for row, top in zip(cosines, best.tolist(), strict=True)
        ]


def largest(scores: FloatArray, k: int) -> IntArray:
    """Columns of the k largest scores of each row, largest first, ``(q, k)``."""
    if k < scores.shape[1] // 4:
        # Everything at least as large as the k-th, so that ties go by column too.
        limit = -np.partition(-scores, k - 1, axis=1)[:, k - 1]
        rows = [np.flatnonzero(row >= x) for row, x in zip(scores, limit, strict=True)]
        return np.array(
            [
                at[np.argsort(-row[at], kind="stable")[:k]]
                for row, at in zip(scores, rows, strict=True)
            ],
            dtype=np.int64,
        ).reshape(len(scores), k)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def similarity_correlation(
    embeddings: Embeddings, judged: Sequence[tuple[str, str, float]]
) -> float:
    """Spearman's rank correlation between cosines and judged similarities.

    ``judged`` holds (word, word, how similar people find them). Only the order
    matters, so the judgements' scale does not. Raises ``ValueError`` for unknown
    words, fewer than three pairs, or judgements that are all the same.
    """
    scores = [score for _, _, score in judged]
    if len(set(scores)) < 2 or len(judged) < 3:
        raise ValueError(
            f"{len(judged)} pairs with {len(set(scores))} different judgements have no "
            "order to agree with: expected at least 3 pairs, judged differently"
        )
    stats = extra("scipy.stats", "scipy")
    cosines = [embeddings.similarity(a, b) for a, b, _ in judged]
    return float(stats.spearmanr(cosines, scores).statistic)


def principal_map(vectors: FloatArray) -> FloatArray:
    """The vectors seen from the side where they differ most: PCA, ``(n, 2)``.

    Each axis is turned so that its largest value is positive.
    """
    decomposition = extra("sklearn.decomposition", "scikit-learn")
    _check_points(vectors, 2)
    pca = decomposition.PCA(n_components=2, svd_solver="full")
    points: FloatArray = pca.fit_transform(np.asarray(vectors, np.float64))
    sign = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return points * np.where(sign == 0, 1, sign)


def tsne_map(
    vectors: FloatArray, perplexity: float = 15.0, seed: int = 0
) -> FloatArray:
    """t-SNE (van der Maaten and Hinton 2008), by cosine, ``(n, 2)``.

    Neighbourhoods are kept; distances between groups, and their sizes, mean nothing.
    """
    manifold = extra("sklearn.manifold", "scikit-learn")
    _check_points(vectors, 3)
    if not 0 < perplexity < len(vectors):
        raise ValueError(
            f"perplexity={perplexity} is about how many neighbours a point has: "
            f"expected more than 0 and less than the {len(vectors)} points"
        )
    tsne = manifold.TSNE(
        perplexity=perplexity,
        metric="cosine",
        init="random",
        random_state=seed,
        # For few points the exact way is quick, and the same on any number of cores.
        method="exact" if len(vectors) <= 500 else "barnes_hut",
    )
    points: FloatArray = tsne.fit_transform(np.asarray(vectors, np.float64))
    return points


def _check_points(vectors: FloatArray, least: int) -> None:
    if vectors.ndim != 2 or len(vectors) < least or vectors.shape[1] < 2:
        raise ValueError(
            f"vectors of shape {vectors.shape} cannot be drawn in the plane: expected "
            f"at least {least} rows of at least 2 numbers"
        )


def extra(module: str, package: str) -> Any:
    """An optional module, or a ``ValueError`` with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"this needs {package}, which is not installed: pip install {package}"
        ) from error
