"""Windows of a long text as batches, drawn at random, for GPT and the LSTM.

As in ``batches``, a batch is a pure function of the step, so a run resumes with the
batches it would have had.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lmlib.vocabulary import IntArray


class TextWindows:
    """Batches of ``texts`` windows of ``tokens`` + 1 ids from anywhere in a text.

    Calling it with a step gives ``(windows,)`` with windows ``(B, T + 1)``: T inputs,
    and T targets one place on. Beginnings are drawn from (seed, step), each place
    where a window fits equally likely. ``ids`` may be a memory map.

    Raises ``ValueError`` for a text shorter than one window.
    """

    def __init__(self, ids: IntArray, tokens: int, texts: int, seed: int = 0) -> None:
        if tokens < 1 or texts < 1:
            raise ValueError(
                f"tokens={tokens}, texts={texts}: expected at least 1 of each"
            )
        if len(ids) < tokens + 1:
            raise ValueError(
                f"the text of {len(ids)} tokens is shorter than a window of {tokens} "
                "and the token after it: give a longer text, or a shorter window"
            )
        self.ids = ids
        self.tokens = tokens
        self.texts = texts
        self.seed = seed

    def __call__(self, step: int) -> tuple[Tensor]:
        """The batch of a step, ``(B, T + 1)``."""
        generator = np.random.default_rng([self.seed, step])
        begins = generator.integers(0, len(self.ids) - self.tokens, self.texts)
        places = begins[:, None] + np.arange(self.tokens + 1)
        return (torch.from_numpy(self.ids[places].astype(np.int64)),)

    def steps(self, epochs: float) -> int:
        """Updates that see as many tokens as so many passes over the text."""
        return max(1, round(epochs * len(self.ids) / (self.tokens * self.texts)))
