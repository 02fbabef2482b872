"""What the output layer refuses: shapes, types, devices and word ids that cannot be."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

COMPUTE_DTYPES = (torch.float64, torch.float32, torch.bfloat16)


def check_layer(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    compute_dtype: torch.dtype | None,
    chunk: int | None,
) -> None:
    """``ValueError`` unless the tensors make up one output layer and one batch."""
    for name, given in (("inputs", inputs), ("weights", weights)):
        if not isinstance(given, (tuple, list)):
            raise ValueError(
                f"{name} is a {type(given).__name__}: expected a tuple or list of "
                "tensors, such as (x,) for a single one"
            )
    if not inputs or len(inputs) != len(weights):
        raise ValueError(
            f"{len(inputs)} inputs and {len(weights)} weights: expected as many of "
            "each, and at least one"
        )
    for i, (x, weight) in enumerate(zip(inputs, weights, strict=True)):
        if x.ndim != 2 or weight.ndim != 2 or x.shape[1] != weight.shape[1]:
            raise ValueError(
                f"input {i} has shape {tuple(x.shape)} and its weight "
                f"{tuple(weight.shape)}: expected (B, D) and (|V|, D) with the same D"
            )
        if len(x) != len(inputs[0]) or len(weight) != len(weights[0]):
            raise ValueError(
                f"input {i} has {len(x)} examples and its weight {len(weight)} words, "
                f"the first ones {len(inputs[0])} and {len(weights[0])}: all inputs "
                "need the same examples, all weights the same vocabulary"
            )
    if len(inputs[0]) == 0:
        raise ValueError("the batch has 0 examples: expected at least one")
    if len(weights[0]) == 0:
        raise ValueError("the vocabulary has 0 words: expected at least one")
    if bias is not None and bias.shape != (len(weights[0]),):
        raise ValueError(
            f"the bias has shape {tuple(bias.shape)}: expected one number for each of "
            f"the {len(weights[0])} words"
        )
    _check_types(inputs, weights, bias, compute_dtype)
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk={chunk}: expected at least 1 example at a time")


def _check_types(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    compute_dtype: torch.dtype | None,
) -> None:
    dtype, device = inputs[0].dtype, inputs[0].device
    for tensor in (*inputs, *weights, *([] if bias is None else [bias])):
        if tensor.dtype != dtype or tensor.device != device:
            raise ValueError(
                f"the first input is {dtype} on {device}, another tensor "
                f"{tensor.dtype} on {tensor.device}: convert one with .to(...)"
            )
    for given in (dtype, compute_dtype or dtype):
        if given not in COMPUTE_DTYPES:
            raise ValueError(
                f"{given} is not supported: expected float64, float32 or bfloat16"
            )


def check_targets(
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    targets: Tensor,
    ignore_index: int | None = None,
) -> None:
    """``ValueError`` unless ``targets`` holds one word id, or the mark, an example."""
    examples, words = len(inputs[0]), len(weights[0])
    if targets.dtype != torch.int64 or targets.shape != (examples,):
        raise ValueError(
            f"targets are {targets.dtype} of shape {tuple(targets.shape)}: expected "
            f"int64 word ids of shape ({examples},), one an example"
        )
    if targets.device != inputs[0].device:
        raise ValueError(
            f"targets are on {targets.device}, the inputs on {inputs[0].device}: move "
            "them with .to(...)"
        )
    outside = (targets < 0) | (targets >= words)
    if ignore_index is not None:
        outside &= targets != ignore_index
    if outside.any():
        mark = "" if ignore_index is None else f", or {ignore_index} to ignore"
        raise ValueError(
            f"target {int(targets[outside][0])} is not a word: ids go from 0 to "
            f"{words - 1}{mark}"
        )


def check_buffers(
    tensors: Sequence[Tensor | None],
    buffers: Sequence[Tensor | None],
    wide: torch.dtype,
) -> None:
    """``ValueError`` unless each weight and bias has a gradient buffer like itself."""
    if [t is None for t in tensors] != [b is None for b in buffers]:
        raise ValueError(
            f"{len(tensors) - 1} weights and {'no' if tensors[-1] is None else 'a'} "
            f"bias need as many gradient buffers, not {len(buffers) - 1} and "
            f"{'none' if buffers[-1] is None else 'one'} for a bias"
        )
    for tensor, buffer in zip(tensors, buffers, strict=True):
        if tensor is None or buffer is None:
            continue
        if buffer.shape != tensor.shape or buffer.dtype != wide:
            raise ValueError(
                f"a parameter of shape {tuple(tensor.shape)} needs a gradient buffer "
                f"of that shape in {wide}, not {tuple(buffer.shape)} in {buffer.dtype}"
            )
