"""From one-hot to GPT: the tested code behind the book, in reading order.

Words as numbers, and counted (chapters 1 to 3):

- ``vocabulary``: tokens and ids, rare words merged, marks
- ``toy_world``: our own grammar, whose true distribution is known
- ``corpora``: the toy world, two Bible translations, the Brown corpus
- ``encodings``: ordinal codes and one-hot vectors
- ``language_model``: the one interface, log P(next word | context)
- ``perplexity``, ``generation``, ``mixture``, ``binned_mixture``: what follows from it
- ``density``: histogram, normal curve and bumps on a line
- ``ngrams``: counted models, from maximum likelihood to word classes

The representation learned (chapters 4 to 6):

- ``output_layer``: softmax, loss and gradients over a large vocabulary, in pieces
- ``nnlm``: the neural probabilistic language model of 2003
- ``batches``, ``schedules``, ``training``, ``checkpoints``: one loop, resumable
- ``recipes``: how the NNLM is trained

Word vectors, subwords and GPT-1 (their chapters are to come):

- ``embeddings``, ``analogies``, ``clusters``, ``relations``, ``embedding_files``
- ``cooccurrence``, ``word2vec``, ``sampled_softmax``
- ``bpe``, ``causal_model``, ``gpt``, ``lstm``, ``token_files``, ``text_windows``

Beside them: ``plotting`` (pictures from arrays), ``results`` (records of long runs),
``papers`` (the papers' own tables), ``experiments`` (runs too long for a cell) and
``files`` (UTF-8, never half-written).
"""
