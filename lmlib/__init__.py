"""From one-hot to GPT: the tested code behind the book, in reading order.

Part I and II, words as numbers and counting:

- ``vocabulary``: tokens and ids, rare words merged, marks
- ``toy_world``: our own grammar, whose true distribution is known
- ``corpora``: the toy world, two Bible translations, the Brown corpus
- ``encodings``: ordinal codes and one-hot vectors (chapter 1)
- ``language_model``: the one interface, log P(next word | context) (chapter 2)
- ``perplexity``, ``generation``, ``mixture``: what follows from it
- ``ngrams``: counted models, from maximum likelihood on (chapters 2 and 3)

Beside them: ``plotting`` (pictures from arrays), ``results`` (records of long runs) and
``files`` (UTF-8, never half-written).
"""
