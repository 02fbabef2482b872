"""The book's sources: complete, executed in order, described, and strictly compared."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import build_book
import nbformat
import pytest
import yaml
from run_tests import NBVAL

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
PAGES = [path for path in sorted(BOOK.rglob("*.md")) if "_build" not in path.parts]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def cells(path: Path, kind: str) -> list[tuple[int, nbformat.NotebookNode]]:
    """The cells of one kind with their position, as nbval counts them from 0."""
    notebook = nbformat.read(path, as_version=4)
    return [(i, c) for i, c in enumerate(notebook.cells) if c.cell_type == kind]


def prose() -> dict[str, str]:
    """All Markdown of the book by place, and the README."""
    found = {}
    for path in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        for i, cell in cells(path, "markdown"):
            found[f"{path.name} cell {i}"] = cell.source
    return found


def each(paths: list[Path]) -> pytest.MarkDecorator:
    """Run a test once a file."""
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


# --- the table of contents ----------------------------------------------------------


def test_every_page_and_chapter_is_in_the_table_of_contents():
    sources = {
        path.relative_to(BOOK).with_suffix("").as_posix()
        for path in [*PAGES, *NOTEBOOKS]
    }
    assert set(build_book.pages()) == sources


def test_chapters_are_numbered_in_the_order_of_the_table_of_contents():
    chapters = [name for name in build_book.pages() if name[0].isdigit()]
    assert [int(name[:2]) for name in chapters] == list(range(1, len(chapters) + 1))


# --- what the notebooks store -------------------------------------------------------


@each(NOTEBOOKS)
def test_cells_were_executed_once_each_in_order_without_error(path):
    # nbval compares nothing, and passes, where all outputs were cleared.
    code = cells(path, "code")
    counts = [cell.execution_count for _, cell in code]
    assert counts == list(range(1, len(code) + 1)), f"make execute CH={path.stem[:2]}"
    for i, cell in code:
        for output in cell.outputs:
            assert output.output_type != "error", f"cell {i} stores an error"
            assert output.get("name") != "stderr", f"cell {i} stores a warning"


@each(NOTEBOOKS)
def test_no_cell_ends_in_a_semicolon(path):
    # A semicolon hides a result in Jupyter but not under nbval. Return None instead.
    for i, cell in cells(path, "code"):
        tokens = tokenize.generate_tokens(io.StringIO(cell.source).readline)
        code = [t.string for t in tokens if t.string.strip() and t.string[0] != "#"]
        assert code, f"cell {i} is empty"
        assert code[-1] != ";", f"cell {i}"


@each(NOTEBOOKS)
def test_no_cell_escapes_the_comparison(path):
    skipping = re.compile(r"NBVAL_|nbval-|skip-execution|raises-exception|%%capture")
    for i, cell in cells(path, "code"):
        text = cell.source + " ".join(cell.metadata.get("tags", ()))
        assert not skipping.search(text), f"cell {i}"


def printed(cell: nbformat.NotebookNode) -> str:
    """What a cell shows as text, pictures' own words left out."""
    shown = ""
    for output in cell.outputs:
        shown += output.get("text", "")
        shown += output.get("data", {}).get("text/plain", "")
    return re.sub(r"<Figure size.*?>|<IPython.*?>", "", shown)


@each(NOTEBOOKS)
def test_every_drawn_figure_has_a_description_a_caption_and_printed_numbers(path):
    section = ""  # what was printed since the last heading
    for i, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type != "code":
            section = "" if re.search(r"^#+ ", cell.source, re.M) else section
            continue
        section += printed(cell)
        kinds = [set(output.get("data", ())) for output in cell.outputs]
        if not any(kind.startswith("image/") for data in kinds for kind in data):
            continue
        settings = cell.metadata.get("mystnb", {})
        alt = settings.get("image", {}).get("alt", "")
        assert len(alt) >= 20, f"cell {i}: say in mystnb.image.alt what is to be seen"
        figure = settings.get("figure", {})
        assert figure.get("caption"), f"cell {i}: mystnb.figure.caption is missing"
        assert figure.get("name", "").startswith("fig-"), f"cell {i}: figure.name"
        # nbval does not look at pictures, so their numbers stand beside them.
        assert re.search(r"\d", section), f"cell {i} draws numbers that none prints"


@each(NOTEBOOKS)
def test_notebooks_carry_no_trace_of_the_machine_that_ran_them(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"] == {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }, f"make execute CH={path.stem[:2]} writes it so"
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/home/|/Users/|/tmp/|[A-Z]:\\\\", text)


# --- prose --------------------------------------------------------------------------


def test_every_figure_in_prose_is_described_in_words():
    for place, text in prose().items():
        for alt in re.findall(r"!\[([^\]]*)\]\(", text):
            assert len(alt) >= 20, f"{place}: ![{alt}]"
        for block in re.findall(
            r"\{(?:figure|image)\}[^\n]*\n(.*?)\n[`:]{3}", text, re.S
        ):
            alt = re.search(r"^:alt: (.+)$", block, re.M)
            assert alt, f"{place}: a figure without :alt:"
            assert len(alt[1]) >= 20, f"{place}: {alt[1]}"


def exists(name: str) -> bool:
    """Whether ``lmlib.a.b`` is a module, or an attribute of one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("lmlib"):
                raise
            continue
        for part in parts[cut:]:
            if part in getattr(found, "__annotations__", {}):
                return True  # a field, which the class itself need not have
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_a_name_that_does_not_exist_is_noticed():
    assert exists("lmlib.vocabulary.Vocabulary.encode")
    assert not exists("lmlib.vocabulary.Vocabulary.encrypt")
    assert not exists("lmlib.nowhere")


def test_every_library_name_in_prose_exists():
    for place, text in prose().items():
        # In code or a role; a sentence's full stop does not belong to the name.
        for name in re.findall(r"`~?(lmlib(?:\.\w+)+)(?:\(\))?`", text):
            assert exists(name), f"{place} names {name}"
        for line in re.findall(r"^from lmlib[.\w]* import .+$", text, re.M):
            tree = ast.parse(line).body[0]
            for alias in tree.names:
                assert exists(f"{tree.module}.{alias.name}"), f"{place}: {line}"


def test_included_source_names_what_exists():
    pattern = r"\{literalinclude\} (\S+)\n((?::.*\n)*)"
    for place, text in prose().items():
        for file, options in re.findall(pattern, text):
            path = (BOOK / file).resolve()
            assert path.is_file(), f"{place}: {file}"
            if found := re.search(r":pyobject: (\S+)", options):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                name = module.removesuffix(".__init__") + "." + found[1]
                assert exists(name), f"{place}: {name}"


def test_every_public_module_is_described_in_the_reference():
    pages = "".join(text for place, text in prose().items() if "/api/" in place)
    entries = re.findall(r"automodule:: (\S+)\n((?:   :.*\n)*)", pages)
    described = {module for module, _ in entries}
    # A package that shows what it imports speaks for the modules within.
    packages = {module for module, options in entries if ":imported-mem" in options}
    missing = []
    for path in sorted((ROOT / "lmlib").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        module = module.removesuffix(".__init__")
        within = any(module.startswith(f"{name}.") for name in packages)
        if "._" in module or module.endswith("__main__") or within:
            continue
        if module != "lmlib" and module not in described:
            missing.append(module)
    assert not missing, f"add to book/api/*.md: {missing}"


def test_no_text_names_a_path_of_a_machine():
    machine = re.compile(r"(?<![\w.])/(?:home|Users|root|work|tmp|opt)/\w")
    for place, text in prose().items():
        assert not machine.search(text), place


def test_the_repository_has_one_address():
    address = CONFIG["repository"]["url"]
    pattern = re.compile(r"https://github\.com/[\w-]+/[\w-]+(?=[\s)\"'./]|$)")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["repository-code"] == address
    own = address.rsplit("/", 1)[1]
    for place, text in prose().items():
        for found in pattern.findall(text):
            if found.rsplit("/", 1)[1] == own:
                assert found == address, f"{place}: {found}"


def test_the_lock_pins_every_dependency_and_names_no_index():
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lock if not line.startswith("#")]
    for line in pins:
        assert re.fullmatch(r"[a-z0-9._-]+==[a-z0-9.!]+(\s+# via .*)?", line), line
    names = {re.sub(r"[-_.]+", "-", line.split("==")[0]) for line in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = list(project["project"]["dependencies"])
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    needed = {re.match(r"[\w.-]+", requirement)[0] for requirement in wanted}
    needed = {re.sub(r"[-_.]+", "-", name.lower()) for name in needed}
    assert needed <= names, "make lock"
    assert "lmlib" not in names


# --- the comparison itself ----------------------------------------------------------

SOURCES = ("print('count:', 6 * 7)", "0.25 + 0.5")
PICTURE = (
    "from IPython.display import SVG\nwidth = 42\nprint('width:', width)\n"
    'SVG(f\'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"></svg>\')'
)


@pytest.fixture(scope="module")
def small_notebook() -> nbformat.NotebookNode:
    """A number printed, a number returned, a picture: executed, with outputs."""
    from nbclient import NotebookClient

    new = nbformat.v4
    sources = [*SOURCES, PICTURE]
    notebook = new.new_notebook(cells=[new.new_code_cell(s) for s in sources])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook


def compare(notebook: nbformat.NotebookNode, folder: Path) -> tuple[bool, str]:
    """Whether nbval, as `make test` runs it, finds nothing to complain of."""
    # Writing splits the strings of the notebook that it is given into lines.
    nbformat.write(copy.deepcopy(notebook), folder / "small.ipynb")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *NBVAL]
    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), "--rootdir", ".", "small.ipynb"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode == 0, done.stdout


def change_a_printed_digit(notebook):
    """42 becomes 43."""
    output = notebook.cells[0].outputs[0]
    assert output.text == "count: 42\n"
    output.text = "count: 43\n"
    return 0


def change_a_digit_of_a_result(notebook):
    """0.75 becomes 0.76."""
    output = notebook.cells[1].outputs[0]
    assert output.data["text/plain"] == "0.75"
    output.data["text/plain"] = "0.76"
    return 1


def delete_the_outputs_of_a_cell(notebook):
    """Nothing is stored where something is printed."""
    notebook.cells[1].outputs = []
    return 1


def change_the_numbers_of_a_picture(notebook):
    """The stored picture was drawn with another width."""
    outputs = [o for o in notebook.cells[2].outputs if o.output_type == "stream"]
    outputs[0].text = outputs[0].text.replace("2", "3")
    return 2


def test_an_unchanged_notebook_passes_the_comparison(small_notebook, tmp_path):
    passed, output = compare(small_notebook, tmp_path)
    assert passed, output
    assert "3 passed" in output


@pytest.mark.parametrize(
    "damage",
    [
        change_a_printed_digit,
        change_a_digit_of_a_result,
        delete_the_outputs_of_a_cell,
        change_the_numbers_of_a_picture,
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_notebook_fails_and_the_cell_is_named(
    damage, small_notebook, tmp_path
):
    notebook = copy.deepcopy(small_notebook)
    cell = damage(notebook)
    passed, output = compare(notebook, tmp_path)
    assert not passed, inspect.getdoc(damage)
    assert f"small.ipynb::Cell {cell}" in output
    assert "1 failed" in output


def test_cleared_outputs_pass_nbval_and_are_caught_by_the_numbering(
    small_notebook, tmp_path
):
    notebook = copy.deepcopy(small_notebook)
    for cell in notebook.cells:
        cell.outputs, cell.execution_count = [], None
    assert compare(notebook, tmp_path)[0]  # why the test of the numbering exists
    with pytest.raises(AssertionError, match="make execute"):
        test_cells_were_executed_once_each_in_order_without_error(
            tmp_path / "small.ipynb"
        )
