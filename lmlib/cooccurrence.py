"""The count-based ancestor: co-occurrence, positive PMI, truncated SVD.

Words that share contexts have similar rows in the table of co-occurrences. This idea
from information retrieval (latent semantic indexing) is older than the neural model;
Bengio et al. 2003 argue with it, and report that such fixed features
did worse as C than learned ones. Levy and Goldberg 2014b showed that skip-gram with
negative sampling factorises nearly the same table. Chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lmlib.embeddings import Embeddings, FloatArray, extra
from lmlib.vocabulary import IntArray, Vocabulary
from lmlib.word2vec.windows import as_texts

Sparse = Any  # scipy.sparse.csr_array


def cooccurrence(
    vocabulary: Vocabulary,
    texts: IntArray | Sequence[IntArray],
    window: int = 5,
    weighted: bool = False,
) -> Sparse:
    """How often word j stands within ``window`` words of word i: sparse (|V|, |V|).

    Symmetric, since both words are within reach of each other. ``weighted`` counts a
    pair at distance d as (window - d + 1) / window: what word2vec's dynamic window
    does on average. Windows do not cross from one text into another.
    """
    if window < 1:
        raise ValueError(f"window={window}: expected at least 1 word on either side")
    sparse = extra("scipy.sparse", "scipy")
    size = len(vocabulary)
    rows = as_texts(texts, size)
    # int64, because a csr_array keeps the index type it is given.
    ids = np.concatenate(rows).astype(np.int64)  # (T,)
    text = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    total = sparse.csr_array((size, size))
    for d in range(1, min(window, len(ids) - 1) + 1):
        together = text[:-d] == text[d:]
        pairs = (ids[:-d][together], ids[d:][together])
        weight = (window - d + 1) / window if weighted else 1.0
        values = np.full(len(pairs[0]), weight)
        total = total + sparse.csr_array((values, pairs), shape=(size, size))
    return (total + total.T).tocsr()


def positive_pmi(counts: Sparse, smoothing: float = 1.0, shift: float = 1.0) -> Sparse:
    """max(0, log(P(i, j) / (P(i) P(j))) - log shift), sparse ``(|V|, |V|)``, nats.

    Pointwise mutual information: how much more often two words meet than chance would
    have it; what is not positive is dropped. P(j) is taken from the counts to the
    power ``smoothing`` (0.75, as word2vec's noise, keeps rare words from dominating),
    and ``shift`` plays the part of word2vec's k (Levy et al. 2015).
    """
    if shift < 1:
        raise ValueError(f"shift={shift}: expected 1 (none) or more")
    table = counts.tocoo()
    if not table.data.any() or (table.data < 0).any():
        raise ValueError(
            "the counts are empty or negative: count co-occurrences in a text first"
        )
    rows = np.asarray(counts.sum(axis=1)).ravel()  # (|V|,)
    columns = np.asarray(counts.sum(axis=0)).ravel() ** smoothing
    p_row, p_column = rows / rows.sum(), columns / columns.sum()
    i, j = table.coords
    with np.errstate(divide="ignore"):
        ratio = table.data / rows.sum() / (p_row[i] * p_column[j])
        values = np.maximum(0, np.log(ratio) - np.log(shift))
    sparse = extra("scipy.sparse", "scipy")
    kept = values > 0
    return sparse.csr_array((values[kept], (i[kept], j[kept])), shape=counts.shape)


def svd_embeddings(
    vocabulary: Vocabulary, matrix: Sparse, dimension: int, power: float = 0.5
) -> Embeddings:
    """U_m S_m^power of the best rank-m approximation U S V^T of the matrix.

    ``power`` 1 gives rows whose dot products are those of the matrix's rows; 0.5 and
    0 work better for words (Levy et al. 2015). Each column is turned so
    that its largest entry is positive. Words whose row is empty get the zero vector.

    Raises ``ValueError`` for a dimension outside 1 to |V| - 1, or above the rank.
    """
    if not 1 <= dimension < min(matrix.shape):
        raise ValueError(
            f"dimension={dimension}: a matrix of shape {matrix.shape} has 1 to "
            f"{min(matrix.shape) - 1} directions to keep"
        )
    linalg = extra("scipy.sparse.linalg", "scipy")
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left, values, _ = linalg.svds(matrix.astype(np.float64), k=dimension, v0=start)
    order = np.argsort(-values)
    left, values = left[:, order], values[order]
    if values[-1] <= 1e-12 * values[0]:
        raise ValueError(
            f"dimension={dimension} is more than the matrix has: its singular values "
            "fall to zero before; choose fewer dimensions or give more text"
        )
    sign = np.sign(left[np.abs(left).argmax(axis=0), np.arange(dimension)])
    left = left * sign
    left[np.asarray(matrix.sum(axis=1)).ravel() == 0] = 0  # ARPACK leaves 1e-17 there
    vectors: FloatArray = left * values**power
    return Embeddings(vocabulary, vectors)
