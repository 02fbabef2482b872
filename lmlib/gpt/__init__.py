"""GPT-1: a Transformer decoder that predicts the next subword. Chapters 9 and 10.

Radford, Narasimhan, Salimans and Sutskever, "Improving language understanding by
generative pre-training", 2018.

- ``config``: sizes, presets, parameters by formula
- ``attention``: causal self-attention, to read and to run
- ``dropout``, ``gelu``: the two steps that cost more than they should, made cheap
- ``block``: one layer; ``model``: h_0 = U W_e + W_p, the layers, softmax(h_n W_e^T)
- ``generation``: drawing text with remembered keys and values
- ``huggingface``, ``openai``: weights in and out of their layouts
"""

from lmlib.gpt.attention import attention, attention_by_hand
from lmlib.gpt.block import KeysValues
from lmlib.gpt.config import PAPER, SMALL, TOY, GPTConfig
from lmlib.gpt.generation import generate
from lmlib.gpt.huggingface import from_huggingface, to_huggingface
from lmlib.gpt.model import GPT
from lmlib.gpt.openai import from_openai, to_openai

__all__ = [
    "GPT",
    "PAPER",
    "SMALL",
    "TOY",
    "GPTConfig",
    "KeysValues",
    "attention",
    "attention_by_hand",
    "from_huggingface",
    "from_openai",
    "generate",
    "to_huggingface",
    "to_openai",
]
