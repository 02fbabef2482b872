"""The trainings of ``brown_nnlm``: which network, which recipe, where its files lie."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lmlib import corpora, results
from lmlib.checkpoints import Checkpoints
from lmlib.corpora import EncodedCorpus
from lmlib.nnlm import NNLM, PRESETS, NNLMConfig, RecurrentConfig, RecurrentNNLM
from lmlib.recipes import MINIBATCH, Recipe, fit, paper_recipe
from lmlib.training import History

RUNS = results.ROOT / "runs" / "brown_nnlm"
MLP_ROWS = tuple(f"MLP{i}" for i in range(1, 11))

# The free row: what did best on validation among the models of this family that we
# tried, a longer context and wider layers than the paper's, held back by dropout.
FREE = NNLMConfig(order=6, hidden=300, features=100, direct=False, dropout=0.3)
FREE_RECIPE = replace(MINIBATCH, epochs=12)

# Options that make a run something else than the experiment: its figures then go to
# runs/, not to the record.
_TRIES = (
    "epochs limit rate decay average order hidden features dropout direct cell".split()
)


@dataclass(frozen=True)
class Run:
    """One training and all it depends on."""

    name: str
    config: NNLMConfig
    recipe: Recipe
    seed: int
    compute: str  # type of the output layer's products: float32 or bfloat16
    average: float | None = None

    @property
    def folder(self) -> Path:
        """Where its checkpoints and its model lie."""
        return RUNS / f"{self.name} seed {self.seed}".replace(" ", "-")

    def trained(
        self, corpus: EncodedCorpus, device: str, progress: bool
    ) -> tuple[NNLM, History]:
        """The model with its best parameters: trained, continued, or read back."""
        vocabulary = corpus.vocabulary
        kind = RecurrentNNLM if isinstance(self.config, RecurrentConfig) else NNLM
        model = kind(
            vocabulary,
            self.config,
            np.random.default_rng(self.seed),
            counts=np.bincount(corpus.train, minlength=len(vocabulary)),
            compute_dtype=getattr(torch, self.compute),
        )
        identity = {
            **asdict(self),
            "vocabulary": vocabulary.fingerprint,
            "tokens": len(corpus.ids),
            "borders": corpus.borders,
        }
        history = fit(
            model,
            corpus,
            self.recipe,
            seed=self.seed,
            average=self.average,
            checkpoints=Checkpoints(self.folder, identity, every=500),
            device=device,
            progress=progress,
        )
        model.save(self.folder / "model.safetensors")
        return model, history


def options_of(given: Sequence[str], description: str | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m lmlib.experiments brown_nnlm",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--row", action="append", choices=[*MLP_ROWS, "free"], help="default: all MLP")
    add("--recipe", choices=["minibatch", "paper"], default="minibatch")
    add("--batch", type=int, help="words an update of the paper's recipe (16)")
    add("--seeds", type=int, help="default: 3 for MLP9, MLP10 and free, else 1")
    add("--compute", choices=["auto", "float32", "bfloat16"], default="auto")
    add("--device", default="cpu", help="cpu, cuda, mps or auto")
    add("--out", type=Path, help="folder of the record (data/results)")
    add("--quiet", action="store_true", help="no progress bar")
    tries = parser.add_argument_group(
        "tries", "with any of these the figures go to runs/, not to the record"
    )
    add = tries.add_argument
    add("--limit", type=int, help="training words")
    add("--epochs", type=float)
    add("--rate", type=float)
    add("--decay", type=float)
    add("--average", type=float, help="decay of a moving average, such as 0.999")
    add("--order", type=int, help="n")
    add("--hidden", type=int, help="h")
    add("--features", type=int, help="m")
    add("--dropout", type=float)
    add("--direct", action="store_true", default=None, help="direct connections")
    add("--cell", choices=["elman", "lstm"], help="a recurrent g")
    options = parser.parse_args(given)
    if options.batch and options.recipe != "paper":
        parser.error("--batch belongs to --recipe paper; the other recipe has its own")
    if options.recipe == "paper" and "free" in (options.row or ()):
        parser.error("the free row has its own recipe: leave --recipe out")
    return options


def changes(options: argparse.Namespace) -> dict[str, Any]:
    """What a try changes; empty for the experiment itself."""
    given = vars(options)
    return {name: given[name] for name in _TRIES if given[name] is not None}


def runs_of(row: str, options: argparse.Namespace) -> list[Run]:
    """The trainings behind a row, one a seed."""
    config, recipe = PRESETS.get(row, FREE), MINIBATCH
    seeds = 3 if row in ("MLP9", "free") else 1
    name = row
    if row == "free":
        recipe = FREE_RECIPE
    elif options.recipe == "paper":
        recipe, seeds = paper_recipe(options.batch or 16), 1
        name = f"{row} paper recipe"
    changed = changes(options)
    if changed:
        name += " try " + " ".join(f"{key}={value}" for key, value in changed.items())
    if options.cell:
        config = RecurrentConfig(**asdict(config))
    shape = {k: v for k, v in changed.items() if hasattr(config, k)}
    training = {k: v for k, v in changed.items() if hasattr(recipe, k)}
    return [
        Run(
            name=name,
            config=replace(config, **shape),
            recipe=replace(recipe, **training),
            seed=seed,
            compute=compute_type(options.compute, options.device),
            average=options.average,
        )
        for seed in range(1, (options.seeds or seeds) + 1)
    ]


def compute_type(wanted: str, device: str) -> str:
    """bfloat16 where the processor multiplies it natively, float32 elsewhere."""
    if wanted != "auto":
        return wanted
    if device != "cpu":
        return "bfloat16" if device.startswith("cuda") else "float32"
    can = torch.cpu.get_capabilities()
    return "bfloat16" if can.get("amx_bf16") or can.get("avx512_bf16") else "float32"


def corpus_of(limit: int | None) -> EncodedCorpus:
    """Brown with its rare words merged; or its beginning and an eighth of the rest."""
    brown = corpora.brown()
    whole = brown.encode(brown.vocabulary(min_count=4))
    if limit is None:
        return whole
    start, end = whole.borders
    if not 8 <= limit <= start:
        raise ValueError(f"--limit {limit}: expected 8 to {start} training words")
    held = limit // 8
    parts = (whole.ids[:limit], whole.ids[start:][:held], whole.ids[end:][:held])
    return EncodedCorpus(whole.vocabulary, np.concatenate(parts), (limit, limit + held))
