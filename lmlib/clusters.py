"""Groups of words by k-means, held against known categories. Chapter 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lmlib.embeddings import Embeddings, extra


def k_means(
    embeddings: Embeddings, words: Sequence[str], k: int, seed: int = 0
) -> list[int]:
    """Cluster number (0 to k - 1) of each word, by the directions of the vectors.

    Scikit-learn's k-means on unit vectors, the best of 20 starts. Raises
    ``ValueError`` for an unknown word or for more clusters than words.
    """
    rows = embeddings.directed(words)
    if not 1 <= k <= len(rows):
        raise ValueError(
            f"k={k} clusters of {len(rows)} words: expected 1 to {len(rows)}"
        )
    cluster = extra("sklearn.cluster", "scikit-learn")
    points = np.asarray(embeddings.directions[rows], np.float64)
    means = cluster.KMeans(k, n_init=20, random_state=seed)
    labels: list[int] = means.fit_predict(points).tolist()
    return labels


def purity(labels: Sequence[int], categories: Sequence[str]) -> float:
    """Share of the words that belong to the commonest category of their cluster.

    1 where no cluster mixes categories. More clusters make it easier, so it is given
    with as many clusters as categories.
    """
    if not labels or len(labels) != len(categories):
        raise ValueError(
            f"{len(labels)} cluster numbers and {len(categories)} categories: expected "
            "one of each for every word, and at least one word"
        )
    members: dict[int, list[str]] = {}
    for label, category in zip(labels, categories, strict=True):
        members.setdefault(label, []).append(category)
    commonest = [Counter(names).most_common(1)[0][1] for names in members.values()]
    return sum(commonest) / len(labels)


def category_purity(
    embeddings: Embeddings,
    categories: Mapping[str, str],
    k: int | None = None,
    seed: int = 0,
) -> float:
    """Purity of k-means over the words of ``categories`` (word to category).

    k is the number of categories, unless told otherwise.
    """
    words = list(categories)
    names = [categories[word] for word in words]
    labels = k_means(embeddings, words, k or len(set(names)), seed)
    return purity(labels, names)
