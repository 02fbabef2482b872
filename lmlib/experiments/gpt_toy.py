"""Train TOY on the toy world, whose true entropy is known; its weights are kept.

The model chooses among the world's own words; no subwords are needed. Its checkpoint,
less than 2 MB, goes to ``data/checkpoints/gpt_toy.safetensors`` for the book's cells.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch

from lmlib import corpora, results
from lmlib.gpt import GPT, TOY
from lmlib.perplexity import evaluate
from lmlib.schedules import warmup_cosine
from lmlib.text_windows import TextWindows
from lmlib.toy_world import ToyWorld
from lmlib.training import decay_groups, train

NAME = "gpt_toy"
CHECKPOINT = results.ROOT / "data" / "checkpoints" / "gpt_toy.safetensors"
LIMIT = 2_000_000  # bytes
TARGET = 0.03  # of the true entropy
TEXTS, RATE, WARMUP, DECAY, CLIP = 32, 3e-3, 100, 0.01, 1.0


def main(arguments: list[str]) -> None:
    """Train, score the test part, write the record and the checkpoint."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lmlib.experiments {NAME}", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--steps", type=int, default=2000, help="updates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=results.RESULTS)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    world, corpus = ToyWorld(), corpora.toy()
    encoded = corpus.encode(world.vocabulary)
    record = results.begin(
        NAME,
        " ".join(["python -m lmlib.experiments", NAME, *arguments]),
        {
            **asdict(TOY),
            "words": len(world.vocabulary),
            "steps": options.steps,
            "texts": TEXTS,
            "rate": RATE,
            "warmup": WARMUP,
            "decay": DECAY,
            "clip": CLIP,
            "corpus": corpus.fingerprint,
        },
        [options.seed],
    )
    model = GPT(world.vocabulary, TOY, np.random.default_rng(options.seed))
    # At half a window a step, validation takes a second; the test part is exact.
    model.stride = TOY.positions // 2
    history = train(
        model,
        torch.optim.AdamW(decay_groups(model, DECAY), RATE),
        TextWindows(encoded.train, TOY.positions, TEXTS, options.seed),
        partial(warmup_cosine, peak=RATE, steps=options.steps, warmup=WARMUP),
        options.steps,
        seed=options.seed,
        clip=CLIP,
        evaluate=lambda: (
            evaluate(model, encoded.upto_valid, encoded.valid_start).cross_entropy
        ),
        every=max(1, options.steps // 20),
        device=options.device,
        progress=True,
    )
    model.to("cpu")
    model.save(options.checkpoint)
    model.stride = 1
    ours = evaluate(model, encoded.ids, encoded.test_start)
    truth = evaluate(world, encoded.ids, encoded.test_start)
    excess = ours.cross_entropy / truth.cross_entropy - 1
    size = options.checkpoint.stat().st_size
    for step, loss, value in zip(
        history.steps, history.losses, history.values, strict=True
    ):
        record.figures[f"after {step}/train_ppl"] = math.exp(loss)
        record.figures[f"after {step}/valid_ppl"] = math.exp(value)
    record.figures |= {
        "TOY/test_ppl": ours.perplexity,
        "true distribution/test_ppl": truth.perplexity,
        "true distribution/ppl": world.perplexity,
        "TOY/excess_entropy": excess,
        "TOY/parameters": TOY.parameters(len(world.vocabulary)),
        "TOY/bytes": size,
    }
    record.notes = [
        f"Claim: within {TARGET:.0%} of the true entropy. "
        f"{'Met' if excess <= TARGET else 'Missed'}: {excess:.2%} above what the true "
        "distribution scores on the same test words.",
        f"Claim: at most {LIMIT:,} bytes. {'Met' if size <= LIMIT else 'Missed'}: "
        f"{size:,}.",
    ]
    record.seconds = time.perf_counter() - begun
    print(results.write(record, options.folder))
    print(*record.notes, sep="\n")
