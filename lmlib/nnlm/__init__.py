"""Bengio's neural probabilistic language model (2003). Chapters 4 and 5.

- ``config``: sizes, the paper's presets, parameter and operation counts
- ``window``: what the models share: C, answers in NumPy, files
- ``model``: y = b + Wx + U tanh(d + Hx), eq. 1
- ``recurrent``: the same with a recurrent network in the place of tanh(d + Hx)
- ``energy``: section 5.1, the candidate word among the inputs, and unknown words
"""

from lmlib.nnlm.config import PRESETS, NNLMConfig, Operations
from lmlib.nnlm.energy import EnergyConfig, EnergyNNLM, new_word_features
from lmlib.nnlm.model import NNLM
from lmlib.nnlm.recurrent import RecurrentConfig, RecurrentNNLM
from lmlib.nnlm.window import WindowModel

__all__ = [
    "NNLM",
    "PRESETS",
    "EnergyConfig",
    "EnergyNNLM",
    "NNLMConfig",
    "Operations",
    "RecurrentConfig",
    "RecurrentNNLM",
    "WindowModel",
    "new_word_features",
]
