"""How fast SMALL trains and writes, beside Hugging Face's GPT-1 and plain PyTorch.

All ways start from the same weights, see the same random tokens and are updated by
PyTorch's fused AdamW; dropout is 0.1 as in the paper. The whole update is timed. Ways
and precisions take turns, so that a disturbance of the machine meets them alike;
speeds and ratios are medians over the turns, each ratio within its own turn. Peak
memory is measured in fresh processes.

Ways: ``plain PyTorch`` (nn.Linear, SDPA, cross_entropy on all logits), ``Hugging
Face`` (OpenAIGPTLMHeadModel; left out where transformers is missing), ``lmlib``, and
``products alone``: the matrix products of an update and nothing else, which is what
the machine could do at best.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from lmlib import results
from lmlib.experiments._gpt_steps import (
    HUGGING_FACE,
    OURS,
    PLAIN,
    PRODUCTS,
    TEXTS,
    WORDS,
    Step,
    make_step,
)
from lmlib.experiments._memory import growth_mb, printed_mb
from lmlib.gpt import GPT, SMALL, GPTConfig, generate
from lmlib.vocabulary import Vocabulary

NAME = "speed_gpt"
TARGET = 1.5  # times each peer, in the better of the two precisions
GENERATION_TARGET = 5.0  # times generation without a cache
GENERATED = 256  # tokens
PRECISIONS = ("float32", "bfloat16")
PEERS = (PLAIN, HUGGING_FACE)

Key = tuple[str, str]  # way and precision
Speeds = Mapping[Key, Sequence[float]]  # tokens per second, one a turn


def main(arguments: list[str]) -> None:
    """Measure and write ``data/results/speed_gpt.json``."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lmlib.experiments {NAME}", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--turns", type=int, default=7, help="of each way")
    parser.add_argument("--updates", type=int, default=4, help="in a turn")
    parser.add_argument("--folder", type=Path, default=results.RESULTS)
    options = parser.parse_args(arguments)
    if options.turns < 5 or options.updates < 1:
        parser.error("--turns must be at least 5, --updates at least 1")
    begun = time.perf_counter()
    ways = [PLAIN, HUGGING_FACE, OURS, PRODUCTS]
    if importlib.util.find_spec("transformers") is None:
        ways.remove(HUGGING_FACE)
    record = results.begin(
        NAME,
        " ".join(["python -m lmlib.experiments", NAME, *arguments]),
        {
            **asdict(SMALL),
            "words": WORDS,
            "texts": TEXTS,
            "turns": options.turns,
            "updates": options.updates,
            "threads": torch.get_num_threads(),
        },
        [0],
    )
    keys = [(way, precision) for precision in PRECISIONS for way in ways]
    memory = {key: printed_mb(__name__, *key) for key in keys if key[0] != PRODUCTS}
    steps = {key: make_step(*key) for key in keys}
    speeds = measure(steps, options.turns, options.updates)
    record.figures = {
        **figures(speeds, memory),
        **generation_figures(replace(SMALL, positions=512), options.turns),
    }
    record.notes = notes(record.figures)
    record.seconds = time.perf_counter() - begun
    print(results.write(record, options.folder))
    for figure, value in record.figures.items():
        print(f"{figure:56} {value:12,.4g}")
    print(*record.notes, sep="\n")


def measure(
    steps: Mapping[Key, Step],
    turns: int,
    updates: int,
    config: GPTConfig = SMALL,
    words: int = WORDS,
) -> dict[Key, list[float]]:
    """Tokens per second of each way in each turn, after one update to warm up."""
    generator = torch.Generator().manual_seed(0)
    shape = (TEXTS, config.positions + 1)
    batch = torch.randint(words, shape, generator=generator)
    for step in steps.values():
        step(batch)
    speeds: dict[Key, list[float]] = {key: [] for key in steps}
    for _ in tqdm(range(turns), unit="turn", leave=False):
        for key, step in steps.items():
            begun = time.perf_counter()
            for _ in range(updates):
                step(batch)
            took = time.perf_counter() - begun
            speeds[key].append(updates * TEXTS * config.positions / took)
    return speeds


def figures(speeds: Speeds, memory: Mapping[Key, float | None]) -> dict[str, float]:
    """Median speeds, ratios to the peers, shares of the products' rate, memory."""
    found: dict[str, float] = {}
    for (way, precision), speed in speeds.items():
        row = f"SMALL {way} {precision}"
        found[f"{row}/tokens_per_second"] = statistics.median(speed)
        if way == OURS:
            for peer in PEERS:
                if (peer, precision) in speeds:
                    ratio = _ratio(speed, speeds[peer, precision])
                    found[f"{row}/ratio_to_{_short(peer)}"] = ratio
        elif way == PRODUCTS:
            ratio = _ratio(speed, speeds[OURS, precision])
            found[f"{row}/ratio_to_lmlib"] = ratio
        peak = memory.get((way, precision))
        if peak is not None:
            found[f"{row}/peak_mb"] = peak
    # In its better precision each: the claim.
    best = {}
    for way in {way for way, _ in speeds}:
        kinds = [speeds[way, p] for p in PRECISIONS if (way, p) in speeds]
        best[way] = max(kinds, key=statistics.median)
    for peer in PEERS:
        if peer in best:
            ratio = _ratio(best[OURS], best[peer])
            found[f"SMALL {OURS} better precision/ratio_to_{_short(peer)}"] = ratio
    return found


def generation_figures(config: GPTConfig, repeats: int) -> dict[str, float]:
    """How fast tokens are written with and without remembered keys and values.

    ``GENERATED`` tokens after a single one, and as many after a prompt of
    ``GENERATED``: each token without a cache costs as much as what stands before it.
    """
    vocabulary = Vocabulary([str(i) for i in range(WORDS)], unknown=None)
    model = GPT(vocabulary, config, np.random.default_rng(0))
    found: dict[str, float] = {}
    for length in (1, GENERATED):
        took: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(min(repeats, 5)):
            for cache, times in took.items():
                begun = time.perf_counter()
                generator = np.random.default_rng(0)
                generate(model, [0] * length, GENERATED, generator, cache=cache)
                times.append(time.perf_counter() - begun)
        for cache, times in took.items():
            row = f"{GENERATED} tokens after {length} {'with' if cache else 'without'}"
            speed = GENERATED / statistics.median(times)
            found[f"{row} cache/tokens_per_second"] = speed
        row = f"{GENERATED} tokens after {length} with cache"
        found[f"{row}/speed_up"] = _ratio(took[False], took[True])
    return found


def notes(found: Mapping[str, float]) -> list[str]:
    """What the figures say about the claims."""
    said = []
    for peer in PEERS:
        key = f"SMALL {OURS} better precision/ratio_to_{_short(peer)}"
        if key in found:
            said.append(_claim(f"tokens per second beside {peer}", found[key], TARGET))
        else:
            said.append(f"{peer} was left out: it is not installed.")
    for length in (1, GENERATED):
        key = f"{GENERATED} tokens after {length} with cache/speed_up"
        if key in found:
            text = f"{GENERATED} tokens after {length} with a cache beside without"
            said.append(_claim(text, found[key], GENERATION_TARGET))
    for precision in PRECISIONS:
        key = f"SMALL {PRODUCTS} {precision}/ratio_to_lmlib"
        if key in found:
            said.append(
                f"In {precision} the matrix products with the weights alone run at "
                f"{found[key]:.2f} times the speed of lmlib's whole update."
            )
        ours, plain = (
            found.get(f"SMALL {way} {precision}/peak_mb") for way in (OURS, PLAIN)
        )
        if ours is not None and plain is not None:
            word = "Lower" if ours < plain else "Not lower"
            said.append(
                f"Claim: lower peak memory than {PLAIN} in {precision}. {word}: "
                f"{ours:,.0f} MB beside {plain:,.0f} MB."
            )
    return said


def _claim(what: str, ratio: float, target: float) -> str:
    met = "Met" if ratio >= target else "Missed"
    return f"Claim: {target:g} times, {what}. {met}: {ratio:.2f} times."


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _short(peer: str) -> str:
    return {PLAIN: "plain", HUGGING_FACE: "huggingface"}[peer]


def _measure_memory(way: str, precision: str) -> float:
    def update(config: GPTConfig, words: int) -> None:
        step = make_step(way, precision, config, words)
        batch = torch.randint(words, (TEXTS, config.positions + 1))
        for _ in range(3):
            step(batch)

    torch.manual_seed(0)
    small = GPTConfig(layers=1, width=16, heads=2, positions=8)
    return growth_mb(lambda: update(small, 50), lambda: update(SMALL, WORDS))


if __name__ == "__main__":
    print(_measure_memory(*sys.argv[1:]))
