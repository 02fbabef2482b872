"""How a neural model answers questions: without gradients, without dropout."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn


@contextlib.contextmanager
def answering(model: nn.Module) -> Iterator[None]:
    """No gradients and no dropout, for as long as a model answers questions."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
