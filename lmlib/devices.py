"""Where tensors live: the processor, a GPU, or Apple's MPS."""

from __future__ import annotations

import torch


def choose_device(device: str | torch.device = "auto") -> torch.device:
    """The device to train on: "cpu", "cuda", "cuda:1", "mps", or "auto" for the best.

    Raises ``ValueError`` for a device that this machine or this torch has not.
    """
    there = ["cpu"]
    if torch.cuda.is_available():
        there.append("cuda")
    if torch.backends.mps.is_available():
        there.append("mps")
    if device == "auto":
        device = there[-1]
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ValueError(
            f"device {device!r} is not known: expected one of {', '.join(there)}"
        ) from error
    if chosen.type not in [*there, "meta"]:
        raise ValueError(
            f"device {str(device)!r} is not available here: expected one of "
            f"{', '.join(there)}"
        )
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device {str(device)!r}: this machine has {torch.cuda.device_count()} GPUs"
        )
    return chosen
