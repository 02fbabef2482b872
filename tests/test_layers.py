"""Imports run one way, and counting words needs no neural library."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "lmlib"

# A module imports from the rows above its own, and within its own package; never from
# its neighbours in the row. So models import neither each other nor the training loop.
WITHOUT_TORCH = (
    {"files", "plotting", "density", "schedules"},
    {"vocabulary", "results"},
    {"encodings", "papers", "language_model", "embeddings"},
    {"toy_world", "perplexity", "generation", "mixture", "bpe"},
    {"corpora", "binned_mixture", "analogies", "clusters", "tasks"},
    {"relations", "embedding_files"},
    {"ngrams"},
)
WITH_TORCH = (
    {"devices"},
    {
        "checkpoints",
        "output_layer",
        "batches",
        "training_state",
        "sampled_softmax",
        "answering",
        "token_files",
        "text_windows",
    },
    {"causal_model"},
    {"nnlm", "gpt", "lstm", "word2vec", "divergence"},
    {"training", "cooccurrence"},
    {"recipes", "parallel", "finetuning"},
    {"experiments"},
)
LAYERS = WITHOUT_TORCH + WITH_TORCH


def layer(module: str) -> int:
    """The row of a module, named by its first part: ``ngrams`` for ngrams.arpa."""
    rows = [i for i, names in enumerate(LAYERS) if module.split(".")[0] in names]
    assert len(rows) == 1, f"lmlib.{module} stands in no row of tests/test_layers.py"
    return rows[0]


def modules() -> dict[str, Path]:
    """Every module of lmlib by its name within the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:
            found[name] = path
    return found


def imports(path: Path) -> Iterator[str]:
    """Full names of what a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the full name"
            assert node.module is not None
            if node.module == "lmlib":  # from lmlib import perplexity
                yield from (f"lmlib.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_from_the_layers_above_it(module):
    package = module.split(".")[0]
    for name in imports(modules()[module]):
        top, _, inner = name.partition(".")
        if top == "lmlib" and inner and inner.split(".")[0] != package:
            assert layer(inner) < layer(module), f"lmlib.{module} imports {name}"


@pytest.mark.parametrize("module", modules())
def test_torch_begins_below_the_counted_models(module):
    if layer(module) < len(WITHOUT_TORCH):
        tops = {name.split(".")[0] for name in imports(modules()[module])}
        assert not tops & {"torch", "safetensors"}


def test_nothing_in_the_library_imports_the_tests_oracles():
    for module, path in modules().items():
        tops = {name.split(".")[0] for name in imports(path)}
        # Experiments measure speed against named peers.
        if not module.startswith("experiments"):
            assert not tops & {"kenlm", "gensim", "transformers", "sklearn"}, module


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(subprocess.check_output(command, encoding="utf-8").split())


def test_importing_ngrams_loads_no_torch_and_little_beside_numpy():
    # Counted in modules: a timing would depend on the machine. Torch alone is 900.
    beyond_numpy = loaded_by("import lmlib.ngrams") - loaded_by("import numpy")
    tops = {name.split(".")[0] for name in beyond_numpy}
    assert not tops & {"torch", "matplotlib", "nltk", "scipy", "pythonbible"}
    foreign = {name for name in beyond_numpy if not name.startswith("lmlib")}
    assert len(foreign) < 40, sorted(foreign)
