"""What GPT and the LSTM share: a text in, the next token at every position.

A subclass says how a text becomes one vector a token; the loss (targets are the
inputs shifted by one), the answers of the ``LanguageModel`` interface, saving and
loading are written once, here.

A model of this kind predicts from the first token on, but not the first token itself:
with no context at all, its answer is that every token is equally likely. Begin texts
with a mark such as ``<text>``.

Shapes: B texts, T tokens, D numbers a token.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from lmlib.answering import answering
from lmlib.checkpoints import read_tensors, write_tensors
from lmlib.language_model import NO_WORD, FloatArray, LanguageModel, check_contexts
from lmlib.output_layer import output_log_probabilities, output_loss
from lmlib.vocabulary import IntArray, Vocabulary


class CausalModel(nn.Module, LanguageModel):
    """A language model that reads a text from left to right.

    Texts are streams with marks: a vocabulary with a sentence start ``<s>``, which no
    context may reach across, is refused with ``ValueError``.
    """

    config_type: ClassVar[type[Any]]
    answered_at_once: ClassVar[int] = 64  # contexts

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: Any,
        compute_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if vocabulary.start_id is not None:
            raise ValueError(
                "the vocabulary has the sentence start <s>: these models read one "
                "stream of text; part its texts by a mark such as <text> instead"
            )
        self.vocabulary = vocabulary
        self.config = config
        self.compute_dtype = compute_dtype

    @property
    @abstractmethod
    def output_weight(self) -> Tensor:
        """W of softmax(h W^T), ``(|V|, D)``."""

    @abstractmethod
    def hidden(self, ids: Tensor) -> Tensor:
        """h, from which each next token is predicted: ``(B, T)`` to ``(B, T, D)``.

        h of a token depends on that token and those before it, on none after it.
        """

    def forward(self, ids: Tensor) -> Tensor:
        """Scores h W^T of every next token, ``(B, T)`` to ``(B, T, |V|)``."""
        self.check(ids)
        scores: Tensor = (
            self.hidden(ids.to(self.output_weight.device)).to(self.output_weight.dtype)
            @ self.output_weight.T
        )
        return scores

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean of -log P(u_i | u_1 .. u_{i-1}) over the tokens after the first, nats.

        L_1 of Radford et al. 2018, eq. 1, to be made small. ``tokens`` ``(B, T + 1)``:
        the first T of a row are the input, the last T the targets. ``NO_WORD`` at the
        end of a row is padding: it is not predicted, and changes nothing before it.

        Raises ``ValueError`` for ids beyond the vocabulary, rows of fewer than two
        tokens or more than the window holds, and padding before a token.
        """
        self.check(tokens, padded=True)
        tokens = tokens.to(self.output_weight.device)
        h = self.hidden(tokens[:, :-1].clamp(min=0)).flatten(0, 1)  # (B T, D)
        return output_loss(
            (h.to(self.output_weight.dtype),),
            (self.output_weight,),
            None,
            tokens[:, 1:].flatten(),
            ignore_index=NO_WORD,
            compute_dtype=self.compute_dtype,
        )

    def check(self, ids: Tensor, *, padded: bool = False) -> None:
        """``ValueError`` unless ``ids`` is a batch of texts that the model can read."""
        least, extra = (2, 1) if padded else (1, 0)
        if ids.ndim != 2 or ids.shape[0] < 1 or ids.shape[1] < least:
            raise ValueError(
                f"tokens have shape {tuple(ids.shape)}: expected (B, T) with at least "
                f"one text and {least} token{'s' * (least > 1)} each; write a single "
                "text as ids[None]"
            )
        if self.context_size is not None and ids.shape[1] > self.context_size + extra:
            raise ValueError(
                f"a text of {ids.shape[1]} tokens does not fit the window of "
                f"{self.context_size}{' and one target' * padded}: cut it into pieces"
            )
        if ids.device.type != "cpu":  # looking would stall the device
            return
        low, high = int(ids.min()), int(ids.max())
        if high >= len(self.vocabulary) or low < (NO_WORD if padded else 0):
            raise ValueError(
                f"id {high if high >= len(self.vocabulary) else low} is outside 0 to "
                f"{len(self.vocabulary) - 1}: the ids were made with another vocabulary"
            )
        if padded and low == NO_WORD:
            blank = ids == NO_WORD
            if (blank[:, :-1] & ~blank[:, 1:]).any():
                raise ValueError(
                    "padding (-1) stands before a token: pad at the end of a row, "
                    "where causal attention never looks"
                )

    def next_log_probabilities(self, contexts: IntArray) -> FloatArray:
        """log P(w | context) for every word, in nats: ``(B, k)`` to ``(B, |V|)``.

        Uniform for a context without any word.
        """
        contexts = check_contexts(self.vocabulary, contexts, self.context_size)
        words = len(self.vocabulary)
        out = np.full((len(contexts), words), -np.log(words))
        lengths = (contexts != NO_WORD).sum(axis=1)
        used = np.flatnonzero(lengths)
        # Equal lengths together: nothing is padded, nothing is wasted.
        used = used[np.argsort(lengths[used], kind="stable")]
        with answering(self):
            while len(used):
                length = lengths[used[0]]
                same = int(np.searchsorted(lengths[used], length, "right"))
                rows = used[: min(same, self.answered_at_once)]
                used = used[len(rows) :]
                ids = torch.from_numpy(contexts[rows][:, -length:].astype(np.int64))
                out[rows] = self._log_p_after(ids).cpu().numpy()
        return out

    def _log_p_after(self, ids: Tensor) -> Tensor:
        h = self.hidden(ids.to(self.output_weight.device))[:, -1]  # (B, D)
        weight = self.output_weight
        return output_log_probabilities((h.to(weight.dtype),), (weight,), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters, configuration and the vocabulary's fingerprint."""
        about = {
            "model": type(self).__name__,
            "config": asdict(self.config),
            "vocabulary": self.vocabulary.fingerprint,
        }
        write_tensors(path, {k: v.detach() for k, v in self.named_parameters()}, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], vocabulary: Vocabulary) -> Self:
        """Read what ``save`` wrote.

        Raises ``ValueError`` for a damaged file, another kind of model, another
        vocabulary, shapes that do not fit, and a parameter that is not finite.
        """
        expected = {"model": cls.__name__, "vocabulary": vocabulary.fingerprint}
        tensors, about = read_tensors(path, expected)
        config = cls.config_type(**about["config"])
        model = cls._make(vocabulary, config)
        model.assign(tensors, str(path))
        return model

    @classmethod
    @abstractmethod
    def _make(cls, vocabulary: Vocabulary, config: Any) -> Self:
        """A model whose parameters will be replaced."""

    def assign(self, tensors: Mapping[str, Tensor], source: str) -> None:
        """Take parameters by name; ``source`` is named when they do not fit.

        Raises ``ValueError`` for a parameter that is missing, of another shape, or
        not finite.
        """
        mine = dict(self.named_parameters())
        for name in sorted({*mine, *tensors}):
            has = tuple(tensors[name].shape) if name in tensors else None
            wants = tuple(mine[name].shape) if name in mine else None
            if has != wants:
                raise ValueError(
                    f"{source} does not fit this model: its {name} is "
                    f"{has or 'missing'}, expected {wants or 'none of that name'}"
                )
            if not torch.isfinite(tensors[name]).all():
                raise ValueError(
                    f"{source} is broken: its {name} holds a NaN or an infinity; use "
                    "an earlier copy"
                )
        self.to(next(iter(tensors.values())).dtype)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(tensors[name])
