"""The output layer over a large vocabulary: softmax, loss and gradients in one pass.

Almost all the work of a neural language model is here (99.7 % for the AP News model
of Bengio et al. 2003, section 3.2): y = b + sum_i x_i w_i^T with one row of weights a
word. ``output_loss`` is the same number as ``F.cross_entropy(y, targets)`` and has
the same gradients, but the logits of a batch never exist whole, and the gradients are
made in the same pass, while a chunk's probabilities are still in the cache.

A model with direct connections calls it with inputs (x, a) and weights (W, U), one
without with (a,) and (U,), one with h = 0 with (x,) and (W,); GPT with its last layer
and the embedding matrix. Weights stored word by word or, a little faster, as the
transpose of a ``(D, |V|)`` tensor give the same numbers. Chapter 5.

- ``loss``: the functions, connected to autograd
- ``chunks``: the arithmetic, a few examples at a time
- ``checks``: what is refused, and why

Left out: second derivatives, label smoothing, class weights.
"""

from lmlib.output_layer.loss import (
    add_output_gradients,
    output_log_probabilities,
    output_loss,
    target_log_probabilities,
)

__all__ = [
    "add_output_gradients",
    "output_log_probabilities",
    "output_loss",
    "target_log_probabilities",
]
