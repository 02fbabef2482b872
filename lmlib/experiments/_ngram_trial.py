"""One trial of the n-gram machine in a process of its own: seconds and peak memory.

    python -m lmlib.experiments._ngram_trial ids.npy WORDS ORDER START REPEATS

``ids.npy`` holds a text; the first START tokens are counted, the others scored.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from lmlib.ngrams.counts import count_ngrams
from lmlib.ngrams.kneser_ney import modified_kneser_ney
from lmlib.vocabulary import IntArray, Vocabulary

PARTS = ("count", "estimate", "score")


def trial(
    vocabulary: Vocabulary, ids: IntArray, order: int, start: int
) -> dict[str, float]:
    """Seconds to count, to estimate interpolated modified Kneser-Ney, and to score.

    ``cpu`` is the processor's time, which other programs on the machine do not lengthen
    as much as they do the time by the clock.
    """
    cpu = time.process_time()
    clock = [time.perf_counter()]
    counts = count_ngrams(vocabulary, ids[:start], order)
    clock.append(time.perf_counter())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is timed needs no good discounts
        model = modified_kneser_ney(counts)
    clock.append(time.perf_counter())
    model.token_log_probabilities(ids, start)
    clock.append(time.perf_counter())
    found = {part: clock[i + 1] - clock[i] for i, part in enumerate(PARTS)}
    found["total"] = clock[-1] - clock[0]
    return {**found, "cpu": time.process_time() - cpu}


def in_a_fresh_process(
    path: Path, words: int, order: int, start: int, repeats: int
) -> dict[str, float]:
    """Medians over the repeats, and ``peak_mb`` and ``added_mb`` where Linux tells."""
    arguments = [str(path), *map(str, (words, order, start, repeats))]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(path: str, words: str, order: str, start: str, repeats: str) -> None:
    """Run the trials and print their medians as JSON."""
    vocabulary = Vocabulary([str(i) for i in range(int(words))], unknown=None)
    ids = np.load(path)
    before = memory_mb("VmRSS")
    runs = [trial(vocabulary, ids, int(order), int(start)) for _ in range(int(repeats))]
    found = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
    peak = memory_mb("VmHWM")
    if before is not None and peak is not None:
        found |= {"peak_mb": peak, "added_mb": peak - before}
    print(json.dumps(found))


def memory_mb(what: str) -> float | None:
    """A line of Linux' account of this process's memory; None on other systems."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = status.read_text(encoding="ascii").splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith(what + ":"))
    return int(kilobytes) / 1000


if __name__ == "__main__":
    main(*sys.argv[1:])
