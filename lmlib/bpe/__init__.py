"""Subwords by byte-pair encoding: between characters and words. Chapter 9.

A vocabulary of words leaves rare words out; one of characters makes texts long.
Byte-pair encoding starts from characters and joins, again and again, the pair of
neighbours that is most frequent in a text (Sennrich, Haddow and Birch 2016, "Neural
machine translation of rare words with subword units"). Frequent words become one
symbol, rare ones a few. As in GPT-1, the last symbol of a word ends with ``</w>``.

- ``coding``: words to ids and back with given merges
- ``merges``: learning the merges from a text
- ``engine``: both by Hugging Face's ``tokenizers``, for large texts
- ``gpt1``: GPT-1's own 40,000 merges and its clean-up of text
- ``per_word``: from probabilities of subwords to a perplexity per word
"""

from lmlib.bpe.coding import BPE, WORD_END
from lmlib.bpe.engine import FastBPE, learn_bpe_fast
from lmlib.bpe.gpt1 import gpt1_words, load_gpt1
from lmlib.bpe.merges import Merge, learn_bpe, learn_merges
from lmlib.bpe.per_word import WordScore, evaluate_words, word_log_probabilities

__all__ = [
    "BPE",
    "WORD_END",
    "FastBPE",
    "Merge",
    "WordScore",
    "evaluate_words",
    "gpt1_words",
    "learn_bpe",
    "learn_bpe_fast",
    "learn_merges",
    "load_gpt1",
    "word_log_probabilities",
]
