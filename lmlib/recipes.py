"""Two ways to train the NNLM: the paper's, and one for batches. Chapter 6.

The paper updates after every word at a rate near 1e-3 with no momentum. Batches of
512 with momentum make the same model in minutes instead of days.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from lmlib import perplexity
from lmlib.batches import WindowBatches
from lmlib.checkpoints import Checkpoints
from lmlib.corpora import EncodedCorpus
from lmlib.schedules import inverse_time, warmup_cosine
from lmlib.training import History, decay_groups, train


@dataclass(frozen=True)
class Recipe:
    """How to train; rates are for losses that are means over the batch.

    ``schedule`` is "cosine" (warm-up, then down to 0 over all epochs) or "inverse"
    (eps_0 / (1 + r t), t in words, ``r = 1e-8``).
    """

    batch: int  # words an update
    epochs: float  # passes over the training text
    rate: float  # highest learning rate of one update
    schedule: str = "cosine"
    warmup: int = 0  # updates
    momentum: float = 0.0
    decay: float = 0.0  # weight decay of matrices (C, H, U, W), not of b and d
    shuffle: bool = True
    patience: int | None = None  # evaluations without improvement before stopping

    def __post_init__(self) -> None:
        if self.schedule not in ("cosine", "inverse"):
            raise ValueError(
                f"schedule {self.schedule!r}: expected 'cosine' or 'inverse'"
            )
        if self.batch < 1 or self.epochs <= 0 or self.rate <= 0:
            raise ValueError(
                f"batch={self.batch}, epochs={self.epochs}, rate={self.rate}: "
                "expected all above 0"
            )

    def learning_rate(self, step: int, steps: int) -> float:
        """Rate of update ``step`` (from 0) of ``steps``."""
        if self.schedule == "inverse":
            return inverse_time(step, initial=self.rate, decay=1e-8, words=self.batch)
        warmup = min(self.warmup, steps // 2)
        return warmup_cosine(step, peak=self.rate, steps=steps, warmup=warmup)

    def optimiser(self, model: nn.Module) -> torch.optim.Optimizer:
        """Stochastic gradient descent with this recipe's momentum and decay."""
        groups = decay_groups(model, self.decay)
        return torch.optim.SGD(groups, self.rate, self.momentum, fused=True)


# Chosen on the validation part of Brown, for all rows of Table 1 alike.
MINIBATCH = Recipe(batch=512, epochs=8, rate=1.0, warmup=200, momentum=0.9, decay=1e-5)


def paper_recipe(batch: int = 1, epochs: float = 10, eps_0: float = 1e-3) -> Recipe:
    """The recipe of Bengio et al. (2003): SGD in the order of the text, no momentum.

    Rate eps_0 / (1 + 1e-8 t) for each word, weight decay 1e-4. With ``batch=1`` it is
    the paper's; a larger batch *sums* the updates of its words, so the rate of the
    mean grows with it. (Keeping 1e-3 for a mean-reduced batch, a common mistake,
    trains B times too slowly.) Early stopping after two epochs without improvement.
    """
    return Recipe(
        batch=batch,
        epochs=epochs,
        rate=eps_0 * batch,
        schedule="inverse",
        decay=1e-4,
        shuffle=False,
        patience=2,
    )


def fit(
    model: Any,
    corpus: EncodedCorpus,
    recipe: Recipe = MINIBATCH,
    *,
    seed: int = 0,
    evaluations: float = 1.0,
    average: float | None = None,
    checkpoints: Checkpoints | None = None,
    device: str | torch.device = "cpu",
    progress: bool = False,
) -> History:
    """Train an NNLM on a corpus's training part; it ends with its best parameters.

    The best are those with the lowest validation cross-entropy, asked ``evaluations``
    times an epoch. ``model`` is any ``LanguageModel`` with a window and a ``loss``.

    Raises ``ValueError`` for an empty validation part, or when the model's vocabulary
    is not the corpus's; ``Diverged`` when the loss is not finite.
    """
    if model.vocabulary.fingerprint != corpus.vocabulary.fingerprint:
        raise ValueError(
            f"the model chooses from {len(model.vocabulary):,} words, the corpus is "
            f"encoded with another vocabulary of {len(corpus.vocabulary):,}: encode "
            "it with model.vocabulary"
        )
    if not model.is_scored(corpus.upto_valid)[corpus.valid_start :].any():
        raise ValueError(
            f"the validation part is empty (borders {corpus.borders}): training needs "
            "at least one held-out word to choose the best parameters"
        )
    batches = WindowBatches(
        corpus.vocabulary,
        corpus.train,
        model.context_size,
        recipe.batch,
        seed,
        shuffle=recipe.shuffle,
    )
    steps = batches.steps(recipe.epochs)

    def valid_cross_entropy() -> float:
        return perplexity.evaluate(
            model, corpus.upto_valid, corpus.valid_start
        ).cross_entropy

    return train(
        model,
        recipe.optimiser(model),
        batches,
        partial(recipe.learning_rate, steps=steps),
        steps,
        seed=seed,
        average=average,
        evaluate=valid_cross_entropy,
        every=batches.steps(1 / evaluations),
        patience=recipe.patience,
        checkpoints=checkpoints,
        device=device,
        progress=progress,
    )
