"""GPT-1's weights in the layout of OpenAI's release, in and out.

A folder with ``params_shapes.json``, a list of shapes, and ``params_0.npy`` and so on:
all parameters in one flat row of float32, cut into equal pieces without regard to
where one ends. The order: positions, subwords, then by block W_qkv, W_o, norm 1, W_1,
W_2, norm 2, weights before biases. Matrices have a leading 1, once a convolution's
width. The number of heads is not in the files.
"""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lmlib.files import read_text, replacing, write_text
from lmlib.gpt.config import GPTConfig
from lmlib.gpt.huggingface import BLOCK_NAMES
from lmlib.gpt.model import GPT
from lmlib.vocabulary import Vocabulary

SHAPES = "params_shapes.json"


def from_openai(
    folder: str | os.PathLike[str],
    vocabulary: Vocabulary,
    heads: int = 12,
    dropout: float = 0.1,
) -> GPT:
    """Read a folder in OpenAI's layout as a model over a vocabulary.

    Raises ``ValueError`` for a missing or cut-off piece, shapes that are no GPT-1, a
    vocabulary of another size, and weights that are not finite.
    """
    folder = Path(folder)
    shapes = _read_shapes(folder / SHAPES)
    flat = _read_pieces(folder)
    sizes = [math.prod(shape) for shape in shapes]
    if sum(sizes) != len(flat):
        raise ValueError(
            f"{folder} holds {len(flat):,} numbers in its pieces, {SHAPES} tells of "
            f"{sum(sizes):,}: a piece is missing or cut short; fetch it again"
        )
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    arrays = [part.reshape(s) for part, s in zip(parts, shapes, strict=True)]
    layers, rest = divmod(len(arrays) - 2, len(BLOCK_NAMES))
    if rest or layers < 1 or any(len(s) != 2 for s in shapes[:2]):
        raise ValueError(
            f"{folder / SHAPES} lists {len(shapes)} parameters: expected positions, "
            f"subwords and {len(BLOCK_NAMES)} for each block"
        )
    (positions, width), (words, _) = shapes[:2]
    if words != len(vocabulary):
        raise ValueError(
            f"{folder} is of a model over {words:,} symbols, the vocabulary has "
            f"{len(vocabulary):,}: give the vocabulary it was trained with"
        )
    config = GPTConfig(layers, width, heads, positions, dropout)
    tensors = {}
    for name, array in zip(openai_order(layers), arrays, strict=True):
        if array.ndim == 3:
            array = array[0]  # a convolution of width 1
        tensors[name] = torch.from_numpy(np.array(array, np.float32))
    model = GPT(vocabulary, config, np.random.default_rng(0))
    model.assign(tensors, str(folder))
    return model.eval()


def to_openai(model: GPT, folder: str | os.PathLike[str], pieces: int = 10) -> None:
    """Write a folder in OpenAI's layout."""
    folder = Path(folder)
    if pieces < 1:
        raise ValueError(f"pieces={pieces}: expected at least 1")
    mine = dict(model.named_parameters())
    arrays: list[NDArray[np.float32]] = []
    for name in openai_order(model.config.layers):
        array = mine[name].detach().cpu().float().numpy()
        is_convolution = array.ndim == 2 and name.startswith("blocks.")
        arrays.append(array[None] if is_convolution else array)
    flat = np.concatenate([array.ravel() for array in arrays])
    for i, piece in enumerate(np.array_split(flat, pieces)):
        with replacing(folder / f"params_{i}.npy") as temporary:
            buffer = io.BytesIO()
            np.save(buffer, piece, allow_pickle=False)
            temporary.write_bytes(buffer.getvalue())
    write_text(folder / SHAPES, json.dumps([a.shape for a in arrays]) + "\n")


def openai_order(layers: int) -> list[str]:
    """Our names of the parameters, in the order of OpenAI's files."""
    blocks = [f"blocks.{i}.{name}" for i in range(layers) for name in BLOCK_NAMES]
    return ["W_p", "W_e", *blocks]


def _read_shapes(path: Path) -> list[tuple[int, ...]]:
    try:
        return [tuple(int(n) for n in shape) for shape in json.loads(read_text(path))]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is not OpenAI's list of shapes ({error}): fetch it again"
        ) from error


def _read_pieces(folder: Path) -> NDArray[np.float32]:
    names = [f"params_{i}.npy" for i in range(len(list(folder.glob("params_*.npy"))))]
    if not names:
        raise ValueError(f"{folder} has no file params_0.npy")
    pieces = []
    for name in names:
        try:
            pieces.append(np.load(folder / name, allow_pickle=False).ravel())
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(
                f"{folder / name} is missing, damaged or cut short ({error}): fetch "
                "it again"
            ) from error
    return np.concatenate(pieces)
