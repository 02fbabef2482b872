"""What the site needs beyond Jupyter Book.

Mathematics without a network, the repository's address from one place, citations in
round brackets, and docstrings that write ``|V|``.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import (
    AuthorYearReferenceStyle,
)

# tex-chtml-full.js is complete but for its fonts and, on request from its own menu,
# the expression explorer (a11y, sre). All of it lies in the site: nothing is fetched.
MATHJAX = ("tex-chtml-full.js", "output/chtml/fonts/woff-v2", "a11y", "sre")


def round_brackets() -> BracketStyle:
    """Brackets around citations."""
    return BracketStyle(left="(", right=")")


@dataclass
class RoundAuthorYear(AuthorYearReferenceStyle):
    """Bengio et al. (2003), not [2003]."""

    bracket_parenthetical: BracketStyle = field(default_factory=round_brackets)
    bracket_textual: BracketStyle = field(default_factory=round_brackets)
    bracket_author: BracketStyle = field(default_factory=round_brackets)
    bracket_label: BracketStyle = field(default_factory=round_brackets)
    bracket_year: BracketStyle = field(default_factory=round_brackets)


def mathjax_folder() -> Path:
    """Where the package ``sphinx-mathjax-offline`` keeps MathJax 3.

    Its name is no Python identifier, and its own Sphinx hook copies everything below
    ``_static``, from where Jupyter Book would load each script on each page: MathJax
    would start twice and fail. So only its files are used.
    """
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            "the package sphinx-mathjax-offline is not installed: "
            "pip install -e '.[book]'"
        )
    return Path(package.origin).parent / "static" / "mathjax"


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax beside the pages, once the build has succeeded."""
    if error is not None or app.builder.format != "html":
        return
    source, target = mathjax_folder(), Path(app.outdir) / "mathjax"
    for name in MATHJAX:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        elif (source / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)


# What the theme and Sphinx write that a screen reader stumbles over.
REPAIRS = (
    # Folding sections of the table of contents: a button without a name.
    (
        re.compile(r"<summary>(?=<span class=\"toctree-toggle\")"),
        '<summary aria-label="Show or hide the pages of this section">',
    ),
    # A bibliography is marked as a list whose entries are not list items.
    (re.compile(r'<div role="list" class="citation-list">'), "<div>"),
    (re.compile(r' role="doc-biblioentry"'), ""),
    # Signatures over several lines: a list of definitions without terms.
    (re.compile(r"<dl>\s*(?=<dd><em class=\"sig-param)"), '<span class="sig-list">'),
    (
        re.compile(r"<dd>(<em class=\"sig-param.*?)</dd>"),
        r'<span class="sig-line">\1</span>',
    ),
    (re.compile(r"</dl>(?=\s*<span class=\"sig-paren\">)"), "</span>"),
)


def repair_pages(app: Sphinx, error: Exception | None) -> None:
    """Apply the repairs to every page."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        before = text = path.read_text(encoding="utf-8")
        for pattern, replacement in REPAIRS:
            text = pattern.sub(replacement, text)
        if text != before:
            path.write_text(text, encoding="utf-8", newline="\n")


def name_repository(app: Sphinx, config: Config) -> None:
    """Let pages write ``{{ repository }}``: the address stands in _config.yml only."""
    address = config.html_theme_options["repository_url"]
    config.myst_substitutions = {
        **config.myst_substitutions,
        "repository": f"[{address.removeprefix('https://')}]({address})",
        "colab_install": f"```\n%pip install git+{address}\n```",
    }


BARS = re.compile(r"\|([^|\s](?:[^|]*[^|\s])?)\|")


def keep_bars(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Let docstrings write ``|V|`` in plain text, which reStructuredText would replace.

    Text between double back-quotes, doctests and literal blocks are left alone.
    """
    literal: int | None = None  # indentation of the line that began a literal block
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "...")):
            parts = re.split("(``.*?``)", line)
            parts[::2] = [re.sub(BARS, r"\\|\1\\|", text) for text in parts[::2]]
            lines[i] = "".join(parts)
        if literal is None and line.rstrip().endswith("::"):
            literal = indent


def shorten_factories(
    app: Sphinx,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Write a dataclass's ``<factory>`` as ``...``, which is Python.

    Otherwise Sphinx cannot parse the signature and prints the types in full.
    """
    return signature and signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks with Sphinx."""
    style = "sphinxcontrib.bibtex.style.referencing"
    register_plugin(style, "author_year_round", RoundAuthorYear)
    app.config.mathjax_path = "../mathjax/tex-chtml-full.js"
    app.connect("config-inited", name_repository)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("autodoc-process-signature", shorten_factories)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", repair_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
