"""How fast an epoch of MLP9 on Brown is, beside the same network in plain PyTorch.

Both start from the same parameters, see the same batches in the same order, and make
the same updates: SGD with momentum 0.9 and weight decay on every tensor. All of it is
timed: making the batch, look-up, loss, gradients, update. The ways take turns, a block
of updates each, so that a disturbance of the machine meets them alike; speeds and
ratios are medians over the turns. Peak memory is measured in fresh processes.

Ways:

- ``plain PyTorch``: nn.Embedding, linear, tanh, linear, F.cross_entropy, optim.SGD
- ``lmlib``: ``NNLM.loss`` and optim.SGD(fused=True), as ``lmlib.training`` does it
- ``lmlib in place``: ``FusedMomentumStep`` below
- ``lmlib in place bfloat16``: where the processor multiplies bfloat16 faster
- ``products alone``: the three matrix products of the output layer and nothing else,
  in memory that is already there: what the machine could do at best
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tqdm import tqdm

from lmlib import corpora, results
from lmlib.batches import WindowBatches
from lmlib.experiments._memory import growth_mb, printed_mb
from lmlib.experiments._nnlm_steps import (
    BATCH,
    DECAY,
    FUSED,
    HALF,
    IN_PLACE,
    MOMENTUM,
    PLAIN,
    PRODUCTS,
    RATE,
    SHAPE,
    Step,
    make_step,
)
from lmlib.vocabulary import Vocabulary

NAME = "speed_nnlm"
ROW = "MLP9"
TARGET, MEMORY_TARGET = 4.0, 0.25  # the claims that the record confirms or refutes


def main(arguments: list[str]) -> None:
    """Measure and write ``data/results/speed_nnlm.json``."""
    parser = argparse.ArgumentParser(
        prog=f"python -m lmlib.experiments {NAME}", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--updates", type=int, help="updates of each way; a whole epoch if not given"
    )
    parser.add_argument("--block", type=int, default=50, help="updates in a turn")
    parser.add_argument("--folder", type=Path, default=results.RESULTS)
    options = parser.parse_args(arguments)
    if options.block < 1 or (options.updates is not None and options.updates < 1):
        parser.error("--updates and --block must be at least 1")
    begun = time.perf_counter()
    corpus = corpora.brown()
    vocabulary = corpus.vocabulary(min_count=4)
    encoded = corpus.encode(vocabulary)
    windows = WindowBatches(vocabulary, encoded.train, SHAPE.order - 1, BATCH)

    def batches(number: int) -> tuple[torch.Tensor, torch.Tensor]:
        # The text's first contexts lack words, which nn.Embedding cannot express.
        contexts, targets = windows(number)
        return contexts.clamp(min=0), targets

    updates = options.updates or windows.steps(1)
    ways = [PLAIN, FUSED, IN_PLACE, *([HALF] if bfloat16_is_faster() else []), PRODUCTS]
    record = results.begin(
        NAME,
        " ".join(["python -m lmlib.experiments", NAME, *arguments]),
        {
            "row": ROW,
            "words": len(vocabulary),
            "batch": BATCH,
            "rate": RATE,
            "momentum": MOMENTUM,
            "weight_decay": DECAY,
            "updates": updates,
            "block": options.block,
            "threads": torch.get_num_threads(),
            "corpus": corpus.fingerprint,
        },
        [0],
    )
    memory = {way: peak_mb(way) for way in ways}
    steps = {way: make_step(way, vocabulary) for way in ways}
    turns = measure(steps, batches, updates, options.block)
    record.figures = figures(turns, memory, len(vocabulary))
    record.notes = notes(record.figures, ways)
    record.seconds = time.perf_counter() - begun
    print(results.write(record, options.folder))
    for key, value in record.figures.items():
        print(f"{key:56} {value:12,.4g}")
    print(*record.notes, sep="\n")


@dataclass
class Turns:
    """What one way did in its turns, a number each."""

    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)  # means, in nats

    @property
    def speeds(self) -> list[float]:
        """Tokens per second of each turn."""
        return [n / s for n, s in zip(self.tokens, self.seconds, strict=True)]


def measure(
    steps: dict[str, Step],
    batches: Callable[[int], tuple[torch.Tensor, torch.Tensor]],
    updates: int,
    block: int,
) -> dict[str, Turns]:
    """Let the ways take turns of ``block`` updates until each has made ``updates``."""
    turns = {way: Turns() for way in steps}
    for first in tqdm(range(0, updates, block), unit="block", leave=False):
        numbers = range(first, min(first + block, updates))
        for way, step in steps.items():
            begun = time.perf_counter()
            total = sum(step(*batches(number)).item() for number in numbers)
            turns[way].seconds.append(time.perf_counter() - begun)
            turns[way].tokens.append(len(numbers) * BATCH)
            turns[way].losses.append(total / len(numbers))
    return turns


def figures(
    turns: dict[str, Turns], memory: dict[str, float | None], words: int
) -> dict[str, float]:
    """Speeds (medians over the turns, and of the whole), ratios, losses, memory."""
    found: dict[str, float] = {}
    # Logits, gradient of a, gradient of U: a multiplication and an addition each.
    operations = 3 * 2 * words * SHAPE.hidden
    plain, products = turns[PLAIN].speeds, turns[PRODUCTS].speeds
    for way, turn in turns.items():
        row, speed = f"{ROW} {way}", turn.speeds
        found[f"{row}/tokens_per_second"] = statistics.median(speed)
        found[f"{row}/seconds"] = sum(turn.seconds)
        found[f"{row}/gflops"] = statistics.median(speed) * operations / 1e9
        if way != PLAIN:
            ratios = [a / b for a, b in zip(speed, plain, strict=True)]
            found[f"{row}/ratio_to_plain"] = statistics.median(ratios)
            found[f"{row}/ratio_to_plain_lowest"] = min(ratios)
            found[f"{row}/ratio_to_plain_highest"] = max(ratios)
        if way == PRODUCTS:
            continue
        shares = [a / b for a, b in zip(speed, products, strict=True)]
        found[f"{row}/share_of_product_rate"] = statistics.median(shares)
        found[f"{row}/loss"] = turn.losses[-1]
        peak, most = memory.get(way), memory.get(PLAIN)
        if peak is not None and most is not None:
            found[f"{row}/peak_mb"] = peak
            found[f"{row}/peak_share_of_plain"] = peak / most
    return found


def notes(found: dict[str, float], ways: list[str]) -> list[str]:
    """What the figures say about the two claims."""
    ratios = {
        way: found[f"{ROW} {way}/ratio_to_plain"]
        for way in ways
        if way not in (PLAIN, PRODUCTS)
    }
    best = max(ratios, key=lambda way: ratios[way])
    most = found[f"{ROW} {PRODUCTS}/ratio_to_plain"]
    said = [
        f"Claim: {TARGET:g} times plain PyTorch's tokens per second. "
        f"{'Met' if ratios[best] >= TARGET else 'Missed'}: {ratios[best]:.2f} times "
        f"({best}). The matrix products alone, with nothing else done, would reach "
        f"{most:.2f} times."
    ]
    share = found.get(f"{ROW} {best}/peak_share_of_plain")
    if share is not None:
        said.append(
            f"Claim: a quarter of the peak memory. "
            f"{'Met' if share <= MEMORY_TARGET else 'Missed'}: {share:.2f} of it."
        )
    if HALF not in ways:
        said.append(
            "bfloat16 was left out: this processor multiplies it slower than float32."
        )
    return said


def bfloat16_is_faster(rounds: int = 5) -> bool:
    """Whether this processor multiplies bfloat16 faster than float32."""
    took = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.ones(256, 256, dtype=dtype), torch.ones(256, 4096, dtype=dtype)
        times = []
        for _ in range(rounds):
            begun = time.perf_counter()
            torch.mm(a, b)
            times.append(time.perf_counter() - begun)
        took[dtype] = min(times)
    return took[torch.bfloat16] < took[torch.float32]


def peak_mb(way: str) -> float | None:
    """Memory that 20 updates of one way need beyond Python's and PyTorch's own.

    In a fresh process; random word ids stand for the text. None but on Linux.
    """
    return printed_mb(__name__, way)


def _measure_memory(way: str) -> float:

    def update(words: int) -> None:
        names = [str(number) for number in range(words)]
        step = make_step(way, Vocabulary(names, unknown=None))
        contexts = torch.randint(words, (BATCH, SHAPE.order - 1))
        for _ in range(20):
            step(contexts, contexts[:, 0])

    torch.manual_seed(0)
    return growth_mb(lambda: update(100), lambda: update(17_907))


if __name__ == "__main__":
    print(_measure_memory(sys.argv[1]))
