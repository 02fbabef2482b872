"""Learning rates as pure functions of the number of updates done before. Chapter 6."""

from __future__ import annotations

import math


def inverse_time(step: int, *, initial: float, decay: float, words: int = 1) -> float:
    """eps_t = eps_0 / (1 + r t), the schedule of Bengio et al. (2003).

    t counts words: an update on ``words`` of them advances it that much.
    """
    return initial / (1 + decay * step * words)


def warmup_cosine(step: int, *, peak: float, steps: int, warmup: int = 0) -> float:
    """Linear up to ``peak`` over ``warmup`` updates, then a half cosine down to 0.

    The first update has rate peak / warmup, not 0: an update without effect would be
    a wasted batch. (GPT-1's released code starts at 0.)
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    done = (step - warmup) / max(1, steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def warmup_linear(step: int, *, peak: float, steps: int, warmup: int = 0) -> float:
    """Linear up to ``peak`` over ``warmup`` updates, then linear down to 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(0.0, 1 - (step - warmup) / max(1, steps - warmup))
