"""GPT-1's weights in the layout of Hugging Face's ``openai-gpt``, in and out.

A folder with ``model.safetensors`` and ``config.json``. Their names: ``c_attn`` for
W_qkv, ``c_proj`` for W_o and for W_2, ``c_fc`` for W_1, ``ln_1`` and ``ln_2`` for the
norms. Matrices are (inputs, outputs) there as here, so nothing is transposed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lmlib.files import read_text, replacing, write_text
from lmlib.gpt.block import EPSILON
from lmlib.gpt.config import GPTConfig
from lmlib.gpt.model import GPT
from lmlib.vocabulary import Vocabulary

WEIGHTS = "model.safetensors"
CONFIG = "config.json"

# Within a block: our name to theirs.
BLOCK_NAMES = {
    "W_qkv.W": "attn.c_attn.weight",
    "W_qkv.b": "attn.c_attn.bias",
    "W_o.W": "attn.c_proj.weight",
    "W_o.b": "attn.c_proj.bias",
    "norm_1.g": "ln_1.weight",
    "norm_1.b": "ln_1.bias",
    "W_1.W": "mlp.c_fc.weight",
    "W_1.b": "mlp.c_fc.bias",
    "W_2.W": "mlp.c_proj.weight",
    "W_2.b": "mlp.c_proj.bias",
    "norm_2.g": "ln_2.weight",
    "norm_2.b": "ln_2.bias",
}


def huggingface_names(layers: int) -> dict[str, str]:
    """Our name of every parameter to Hugging Face's."""
    names = {
        "W_e": "transformer.tokens_embed.weight",
        "W_p": "transformer.positions_embed.weight",
    }
    for i in range(layers):
        for ours, theirs in BLOCK_NAMES.items():
            names[f"blocks.{i}.{ours}"] = f"transformer.h.{i}.{theirs}"
    return names


def to_huggingface(model: GPT, folder: str | os.PathLike[str]) -> None:
    """Write a folder that ``OpenAIGPTLMHeadModel.from_pretrained`` reads."""
    folder = Path(folder)
    config = model.config
    mine = dict(model.named_parameters())
    tensors = {
        theirs: mine[ours].detach().cpu().contiguous()
        for ours, theirs in huggingface_names(config.layers).items()
    }
    about = {
        "architectures": ["OpenAIGPTLMHeadModel"],
        "model_type": "openai-gpt",
        "afn": "gelu",
        "vocab_size": len(model.vocabulary),
        "n_positions": config.positions,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "layer_norm_epsilon": EPSILON,
        "initializer_range": 0.02,
        "tie_word_embeddings": True,
    }
    with replacing(folder / WEIGHTS) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})
    write_text(folder / CONFIG, json.dumps(about, indent=2) + "\n")


def from_huggingface(folder: str | os.PathLike[str], vocabulary: Vocabulary) -> GPT:
    """Read a folder in Hugging Face's layout as a model over a vocabulary.

    Raises ``ValueError`` for missing or damaged files, a vocabulary of another size,
    shapes that do not fit the configuration, and weights that are not finite.
    """
    folder = Path(folder)
    config = _read_config(folder / CONFIG, vocabulary)
    try:
        found = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{folder / WEIGHTS} is missing, damaged or cut short ({error}): fetch "
            "it again"
        ) from error
    tensors: dict[str, Tensor] = {}
    for ours, theirs in huggingface_names(config.layers).items():
        # Files of the model without its output layer lack the prefix.
        for name in (theirs, theirs.removeprefix("transformer.")):
            if name in found:
                tensors[ours] = found[name]
    model = GPT(vocabulary, config, np.random.default_rng(0))
    model.assign(tensors, str(folder / WEIGHTS))
    return model.eval()


def _read_config(path: Path, vocabulary: Vocabulary) -> GPTConfig:
    try:
        about = json.loads(read_text(path))
        if about["model_type"] != "openai-gpt":
            raise ValueError(f"its model_type is {about['model_type']!r}")
        config = GPTConfig(
            layers=about["n_layer"],
            width=about["n_embd"],
            heads=about["n_head"],
            positions=about["n_positions"],
            dropout=about.get("resid_pdrop", 0.1),
        )
        words = about["vocab_size"]
        epsilon = about.get("layer_norm_epsilon", EPSILON)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path} does not describe a model of the kind openai-gpt ({error})"
        ) from error
    if words != len(vocabulary):
        raise ValueError(
            f"{path} is of a model over {words:,} symbols, the vocabulary has "
            f"{len(vocabulary):,}: give the vocabulary it was trained with"
        )
    if epsilon != EPSILON:
        raise ValueError(
            f"{path} adds {epsilon} in its norms; this GPT-1 adds {EPSILON}, as "
            "released"
        )
    return config
