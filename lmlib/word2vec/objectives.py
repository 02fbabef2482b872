"""The four losses of word2vec and their gradients, as matrix products.

Written out by hand rather than left to autograd, because they *are* the model: every
gradient is an error (what was predicted, minus what was there) times a vector. The
words of a stretch of text share their noise words (Ji et al. 2016), so that all the
scores of the stretch are one product of two matrices. The expected loss stays the
same; only the noise of neighbouring words is no longer independent.

C holds the input vectors ``(|V|, m)``, the ones kept as embeddings; V the output
vectors of words ``(|V|, m)`` or of the Huffman tree's inner nodes ``(|V| - 1, m)``.
Both architectures predict the word in the middle of a window: CBOW from the mean of
the window's vectors, skip-gram from each of them separately. (Mikolov et al. 2013b
write skip-gram as predicting the window from the middle; over a text these are the
same pairs of words, and their released code takes them in our order.)
"""

# B stretches, T words in each, S = T + 2w columns, N noise words, L decisions.

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lmlib.word2vec.windows import Blocks


@dataclass(frozen=True)
class Part:
    """Gradients of some rows of a table; a row may occur more than once."""

    rows: Tensor  # (n,) ids
    gradient: Tensor  # (n, m)


@dataclass(frozen=True)
class Gradients:
    """The gradient of the summed loss, and the loss itself where it was asked for."""

    inputs: Part
    outputs: tuple[Part, ...]
    predictions: Tensor  # how many the sum is over
    loss: Tensor | None  # nats, summed


@dataclass(frozen=True)
class Tree:
    """Huffman paths as tensors: inner nodes, +1 or -1 for the branch, 0 as padding."""

    nodes: Tensor  # (|V|, L)
    signs: Tensor  # (|V|, L)


def skip_gram_negative(
    blocks: Blocks,
    C: Tensor,
    V: Tensor,
    noise: Tensor,
    negatives: int,
    with_loss: bool = True,
) -> Gradients:
    """Skip-gram with negative sampling (Mikolov et al. 2013b, eq. 4).

    The sum over words c in the window of t of
    -log s(V_t . C_c) - k E[log s(-V_z . C_c)], s the logistic function, z the noise,
    k = ``negatives``. ``noise`` ``(B, N)`` are ids drawn from P_n; the mean over the
    stretch's N draws stands for the expectation. A draw that happens to be the
    target counts like any other, as in eq. 4 (the released code skips it).
    """
    mask = blocks.mask()  # (B, T, S)
    context = _gather(C, blocks.columns)  # (B, S, m)
    target = _gather(V, blocks.targets)  # (B, T, m)
    unlike = _gather(V, noise)  # (B, N, m)
    pairs = mask.sum(1)  # (B, S)
    weight = (pairs * (negatives / noise.shape[1])).unsqueeze(2)  # (B, S, 1)
    positive = target @ context.mT  # (B, T, S)
    negative = context @ unlike.mT  # (B, S, N)
    loss = None
    if with_loss:
        loss = _sum(mask, F.softplus(-positive)) + _sum(weight, F.softplus(negative))
    missing = positive.sigmoid_().sub_(1).mul_(mask)  # s - 1: dloss/dscore
    excess = negative.sigmoid_().mul_(weight)  # s - 0
    dcontext = torch.baddbmm(missing.mT @ target, excess, unlike)  # (B, S, m)
    return Gradients(
        _part(blocks.columns, dcontext),
        (
            _part(blocks.targets, missing @ context),
            _part(noise, excess.mT @ context),
        ),
        pairs.sum(),
        loss,
    )


def cbow_negative(
    blocks: Blocks,
    C: Tensor,
    V: Tensor,
    noise: Tensor,
    negatives: int,
    with_loss: bool = True,
) -> Gradients:
    """CBOW with negative sampling: as above, with one h_t in place of every C_c.

    The sum over words t that have neighbours of
    -log s(V_t . h_t) - k E[log s(-V_z . h_t)], h_t the mean of the window's C_c.
    The released code forgets to divide the gradient of the C_c by the window's size
    (Irsoy et al. 2021); this is the true gradient, so it wants a larger rate.
    """
    average, there = _averaging(blocks)  # (B, T, S), (B, T, 1)
    h = average @ _gather(C, blocks.columns)  # (B, T, m)
    target = _gather(V, blocks.targets)  # (B, T, m)
    unlike = _gather(V, noise)  # (B, N, m)
    weight = there * (negatives / noise.shape[1])
    positive = (target * h).sum(2, keepdim=True)  # (B, T, 1)
    negative = h @ unlike.mT  # (B, T, N)
    loss = None
    if with_loss:
        loss = _sum(there, F.softplus(-positive)) + _sum(weight, F.softplus(negative))
    missing = positive.sigmoid_().sub_(1).mul_(there)
    excess = negative.sigmoid_().mul_(weight)
    dh = torch.baddbmm(target.mul_(missing), excess, unlike)  # (B, T, m)
    dunlike = excess.mT @ h  # (B, N, m)
    return Gradients(
        _part(blocks.columns, average.mT @ dh),
        (_part(blocks.targets, h.mul_(missing)), _part(noise, dunlike)),
        there.sum(),
        loss,
    )


def skip_gram_tree(
    blocks: Blocks, C: Tensor, V: Tensor, tree: Tree, with_loss: bool = True
) -> Gradients:
    """Skip-gram with hierarchical softmax (Mikolov et al. 2013b, eq. 3).

    The sum over words c in the window of t of -sum_j log s(sign_j V_j . C_c), j over
    the inner nodes from the root to word t, sign 1 for bit 0 and -1 for bit 1.
    """
    context = _gather(C, blocks.columns)  # (B, S, m)
    width, length = blocks.windows.shape[2], blocks.targets.shape[1]
    near = context.unfold(1, width, 1).mT  # (B, T, 2w + 1, m)
    loss, dnear, outputs = _decide(near, blocks.windows, blocks, V, tree, with_loss)
    dcontext = torch.zeros_like(context)
    for o in range(width):
        dcontext[:, o : o + length] += dnear[:, :, o]
    inputs = _part(blocks.columns, dcontext)
    return Gradients(inputs, (outputs,), blocks.windows.sum(), loss)


def cbow_tree(
    blocks: Blocks, C: Tensor, V: Tensor, tree: Tree, with_loss: bool = True
) -> Gradients:
    """CBOW with hierarchical softmax: as above, with one h_t in place of every C_c.

    The sum over words t that have neighbours of -sum_j log s(sign_j V_j . h_t), h_t
    the mean of the window's C_c.
    """
    average, there = _averaging(blocks)  # (B, T, S), (B, T, 1)
    h = (average @ _gather(C, blocks.columns)).unsqueeze(2)  # (B, T, 1, m)
    loss, dh, outputs = _decide(h, there, blocks, V, tree, with_loss)
    inputs = _part(blocks.columns, average.mT @ dh.squeeze(2))
    return Gradients(inputs, (outputs,), there.sum(), loss)


def _decide(
    h: Tensor, weight: Tensor, blocks: Blocks, V: Tensor, tree: Tree, with_loss: bool
) -> tuple[Tensor | None, Tensor, Part]:
    """Loss of the decisions towards each target, its gradient in h and in V.

    ``h`` ``(B, T, c, m)`` are c predictors of each target, weighted ``(B, T, c)``.
    """
    nodes = tree.nodes[blocks.targets]  # (B, T, L)
    signs = tree.signs[blocks.targets].unsqueeze(2)  # (B, T, 1, L)
    rows = _gather(V, nodes)  # (B, T, L, m)
    weight = weight.unsqueeze(3)  # (B, T, c, 1)
    agreement = (h @ rows.mT).mul_(signs)  # (B, T, c, L)
    loss = None
    if with_loss:
        loss = _sum(weight * signs.abs(), F.softplus(-agreement))
    error = agreement.sigmoid_().sub_(1).mul_(signs).mul_(weight)
    return loss, error @ rows, _part(nodes, error.mT @ h)


def _averaging(blocks: Blocks) -> tuple[Tensor, Tensor]:
    """The matrix that averages each window ``(B, T, S)``; 1 where there is one."""
    counts = blocks.windows.sum(2, keepdim=True)  # (B, T, 1)
    return blocks.mask(blocks.windows / counts.clamp(min=1)), counts.clamp(max=1)


def _gather(table: Tensor, ids: Tensor) -> Tensor:
    return F.embedding(ids, table)


def _part(ids: Tensor, gradient: Tensor) -> Part:
    rows = ids.reshape(-1)
    return Part(rows, gradient.reshape(len(rows), -1))


def _sum(weight: Tensor, values: Tensor) -> Tensor:
    return (weight * values).sum()
