"""The guided notebooks run from top to bottom, and what is committed shows it: figures, no warnings, no traces.

Here they run on a third of pyseealso and with the smaller numbers of `SMALLER`: every cell, in a third of the time.
`python scripts/run_notebooks.py --check` runs them as they are.
"""

from __future__ import annotations

import ast
import base64
import getpass
import re
import resource
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from tests.support.paths import ROOT
from xcwork.data.pyseealso import load_pyseealso

sys.path.insert(0, str(ROOT / "scripts"))

import notebook_pictures
import run_notebooks

EXPECTED = (
    "00_tour",
    "01_your_own_data",
    "02_zestxml",
    "03_siamesexml",
    "04_eagle",
    "05_landmarks",
    "06_multi_head",
    "07_error_analysis",
    "08_metrics",
    "09_scale",
    "10_decisions",
)
PAGES = ("Home", "Data", "Train", "Predict", "Review", "Errors", "Compare", "Label map", "Labs")
ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|var|usr|work|Users|opt|private)/|\b[A-Z]:\\\\")
QUESTION = re.compile(r"^### Question \d", flags=re.MULTILINE)
WARNING = re.compile(r"\bWARNING\b|Warning:")  # a label may be called SomeWarning

MAX_CPU_SECONDS = 120  # of one notebook; an idle machine needs a fifth
# What a notebook says, and what is run here: fewer documents, epochs and points of a curve.
SMALLER = {
    "03_siamesexml": {
        "epochs=6, classifier_epochs=4": "epochs=1, classifier_epochs=1",
        "geomspace(1, 2000, 60)": "geomspace(1, 1000, 60)",
    },
    "04_eagle": {
        "seeds: int = 100": "seeds: int = 10",
        "repeats=10": "repeats=2",
        "n_documents=1200": "n_documents=600",
        "sizes=(1, 2, 4, 8, 16), depths=(8, 7, 6, 5)": "sizes=(1, 4), depths=(6, 5)",
        "noises=(0.0, 0.5, 1.0, 2.0, 5.0)": "noises=(0.0, 2.0)",
        "sizes, steps = (2, 4, 8, 16, 32), (0, 20)": "sizes, steps = (2, 16), (0, 20)",
    },
    "05_landmarks": {
        "n_documents=900": "n_documents=450",
        "max_rounds=300": "max_rounds=40",
        "thresholds = (1.0, 0.95, 0.92, 0.9, 0.87, 0.84, 0.0)": "thresholds = (1.0, 0.9, 0.0)",
    },
    "06_multi_head": {
        "steps=10, documents=64": "steps=2, documents=16",
        "n_documents=3000": "n_documents=1000",
        '"epochs": 8': '"epochs": 2',
        "epochs=1500, every=75": "epochs=150, every=75",
        "directions=90": "directions=9",
    },
    "09_scale": {"sizes = (500, 1000, 2000, 4000)": "sizes = (100, 200, 400)", "n_documents=5000": "n_documents=1000"},
    "10_decisions": {'plan_holding_out("auto", data.train, data.test)': 'plan_holding_out("held_out", data.train)'},
}

each_notebook = pytest.mark.parametrize("name", EXPECTED)


def committed(name: str) -> NotebookNode:
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown_texts(notebook: NotebookNode) -> Iterator[str]:
    """Everything outputs show that is text: printed lines, tables, titles inside figures."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            yield output.get("text", "")
            for kind, content in output.get("data", {}).items():
                if kind != "image/png":
                    # Arrays of figures are base64, in which any short name may occur.
                    yield re.sub(r"'bdata': '[^']*'", "", content if isinstance(content, str) else str(content))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home folder for all, in which pyseealso has every third document."""
    folder = tmp_path_factory.mktemp("home")
    whole = load_pyseealso(folder)
    (cached,) = (folder / "data" / ".cache").iterdir()
    train, test = (split.take(range(0, len(split), 3)) for split in (whole.train, whole.test))
    replace(whole, train=train, test=test).save(cached)
    return folder


def shrink(notebook: NotebookNode, smaller: dict[str, str]) -> None:
    """Put smaller numbers into the cells; each of them is there."""
    for written, run in smaller.items():
        cells = [cell for cell in code_cells(notebook) if written in cell.source]
        assert cells, f"{written!r} is not in the notebook any more"
        for cell in cells:
            cell.source = cell.source.replace(written, run)


def measure_children() -> float:
    """Processor seconds of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
@each_notebook
def test_it_runs_from_top_to_bottom(name: str, home: Path) -> None:
    notebook, before = committed(name), measure_children()
    shrink(notebook, SMALLER.get(name, {}))
    run_notebooks.execute(notebook, name, home)
    assert 1 < measure_children() - before < MAX_CPU_SECONDS
    for ran, stored in zip(code_cells(notebook), code_cells(committed(name)), strict=True):
        assert {each.output_type for each in ran.outputs} == {each.output_type for each in stored.outputs}, ran.source


def test_no_notebook_is_missing_or_unknown() -> None:
    assert sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")) == sorted(EXPECTED)


@each_notebook
def test_static_every_code_cell_ran_in_order(name: str) -> None:
    counts = [cell.execution_count for cell in code_cells(committed(name))]
    assert counts == list(range(1, len(counts) + 1)), "run: python scripts/run_notebooks.py"


@each_notebook
def test_static_outputs_are_clean(name: str) -> None:
    notebook = committed(name)
    for cell in code_cells(notebook):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
            assert not WARNING.search(output.get("text", ""))
    texts = "\n".join(shown_texts(notebook))
    assert not ABSOLUTE.search(texts), ABSOLUTE.search(texts)
    for private in (socket.gethostname(), getpass.getuser()):
        if len(private) > 4:  # "root" and "vm" are ordinary words
            assert not re.search(rf"\b{re.escape(private)}\b", texts)


@each_notebook
def test_static_figures_can_be_seen_everywhere(name: str) -> None:
    shown = [output for cell in code_cells(committed(name)) for output in notebook_pictures.figures(cell)]
    assert len(shown) >= 2
    for output in shown:
        layout = output.data[notebook_pictures.PLOTLY]["layout"]
        assert output.data.get("image/png"), "for viewers without scripts: run scripts/run_notebooks.py with chromium"
        assert len(output.data["text/plain"]) > 20, "a figure says in words what it shows"
        assert layout["template"]["layout"]["paper_bgcolor"] == "rgba(0, 0, 0, 0)"
        assert layout.get("title", {}).get("text")
        assert output.metadata["image/png"]["alt"] == output.data["text/plain"]


@each_notebook
def test_static_it_is_built_like_a_lesson(name: str) -> None:
    notebook = committed(name)
    first, last = notebook.cells[0], notebook.cells[-1]
    assert first.cell_type == last.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "What you will learn" in first.source
    assert re.search(r"\d+ minutes", first.source)
    assert "Read on" in last.source
    assert "dashboard" in last.source
    assert any(page in last.source for page in PAGES)
    formulas = [cell for cell in notebook.cells if cell.cell_type == "markdown" and "$" in cell.source]
    assert formulas, "formulas stand beside the code that computes them"


@each_notebook
def test_static_questions_check_themselves_and_hide_the_answer(name: str) -> None:
    cells = committed(name).cells
    asked = [at for at, cell in enumerate(cells) if cell.cell_type == "markdown" and QUESTION.search(cell.source)]
    assert len(asked) >= 2
    for at in asked:
        blank, checking = cells[at + 1], cells[at + 2]
        assert re.search(r"^answer = \.\.\.", blank.source, flags=re.MULTILINE)
        assert "notebook.check(answer" in checking.source
        shown = checking.outputs[0].data["text/html"]
        assert "<details>" in shown


@each_notebook
def test_static_only_the_public_interface_is_used(name: str) -> None:
    for cell in code_cells(committed(name)):
        for node in ast.walk(ast.parse(cell.source)):
            for used in _xcwork_names(node):
                assert not any(part.startswith("_") for part in used.split(".")), used


def _xcwork_names(node: Any) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "xcwork":
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "xcwork")
    elif isinstance(node, ast.Attribute):
        yield node.attr


@each_notebook
def test_static_the_file_is_small_and_the_same_everywhere(name: str) -> None:
    notebook = committed(name)
    assert (ROOT / "notebooks" / f"{name}.ipynb").stat().st_size < run_notebooks.LARGEST
    assert run_notebooks.normalised(committed(name), name) == notebook
    assert (ROOT / "docs" / "notebooks" / f"{name}.png").stat().st_size <= 150_000


def test_the_dashboard_names_notebooks_that_exist() -> None:
    from xcwork_app.panels.shared.lesson import FOLDER, read_lesson

    named = {read_lesson(file.read_text("utf-8")).notebook for file in FOLDER.glob("*.md")}
    assert named
    assert named <= {f"{name}.ipynb" for name in EXPECTED}


def test_a_failing_cell_is_named_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [nbformat.v4.new_code_cell("print('before')"), nbformat.v4.new_code_cell("1 / 0")]
    file = tmp_path / "broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    before = file.read_bytes()
    monkeypatch.setattr(run_notebooks, "NOTEBOOKS", tmp_path)
    with pytest.raises(run_notebooks.NotebookError, match=r"(?s)broken: cell 2: .*1 / 0.*ZeroDivisionError"):
        run_notebooks.run("broken", tmp_path, write=True)
    assert file.read_bytes() == before


def test_printed_text_is_joined_however_it_was_cut() -> None:
    pieces = [
        nbformat.v4.new_output("stream", name=name, text=text)
        for name, text in (("stdout", "a"), ("stdout", "b\n"), ("stderr", "c"), ("stdout", "d"))
    ]
    joined = run_notebooks.joined_streams(pieces)
    assert [(output.name, output.text) for output in joined] == [("stdout", "ab\n"), ("stderr", "c"), ("stdout", "d")]


def test_the_picture_is_that_of_the_tagged_cell_or_the_first() -> None:
    def cell(content: bytes) -> NotebookNode:
        data = {notebook_pictures.PLOTLY: {}, "image/png": base64.b64encode(content).decode()}
        return nbformat.v4.new_code_cell("figure", outputs=[nbformat.v4.new_output("display_data", data=data)])

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title"), cell(b"one"), cell(b"two")])
    assert notebook_pictures.best_picture(notebook) == b"one"
    notebook.cells[2].metadata["tags"] = ["picture"]
    assert notebook_pictures.best_picture(notebook) == b"two"
    assert notebook_pictures.best_picture(nbformat.v4.new_notebook()) is None


def test_a_name_may_be_short_and_must_exist() -> None:
    assert run_notebooks.names_of(["02"]) == ["02_zestxml"]
    with pytest.raises(run_notebooks.NotebookError, match="no notebook 77"):
        run_notebooks.names_of(["77"])
