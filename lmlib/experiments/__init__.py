"""Runs too long for a notebook's cell: ``python -m lmlib.experiments NAME``.

Each module here is one experiment with a function ``main(arguments)``. It writes its
record to ``data/results/``, keeps checkpoints under ``runs/``, and goes on from them
after an interruption.
"""
