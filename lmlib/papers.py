"""The papers' own numbers, from ``data/papers/``, under the names our records use."""

from __future__ import annotations

import json

from lmlib.files import read_text
from lmlib.results import ROOT

_PAPERS = ROOT / "data" / "papers"


def bengio_table1() -> dict[str, float]:
    """Table 1 of Bengio et al. (2003), Brown: ``"row/measure"`` to perplexity.

    Rows are named as in the table: ``MLP9``; ``Deleted interpolation 3`` with the
    order; ``class-based back-off 3 500`` with order and classes. Measures are
    ``train_ppl``, ``valid_ppl`` and ``test_ppl``.
    """
    table = json.loads(read_text(_PAPERS / "bengio2003_table1.json"))
    figures: dict[str, float] = {}
    for values in table["rows"]:
        row = dict(zip(table["columns"], values, strict=True))
        name = row["name"]
        if not name.startswith("MLP"):
            name += f" {row['order_n']}"
        if row["classes_c"]:
            name += f" {row['classes_c']}"
        for measure in ("train_ppl", "valid_ppl", "test_ppl"):
            if row[measure] is not None:
                figures[f"{name}/{measure}"] = row[measure]
    return figures
