"""word2vec: CBOW and skip-gram, by negative sampling or a Huffman tree. Chapter 7."""

from lmlib.word2vec.huffman import HuffmanTree
from lmlib.word2vec.model import Word2Vec, Word2VecConfig, train_word2vec
from lmlib.word2vec.sampling import AliasTable, keep_probabilities, noise_distribution

__all__ = [
    "AliasTable",
    "HuffmanTree",
    "Word2Vec",
    "Word2VecConfig",
    "keep_probabilities",
    "noise_distribution",
    "train_word2vec",
]
