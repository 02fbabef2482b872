"""The loss of the output layer, connected to autograd, and what else it answers."""

# B examples, |V| words, D_i numbers in the i-th input.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lmlib.output_layer.checks import check_buffers, check_layer, check_targets
from lmlib.output_layer.chunks import (
    Gradients,
    SoftmaxChunks,
    accumulation_dtype,
    default_chunk,
)


def output_loss(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    targets: Tensor,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    compute_dtype: torch.dtype | None = None,
    chunk: int | None = None,
) -> Tensor:
    """Sum or mean over the examples of -log softmax(y)[target], in nats.

    y = b + sum_i inputs[i] weights[i]^T (Bengio et al. 2003, eq. 1), with ``inputs[i]``
    ``(B, D_i)``, ``weights[i]`` ``(|V|, D_i)``, ``bias`` ``(|V|,)`` or None, and
    ``targets`` ``(B,)`` of word ids. Examples whose target is ``ignore_index`` count
    neither in the sum nor in the mean. ``compute_dtype`` is the type of the matrix
    products, that of the inputs if not given; with bfloat16 the exponentials, sums
    and gradients are still float32, and so is the loss. ``chunk`` examples are
    processed at a time; the default fits a processor's cache.

    The gradients are computed with the loss, so call it under ``torch.no_grad()``
    where only the number is wanted. There are no second derivatives.

    Raises ``ValueError`` for shapes, types or devices that do not match, targets
    outside the vocabulary, an empty batch, or one whose targets are all ignored.
    """
    check_layer(inputs, weights, bias, compute_dtype, chunk)
    if reduction not in ("mean", "sum"):
        raise ValueError(
            f"reduction={reduction!r}: expected 'mean' or 'sum' (for one value an "
            "example, call target_log_probabilities)"
        )
    check_targets(inputs, weights, targets, ignore_index)
    counted = targets != ignore_index
    count = int(counted.sum())
    if count == 0:
        raise ValueError(
            f"all {len(targets)} targets are ignore_index={ignore_index}, so nothing "
            "is predicted: leave such a batch out"
        )
    if count < len(targets):
        inputs = [x[counted] for x in inputs]
        targets = targets[counted]
    scale = 1 / count if reduction == "mean" else 1.0
    tensors = (*inputs, *weights, *([] if bias is None else [bias]))
    recorded = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    settings = (len(inputs), targets, scale, compute_dtype, chunk, recorded)
    loss: Tensor = _OutputLoss.apply(settings, *tensors)  # type: ignore[no-untyped-call]
    return loss


class _OutputLoss(torch.autograd.Function):
    """The gradients are ready after ``forward``; ``backward`` scales them."""

    @staticmethod
    def forward(ctx: Any, settings: tuple[Any, ...], *tensors: Tensor) -> Tensor:
        n, targets, scale, compute_dtype, chunk, recorded = settings
        wide = accumulation_dtype(compute_dtype or tensors[0].dtype)
        needed = ctx.needs_input_grad[1:] if recorded else [False] * len(tensors)
        grads = [
            torch.empty_like(tensor, dtype=wide) if need else None
            for tensor, need in zip(tensors, needed, strict=True)
        ]
        bias, bias_grad = (*tensors, None)[2 * n], (*grads, None)[2 * n]
        gradients = Gradients(grads[:n], grads[n : 2 * n], bias_grad, scale)
        parts = _chunks(tensors[:n], tensors[n : 2 * n], bias, compute_dtype, chunk)
        loss = parts.losses(targets, gradients).sum().mul_(scale)
        # Saved so, autograd lets go of them in time for leaves to take them uncopied.
        ctx.save_for_backward(*grads)
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        return loss

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise ValueError(
                "output_loss has no second derivatives, but create_graph=True asks "
                "for them: use F.cross_entropy on the logits"
            )
        # After the usual loss.backward() there is nothing to multiply. Another device
        # is not asked, because its answer would have to be waited for.
        scaled = grad_output.device.type != "cpu" or grad_output.item() != 1
        return None, *(
            None if grad is None else (grad * grad_output if scaled else grad).to(dtype)
            for grad, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )


def add_output_gradients(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    targets: Tensor,
    *,
    weight_gradients: Sequence[Tensor],
    bias_gradient: Tensor | None,
    keep: float = 1.0,
    compute_dtype: torch.dtype | None = None,
    chunk: int | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """The mean loss and the gradients of the inputs; those of the weights are added.

    The buffers ``weight_gradients`` (shaped as ``weights``) and ``bias_gradient``
    become ``keep`` times what they were, plus the gradient of the mean loss. So no
    second (|V|, D) table is needed, and if a buffer is the velocity of SGD with
    momentum mu, ``keep=mu`` is its update: v <- mu v + g. Autograd is not involved;
    pass the inputs' gradients on with ``torch.autograd.backward(inputs, gradients)``.

    Raises ``ValueError`` as ``output_loss`` does, and for buffers that do not match.
    """
    check_layer(inputs, weights, bias, compute_dtype, chunk)
    check_targets(inputs, weights, targets)
    wide = accumulation_dtype(compute_dtype or inputs[0].dtype)
    check_buffers([*weights, bias], [*weight_gradients, bias_gradient], wide)
    input_gradients = [torch.empty_like(x, dtype=wide) for x in inputs]
    scale = 1 / len(targets)
    with torch.no_grad():
        gradients = Gradients(
            input_gradients, weight_gradients, bias_gradient, scale, keep
        )
        parts = _chunks(inputs, weights, bias, compute_dtype, chunk)
        loss = parts.losses(targets, gradients).sum().mul_(scale)
    return loss, [g.to(x.dtype) for g, x in zip(input_gradients, inputs, strict=True)]


def target_log_probabilities(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    targets: Tensor,
    *,
    compute_dtype: torch.dtype | None = None,
    chunk: int | None = None,
) -> Tensor:
    """log softmax(y)[target] of each example ``(B,)`` in nats, without gradients.

    Made for scoring a corpus: chunked as ``output_loss``, with the same arguments and
    the same errors. The answer is float32 after bfloat16 products.
    """
    check_layer(inputs, weights, bias, compute_dtype, chunk)
    check_targets(inputs, weights, targets)
    with torch.no_grad():
        parts = _chunks(inputs, weights, bias, compute_dtype, chunk)
        return parts.losses(targets).neg_()


def output_log_probabilities(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    *,
    compute_dtype: torch.dtype | None = None,
) -> Tensor:
    """log softmax(y) over the whole vocabulary, ``(B, |V|)`` in nats.

    For answering a few contexts, where the whole table is what is asked for; ordinary
    operations, so autograd follows them. Raises ``ValueError`` as ``output_loss``.
    """
    check_layer(inputs, weights, bias, compute_dtype, None)
    compute = compute_dtype or inputs[0].dtype
    wide = accumulation_dtype(compute)
    y = torch.zeros((), dtype=wide, device=inputs[0].device)
    for x, weight in zip(inputs, weights, strict=True):
        y = y + x.to(compute) @ weight.to(compute).t()  # (B, |V|)
    return torch.log_softmax(y if bias is None else y + bias.to(wide), dim=1)


def _chunks(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    compute_dtype: torch.dtype | None,
    chunk: int | None,
) -> SoftmaxChunks:
    compute = compute_dtype or inputs[0].dtype
    if chunk is None:
        words, device = len(weights[0]), inputs[0].device.type
        wide = accumulation_dtype(compute)
        chunk = default_chunk(len(inputs[0]), words, wide, device)
    return SoftmaxChunks(inputs, weights, bias, compute, chunk)
