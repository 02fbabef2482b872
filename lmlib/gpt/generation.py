"""Drawing text from GPT, with the keys and values of earlier tokens remembered.

A token's keys and values depend on nothing after it, so they are computed once. When
the window is full, it moves: the last ``keep`` tokens are read again from position 0,
and the text goes on from there. With ``cache=False`` everything is computed anew for
each token, from the same window, and the same text comes out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lmlib.answering import answering
from lmlib.generation import filter_log_probabilities
from lmlib.gpt.block import KeysValues
from lmlib.gpt.model import GPT
from lmlib.language_model import check_stream
from lmlib.vocabulary import IntArray


def generate(
    model: GPT,
    prompt: IntArray | Sequence[int],
    length: int,
    generator: np.random.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: int | None = None,
    keep: int | None = None,
    cache: bool = True,
) -> list[int]:
    """Draw up to ``length`` token ids after ``prompt``; returns the new ones only.

    Temperature, ``top_k`` and ``top_p`` as in ``lmlib.generation``. The id ``stop``
    ends the text early (it is included). ``keep`` tokens stay when the window of k is
    full, half of it if not given; with k, ``lmlib.generation.generate`` draws the same.

    Raises ``ValueError`` for an empty prompt, ids beyond the vocabulary, a negative
    length, or ``keep`` outside 1 to k.
    """
    checked = check_stream(model.vocabulary, np.asarray(prompt, np.int64))
    ids: list[int] = checked.tolist()
    window = model.context_size
    if not ids:
        raise ValueError(
            "the prompt is empty, and GPT predicts from at least one token: begin "
            "with a mark such as <text>, or with a word"
        )
    if length < 0:
        raise ValueError(f"length={length}: expected 0 or more tokens")
    keep = max(1, window // 2) if keep is None else keep
    if not 1 <= keep <= window:
        raise ValueError(
            f"keep={keep} tokens of a window of {window}: expected 1 to {window}"
        )
    begin = len(ids)
    first = max(0, begin - window)  # where the window begins
    past: list[KeysValues] | None = None
    with answering(model):
        while len(ids) < begin + length:
            if len(ids) - first > window:
                first, past = len(ids) - keep, None
            if past is None or not cache:
                past = model.remember()
            seen = first + past[0].length
            new = torch.tensor([ids[seen:]], device=model.W_e.device)
            h = model.hidden(new, past)[:, -1].to(model.W_e.dtype)  # (1, d)
            scores = (h @ model.W_e.T)[0].cpu().double().numpy()  # (|V|,)
            # Normalises them too: scores are log-probabilities but for a constant.
            log_p = filter_log_probabilities(scores, temperature, top_k, top_p)
            p = np.exp(log_p)
            total = np.cumsum(p)
            drawn = np.searchsorted(total, generator.random() * total[-1], "right")
            ids.append(int(drawn))
            if ids[-1] == stop:
                break
    return ids[begin:]
