"""The sizes of a GPT, and its parameters by formula. Chapter 9."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GPTConfig:
    """The shape of one model; the defaults are the paper's.

    Raises ``ValueError`` for sizes that make no model.
    """

    layers: int = 12  # n: blocks
    width: int = 768  # numbers a token, in and between the blocks
    heads: int = 12  # attention heads a block; each is width / heads wide
    positions: int = 512  # k: tokens in the context window
    # Share set to zero in training: embeddings, attention weights, and what a block
    # adds to its input.
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "positions"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name}={getattr(self, name)} makes no model: expected at least 1"
                )
        if self.width % self.heads:
            raise ValueError(
                f"width {self.width} cannot be shared among {self.heads} heads: "
                "expected a multiple of the number of heads"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"dropout={self.dropout} is a share of units to drop: expected at "
                "least 0 and below 1"
            )

    @property
    def head_width(self) -> int:
        """Numbers in a query, a key or a value: 64 in the paper."""
        return self.width // self.heads

    @property
    def feed_forward(self) -> int:
        """Units of the feed-forward layer: 4 times the width, 3072 in the paper."""
        return 4 * self.width

    @property
    def block_parameters(self) -> int:
        """Parameters of one block, 12 d^2 + 13 d for width d: 7,087,872 in the paper.

        Attention has 3 d^2 + 3d (queries, keys, values) and d^2 + d (output), the
        feed-forward layer 4 d^2 + 4d and 4 d^2 + d, the two norms 2d each.
        """
        return 12 * self.width**2 + 13 * self.width

    def parameters(self, words: int) -> int:
        """Free parameters for |V| = ``words``: (|V| + k) d + n (12 d^2 + 13 d).

        The output layer has none of its own: it is W_e again. For the paper's 40,478
        subwords: 31,087,104 + 393,216 + 85,054,464 = 116,534,784.
        """
        return (words + self.positions) * self.width + (
            self.layers * self.block_parameters
        )


PAPER = GPTConfig()  # 116,534,784 parameters with |V| = 40,478

# This project's recorded model: 6,868,480 parameters with |V| = 8,192.
SMALL = GPTConfig(layers=6, width=256, heads=4, positions=128)

# For the toy world, in a notebook's cell: 102,016 parameters without the words' own.
TOY = GPTConfig(layers=2, width=64, heads=4, positions=32, dropout=0.0)
