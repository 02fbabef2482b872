"""Training the output layer without summing over the vocabulary.

The softmax of y = b + W a costs |V| dot products an example, nearly all of the NNLM's
work. Two answers need K + 1 instead, from K words drawn from a distribution Q that is
easy to draw from:

- *importance sampling* (Bengio and Senecal 2003, 2008) estimates the normaliser;
- *noise-contrastive estimation* (Gutmann and Hyvarinen 2012, Mnih and Teh 2012) learns
  to tell the word that came from words that were drawn.

As K grows, the gradients of both approach the full softmax's. All examples share the K
words, so that their scores are one product of two matrices. Both are for training
only: perplexity needs the full softmax. Chapter 7.
"""

# B examples, K words drawn, D numbers in a.

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def importance_sampling_loss(
    a: Tensor,
    W: Tensor,
    b: Tensor | None,
    targets: Tensor,
    drawn: Tensor,
    log_q: Tensor,
    *,
    sparse: bool = False,
) -> Tensor:
    """Mean over the examples of -y_t + log((1/K) sum_k exp(y_k) / Q(k)), in nats.

    The second term estimates log Z from the words k = ``drawn`` ``(K,)`` from Q. Its
    gradient is sum_k r_k dy_k / sum_k r_k with r_k = exp(y_k) / Q(k), the estimator of
    Bengio and Senecal 2008. It is biased, since a ratio of means is not the
    mean of ratios, and both bias and variance vanish as 1/K. Without the target among
    the words drawn, the loss can be negative.

    ``a`` ``(B, D)``, ``W`` ``(|V|, D)``, ``b`` ``(|V|,)`` or None, ``targets``
    ``(B,)``, ``log_q`` ``(|V|,)`` log Q of every word. With ``sparse`` the gradient of
    W has only the rows that were used, for ``torch.optim.SGD`` or ``SparseAdam``.

    Raises ``ValueError`` for shapes that do not match, ids outside the vocabulary, or
    a drawn word that Q never draws.
    """
    _check(a, W, b, targets, drawn, log_q)
    y_target, y_drawn = _scores(a, W, b, targets, drawn, sparse)  # (B,), (B, K)
    log_z = torch.logsumexp(y_drawn - log_q[drawn], dim=1)  # (B,)
    return (log_z - math.log(len(drawn)) - y_target).mean()


def nce_loss(
    a: Tensor,
    W: Tensor,
    b: Tensor | None,
    targets: Tensor,
    drawn: Tensor,
    log_q: Tensor,
    *,
    log_normaliser: Tensor | float = 0.0,
    sparse: bool = False,
) -> Tensor:
    """Mean of -log s(G(t)) - sum_k log s(-G(k)), G(w) = y_w - c - log(K Q(w)).

    s(G(w)) is the probability that w came from the text and not from the noise, were
    exp(y_w - c) its probability in the text (Mnih and Teh 2012). The model
    is thus pushed to be normalised by itself, Z = exp(c); Mnih and Teh fix c =
    ``log_normaliser`` at 0 and find that this does no harm. As K grows the gradient
    approaches that of -y_t + exp(-c) sum_w exp(y_w), which is the full softmax's where
    exp(c) = Z. The loss itself also holds the noise's share, about log K + 1 nats.

    Arguments, shapes and errors are those of ``importance_sampling_loss``;
    ``log_normaliser`` is a number or one for each example ``(B,)``.
    """
    _check(a, W, b, targets, drawn, log_q)
    y_target, y_drawn = _scores(a, W, b, targets, drawn, sparse)  # (B,), (B, K)
    c = torch.as_tensor(log_normaliser, dtype=a.dtype).reshape(-1, 1)
    log_noise = log_q + math.log(len(drawn))  # (|V|,)
    there = F.softplus(-(y_target - c[:, 0] - log_noise[targets]))  # (B,)
    unlike = F.softplus(y_drawn - c - log_noise[drawn]).sum(1)  # (B,)
    return (there + unlike).mean()


def _scores(
    a: Tensor, W: Tensor, b: Tensor | None, targets: Tensor, drawn: Tensor, sparse: bool
) -> tuple[Tensor, Tensor]:
    """y of each example's target ``(B,)`` and of the drawn words ``(B, K)``."""
    rows = F.embedding(torch.cat([targets, drawn]), W, sparse=sparse)  # (B + K, D)
    own, shared = rows[: len(targets)], rows[len(targets) :]
    y_target, y_drawn = (own * a).sum(1), a @ shared.mT
    if b is None:
        return y_target, y_drawn
    return y_target + b[targets], y_drawn + b[drawn]


def _check(
    a: Tensor,
    W: Tensor,
    b: Tensor | None,
    targets: Tensor,
    drawn: Tensor,
    log_q: Tensor,
) -> None:
    words = len(W)
    shapes = (
        ("a", a, (len(a), W.shape[-1])),
        ("b", b, (words,)),
        ("targets", targets, (len(a),)),
        ("log_q", log_q, (words,)),
    )
    for name, tensor, expected in shapes:
        if tensor is not None and tuple(tensor.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}: expected {expected}, to go "
                f"with {len(a)} examples and W of shape {tuple(W.shape)}"
            )
    if drawn.ndim != 1 or len(drawn) == 0 or len(a) == 0:
        raise ValueError(
            f"{len(a)} examples and drawn words of shape {tuple(drawn.shape)}: "
            "expected at least one example and one row of at least one word"
        )
    for name, ids in (("targets", targets), ("drawn", drawn)):
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= words:
            raise ValueError(
                f"{name} holds the id {low if low < 0 else high}: expected 0 to "
                f"{words - 1}"
            )
    impossible = drawn[torch.isinf(log_q[drawn])]
    if len(impossible):
        raise ValueError(
            f"word {int(impossible[0])} was drawn, but log_q says that Q never draws "
            "it: draw from the distribution whose logarithms are given"
        )
