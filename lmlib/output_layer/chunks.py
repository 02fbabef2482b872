"""The softmax over a large vocabulary, a few examples at a time, with its gradients.

The logits of a batch of B examples are B x |V| numbers: 37 MB for 512 examples and
17,907 words in float32, and a plain step makes three such tables, each of them fresh
memory. Here ``chunk`` examples at a time go through the whole of it (logits,
exponentials, loss, gradients) in one table that the next chunk uses again.

For one example with logits y (eq. 1 of Bengio et al. 2003) and target t, section 3.2:

    e_j = exp(y_j - c),  s = sum_j e_j,  loss = log s + c - y_t
    dloss/dy_j = e_j / s - 1[j = t]

The table keeps the unnormalised e_j: 1/s is one number an example, and it is cheaper
to multiply it into the example's inputs than into |V| words. The shift c changes
nothing but the range of the numbers. It is 0 (two passes over the table less) while
the sums s stay well inside the range of the type, and the greatest logit after that.

``loss`` connects this to autograd. Chapter 5.
"""

# B examples, r of them in a chunk, |V| words, D_i numbers in the i-th input.

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

# A table of this size stays in the last cache of current processors; on other
# devices a larger one costs nothing and needs fewer launches.
CPU_TABLE_BYTES = 10 * 2**20
DEVICE_TABLE_BYTES = 256 * 2**20
KEPT_BYTES = 64 * 2**20  # larger tables are given back after each call

# With the sum of the e_j in this range, c = 0 loses nothing: no e_j is near overflow
# (1e38 and 1e308), and one that underflows is less than 1e-12 of the sum.
_SAFE_SUM = {torch.float32: (1e-25, 1e25), torch.float64: (1e-250, 1e250)}


def accumulation_dtype(compute: torch.dtype) -> torch.dtype:
    """The type of exponentials, sums and gradients: float32 for bfloat16 products."""
    return torch.float32 if compute == torch.bfloat16 else compute


def default_chunk(examples: int, words: int, wide: torch.dtype, device: str) -> int:
    """Examples a chunk, so that the table fits its budget and chunks are even."""
    budget = CPU_TABLE_BYTES if device == "cpu" else DEVICE_TABLE_BYTES
    fit = max(16, budget // (words * wide.itemsize) // 16 * 16)
    return math.ceil(examples / math.ceil(examples / fit))


@dataclass
class Gradients:
    """Where a pass adds the gradients; ``None`` where nobody asks for one.

    The pass leaves ``keep`` times the old content plus the new gradient in ``weights``
    and ``bias``; with ``keep=0`` the old content is not even read. ``inputs`` are
    overwritten. ``scale`` multiplies the summed loss whose gradient is taken.
    """

    inputs: Sequence[Tensor | None]
    weights: Sequence[Tensor | None]
    bias: Tensor | None
    scale: float = 1.0
    keep: float = 0.0

    def __bool__(self) -> bool:
        wanted = (*self.inputs, *self.weights, self.bias)
        return any(part is not None for part in wanted)


@dataclass
class SoftmaxChunks:
    """Inputs, weights and bias in the type of their products, and the tables.

    ``compute`` is the type of the matrix products. Everything else is done in
    ``wide = accumulation_dtype(compute)``.
    """

    inputs: Sequence[Tensor]  # (B, D_i) each
    weights: Sequence[Tensor]  # (|V|, D_i) each
    bias: Tensor | None  # (|V|,)
    compute: torch.dtype
    chunk: int
    wide: torch.dtype = field(init=False)

    def __post_init__(self) -> None:
        self.wide = accumulation_dtype(self.compute)
        self.inputs = [x.detach().to(self.compute) for x in self.inputs]
        self.weights = [w.detach().to(self.compute) for w in self.weights]
        if self.bias is not None:
            self.bias = self.bias.detach().to(self.wide)
        self.chunk = min(self.chunk, self.examples)
        self._table = self._empty_table(self.wide)
        # bfloat16 products are made in a table of their own, then widened.
        self._half = (
            self._empty_table(self.compute) if self.wide != self.compute else None
        )
        # Looking at the sums would wait for another device: shift there at once.
        self._shift = self.inputs[0].device.type != "cpu"

    @property
    def examples(self) -> int:
        """B, the number of examples."""
        return len(self.inputs[0])

    @property
    def words(self) -> int:
        """|V|, the number of words."""
        return len(self.weights[0])

    def _empty_table(self, dtype: torch.dtype) -> Tensor:
        # Rows start at multiples of 64 bytes: matrix products like that.
        stride = math.ceil(self.words / 64) * 64
        flat = _workspace(self.chunk * stride, dtype, self.inputs[0].device)
        return flat.view(self.chunk, stride)[:, : self.words]

    def losses(self, targets: Tensor, gradients: Gradients | None = None) -> Tensor:
        """-log softmax(y)[target] of each example ``(B,)``, and the gradients.

        The sum of the losses times ``gradients.scale`` is differentiated.
        """
        losses = self._table.new_empty(self.examples)  # (B,)
        keep = gradients.keep if gradients else 0.0
        for rows in self._chunks():
            target = targets[rows, None]  # (r, 1)
            e, s, losses[rows] = self._exponentials(rows, target)
            if gradients:
                # s times dloss/dy: e_j, but e_t - s at the target.
                e.scatter_(1, target, e.gather(1, target) - s)
                self._add_gradients(gradients, rows, e, gradients.scale / s, keep)
                keep = 1.0
        return losses

    def _exponentials(
        self, rows: slice, target: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """e ``(r, |V|)`` in the table, sums s ``(r, 1)``, and losses ``(r,)``."""
        y = self._logits(rows)
        target_logit = y.gather(1, target)  # (r, 1)
        if self._shift:
            top = y.amax(1, keepdim=True)
            y.sub_(top)
            target_logit.sub_(top)
        e = y.exp_()  # no logit is needed any more
        s = e.sum(1, keepdim=True)
        if not self._shift:
            low, high = _SAFE_SUM[self.wide]
            if not (low < s.min().item() and s.max().item() < high):
                self._shift = True  # for the chunks to come as well
                return self._exponentials(rows, target)
        return e, s, (s.log() - target_logit)[:, 0]

    def _chunks(self) -> Iterator[slice]:
        for start in range(0, self.examples, self.chunk):
            yield slice(start, min(start + self.chunk, self.examples))

    def _logits(self, rows: slice) -> Tensor:
        """y = b + sum_i x_i w_i^T (eq. 1) of some examples, in the table."""
        pairs = list(zip(self.inputs, self.weights, strict=True))
        y = self._table[: rows.stop - rows.start]
        if self._half is None:
            for i, (x, weight) in enumerate(pairs):
                if i > 0:
                    y.addmm_(x[rows], weight.t())
                elif self.bias is None:
                    torch.mm(x[rows], weight.t(), out=y)
                else:
                    torch.addmm(self.bias, x[rows], weight.t(), out=y)
            return y
        half = self._half[: len(y)]
        for i, (x, weight) in enumerate(pairs):
            torch.mm(x[rows], weight.t(), out=half)
            if i > 0:
                y.add_(half)
            elif self.bias is None:
                y.copy_(half)
            else:
                torch.add(half, self.bias, out=y)
        return y

    def _add_gradients(
        self, gradients: Gradients, rows: slice, dy: Tensor, q: Tensor, keep: float
    ) -> None:
        """From dy/q ``(r, |V|)`` and q ``(r, 1)`` to the gradients they cause."""
        product = dy
        if self._half is not None:
            product = self._half[: len(dy)].copy_(dy)
        if gradients.bias is not None:
            gradients.bias.mul_(keep) if keep else gradients.bias.zero_()
            gradients.bias.addmv_(dy.t(), q[:, 0])
        for x, weight, x_grad, w_grad in zip(
            self.inputs, self.weights, gradients.inputs, gradients.weights, strict=True
        ):
            if x_grad is not None:
                # Computed as its transpose (D_i, r), which is the faster product.
                x_grad[rows] = torch.mm(weight.t(), product.t()).t() * q
            if w_grad is not None:
                scaled = (x[rows].t() * q.t()).to(self.compute)  # (D_i, r)
                if self._half is None:
                    w_grad.addmm_(product.t(), scaled.t(), beta=keep)
                else:
                    w_grad.mul_(keep) if keep else w_grad.zero_()
                    w_grad.add_(torch.mm(product.t(), scaled.t()))


_kept = threading.local()


def _workspace(numbers: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Memory for a table. On the CPU a thread keeps it: fresh pages cost more."""
    if device.type != "cpu" or numbers * dtype.itemsize > KEPT_BYTES:
        return torch.empty(numbers, dtype=dtype, device=device)
    tables: dict[torch.dtype, Tensor] = _kept.__dict__.setdefault("tables", {})
    if dtype not in tables or len(tables[dtype]) < numbers:
        tables.pop(dtype, None)  # free the old one first
        with torch.inference_mode(False):  # or it could not be written to outside it
            tables[dtype] = torch.empty(numbers, dtype=dtype)
    return tables[dtype][:numbers]
