"""GPT-1's own subwords: 40,000 merges, 40,478 symbols, lower case.

The two files of OpenAI's release (github.com/openai/finetune-transformer-lm, folder
``model``: ``encoder_bpe_40000.json`` and ``vocab_40000.bpe``) are not part of this
project. The release cleans text with ftfy and cuts it into words with spaCy; what is
here is the plainer way of Hugging Face's ``OpenAIGPTTokenizer``, which is BERT's: no
library is needed, and the ids are the same as there. The two ways differ. spaCy cuts
"don't" into "do" and "n't", this one into "don", "'" and "t"; the release keeps
accents, writes every dash as "-" and three dots for an ellipsis, and keeps ends of
lines as a symbol of their own.
"""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

from lmlib.bpe.coding import BPE
from lmlib.files import read_text

ENCODER = "encoder_bpe_40000.json"
MERGES = "vocab_40000.bpe"

# Blocks of ideographs: each of these characters is a word by itself.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_ASCII_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def load_gpt1(folder: str | os.PathLike[str]) -> BPE:
    """GPT-1's subwords from a folder with the two files of OpenAI's release.

    ``lmlib.corpora.data_folder("gpt1-bpe")`` is such a folder where it was fetched.
    Encode text as ``bpe.encode(gpt1_words(text))``. A character that GPT-1 never saw
    becomes ``<unk>``, and is lost.

    Raises ``ValueError`` for a missing or damaged file.
    """
    folder = Path(folder)
    for name in (ENCODER, MERGES):
        if not (folder / name).is_file():
            raise ValueError(
                f"{folder} has no file {name}: it is in the folder model of "
                "github.com/openai/finetune-transformer-lm"
            )
    try:
        ids = json.loads(read_text(folder / ENCODER))
        symbols = sorted(ids, key=ids.__getitem__)
        if [ids[symbol] for symbol in symbols] != list(range(len(symbols))):
            raise ValueError("the ids are not 0, 1, 2 ... without gaps")
        lines = read_text(folder / MERGES).split("\n")[1:]
        merges = [(left, right) for left, right in (x.split() for x in lines if x)]
        return BPE(symbols, merges, unknown="<unk>")
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{folder} does not hold GPT-1's {ENCODER} and {MERGES} as released "
            f"({error}): fetch them again"
        ) from error


def gpt1_words(text: str) -> list[str]:
    """Clean a text and cut it into words, as Hugging Face does for GPT-1.

    Control characters go, accents go, letters become small; punctuation marks and
    ideographs stand alone.

    >>> gpt1_words("Caf\u00e9, isn't it?")
    ['cafe', ',', 'isn', "'", 't', 'it', '?']
    """
    if not isinstance(text, str):
        raise ValueError(f"expected one string, got {type(text).__name__}")
    clean = "".join(_clean(character) for character in text)
    # Only "Mn", marks without width; each character by itself, so that no letter's
    # small form depends on its neighbours.
    plain = [
        character.lower()
        for character in unicodedata.normalize("NFD", clean)
        if unicodedata.category(character) != "Mn"
    ]
    spaced = "".join(f" {c} " if _is_punctuation(c) else c for c in plain)
    return spaced.split()


def _clean(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r" or character.isspace():
        # Some of these are control characters; they part words or vanish.
        gone = character not in "\t\n\r" and unicodedata.category(character) == "Cc"
        return "" if gone else " "
    if code in (0, 0xFFFD) or unicodedata.category(character) in ("Cc", "Cf", "Co"):
        return ""
    if any(low <= code <= high for low, high in _IDEOGRAPHS):
        return f" {character} "
    return character


def _is_punctuation(character: str) -> bool:
    if len(character) != 1:  # a small form of two characters: a letter and a mark
        return False
    return character in _ASCII_SIGNS or unicodedata.category(character)[0] == "P"
