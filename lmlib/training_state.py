"""The state of a training run: what a checkpoint holds besides the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

Tensors = dict[str, Tensor]


class RunState:
    """Parameters, optimiser memory, random state, the best and the averaged parameters.

    ``snapshot`` gives tensors and JSON-able data; ``restore`` takes them back, in
    place, so that model and optimiser go on bit for bit.
    """

    def __init__(
        self, model: nn.Module, optimiser: torch.optim.Optimizer, *, averaged: bool
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.best: Tensors | None = None
        self.average = self._copy(self._values()) if averaged else None

    def snapshot(self, about: Mapping[str, Any]) -> tuple[Tensors, dict[str, Any]]:
        """Everything as tensors and data; ``about`` is added to the data."""
        tensors = {f"model/{k}": v for k, v in self._values().items()}
        for kind, part in (("best", self.best), ("average", self.average)):
            for key, value in (part or {}).items():
                tensors[f"{kind}/{key}"] = value
        whole = self.optimiser.state_dict()
        plain: dict[str, dict[str, Any]] = {}
        for index, memory in whole["state"].items():
            for key, value in memory.items():
                if isinstance(value, Tensor):
                    tensors[f"optimiser/{index}/{key}"] = value
                else:
                    plain.setdefault(str(index), {})[key] = value
        tensors["random/cpu"] = torch.random.get_rng_state()
        device = self._device()
        if device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(device)
        optimiser = {"groups": whole["param_groups"], "plain": plain}
        return tensors, {**about, "optimiser": optimiser}

    def restore(self, tensors: Tensors, about: Mapping[str, Any]) -> None:
        """Take back what ``snapshot`` gave.

        Raises ``ValueError`` when the parameters' names or shapes differ.
        """
        parts: dict[str, Tensors] = {}
        for name, tensor in tensors.items():
            kind, _, key = name.partition("/")
            parts.setdefault(kind, {})[key] = tensor
        self._assign(parts.get("model", {}))
        device = self._device()
        self.best = _moved(parts.get("best"), device)
        if self.average is not None:
            self.average = _moved(parts.get("average"), device)
        state: dict[int, dict[str, Any]] = {
            int(index): dict(plain)
            for index, plain in about["optimiser"]["plain"].items()
        }
        for name, tensor in parts.get("optimiser", {}).items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = tensor
        groups = about["optimiser"]["groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})
        torch.random.set_rng_state(parts["random"]["cpu"])
        if device.type == "cuda" and "cuda" in parts["random"]:
            torch.cuda.set_rng_state(parts["random"]["cuda"], device)

    def update_average(self, decay: float) -> None:
        """average <- decay average + (1 - decay) parameters, in place."""
        if self.average is not None:
            values = self._values()
            for key, mean in self.average.items():
                if mean.is_floating_point():
                    mean.lerp_(values[key], 1 - decay)
                else:
                    mean.copy_(values[key])

    def with_average(self, ask: Callable[[], float]) -> float:
        """An answer of the model with the averaged parameters, if there are any."""
        if self.average is None:
            return ask()
        own = self._copy(self._values())
        self._assign(self.average)
        try:
            return ask()
        finally:
            self._assign(own)

    def keep_best(self) -> None:
        """Remember the parameters that were just evaluated."""
        self.best = self._copy(self.average or self._values())

    def finish(self) -> None:
        """Leave the model with its best parameters, or with the averaged ones."""
        final = self.best or self.average
        if final is not None:
            self._assign(final)

    def _values(self) -> Tensors:
        """Parameters and persistent buffers, each tensor once (tied ones too)."""
        persistent = self.model.state_dict().keys()
        found: Tensors = {k: p.detach() for k, p in self.model.named_parameters()}
        found |= {k: b for k, b in self.model.named_buffers() if k in persistent}
        return found

    def _assign(self, values: Tensors) -> None:
        mine = self._values()
        shapes = [
            {k: tuple(v.shape) for k, v in part.items()} for part in (mine, values)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "the checkpoint holds another model: its parameters are "
                f"{shapes[1]}, this model's {shapes[0]}"
            )
        with torch.no_grad():
            for key, value in values.items():
                mine[key].copy_(value)

    def _copy(self, values: Tensors) -> Tensors:
        return {key: value.clone() for key, value in values.items()}

    def _device(self) -> torch.device:
        return next(self.model.parameters()).device


def _moved(tensors: Tensors | None, device: torch.device) -> Tensors | None:
    if tensors is None:
        return None
    return {key: tensor.to(device) for key, tensor in tensors.items()}
