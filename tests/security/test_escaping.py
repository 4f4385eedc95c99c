"""Label and document text from untrusted files, wherever it is shown or written: it stays text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner
from xcwork_app import widgets

from tests.support.paths import ROOT
from xcwork.cli import app as command_line
from xcwork.export.tables import render_csv, to_latex, to_markdown
from xcwork.runs import Run, RunStore, worker
from xcwork.viz.run_report import render_report

SCRIPT = "<script>alert(1)</script>"
HOSTILE = (
    SCRIPT,
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "$\\href{javascript:alert(1)}{x}$",
    ":material/home:",
    ":red[x]",
    "`x`",
    "**x**",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(1)",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20SUM(1)",
    "\t=1",
    "\r=1",
    "\x1b[2Jgone",
    "\x1b]0;title\x07",
    "\u202etxt.exe",
    "\\input{/etc/passwd}",
    "%x",
    "a|b",
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_spreadsheet_runs_nothing(text: str) -> None:
    made = render_csv(pd.DataFrame({"label": [text], text: [1]}))
    for row in csv.reader(io.StringIO(made, newline="")):
        assert not any(
            cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")) for cell in row
        )


@pytest.mark.parametrize("text", HOSTILE)
def test_an_exported_markdown_table_holds_no_link_image_formula_or_tag(text: str) -> None:
    head, _, row = to_markdown(pd.DataFrame({text: [text]})).splitlines()
    for cell in (head[2:-2], row[2:-2]):
        assert not re.search(r"(?<!\\)[\[\]`*~$|]", cell)
        assert "<" not in cell


@given(some.text(some.characters(exclude_categories=["Cs"]), max_size=40))
def test_an_exported_table_has_one_row_a_row(text: str) -> None:
    frame = pd.DataFrame({"label": [text, "next"]})
    assert len(re.split(r"[\r\n\u2028\u2029]", to_markdown(frame).rstrip("\n"))) == 4
    assert to_latex(frame).count("\n") == 8


@pytest.mark.parametrize("text", HOSTILE)
def test_a_latex_table_holds_no_command(text: str) -> None:
    row = to_latex(pd.DataFrame({"label": [text]})).splitlines()[4]
    cell = row.removesuffix(r" \\")
    known = r"\\(?:textbackslash|textasciitilde|textasciicircum|textless|textgreater)\{\}|\\[&%$#_{}]"
    assert not re.search(r"[\\&%$#{}~^]", re.sub(known, "", cell))


@pytest.mark.parametrize("text", HOSTILE)
def test_plain_text_is_nothing_but_text_in_markdown(text: str) -> None:
    shown = widgets.escape_text(text)
    assert not re.search(r"(?<!\\)[\[\]()<>`*_$:!]", shown.replace("\\\\", ""))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a finished run whose labels, documents, name and notes are hostile."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "data").mkdir()
    rows = [(f"{label} document {i} word{i % 5}", label) for i in range(6) for label in HOSTILE]
    with (folder / "data" / "hostile.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "labels"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(folder))
        made = RunStore(folder).create("nearest_documents", {}, folder / "data" / "hostile.csv", name=f"run {SCRIPT}")
        assert worker.main(made.folder) == 0, made.read_log()
        st.cache_data.clear()
        st.cache_resource.clear()
        yield folder


def run_of(home: Path) -> Run:
    return RunStore(home).open("last")


def test_the_report_holds_no_script_of_theirs(home: Path) -> None:
    page = render_report([run_of(home)])
    assert SCRIPT not in page
    assert "onerror=alert" not in re.sub(r"&lt;img[^<]*", "", page)
    assert "default-src 'none'" in page
    own = re.findall(r"<script[^>]*>", page)
    assert not [tag for tag in own if "src=" in tag]


@pytest.mark.parametrize("file", ["per_label.csv", "per_document.csv", "errors.csv"])
def test_stored_tables_start_no_formula(home: Path, file: str) -> None:
    content = (run_of(home).folder / "eval" / file).read_text("utf-8")
    rows = list(csv.reader(io.StringIO(content, newline="")))
    assert len(rows) > 1
    for row in rows[1:]:
        for cell in row:
            assert not cell.startswith(("=", "+", "@", "\t", "\r")), cell
            assert not cell.startswith("-") or re.fullmatch(r"-\d+(\.\d+)?(e-?\d+)?", cell), cell


@pytest.mark.parametrize(
    "verb",
    [
        ("runs",),
        ("runs", "--json"),
        ("describe", "hostile.csv"),
        ("evaluate", "last"),
        ("datasets",),
        ("predict", "last", "--text", "\x1b[2J document"),
        ("predict", "last", "--text", "\x1b[2J document", "--json"),
    ],
    ids=" ".join,
)
def test_the_command_line_sends_no_escape_codes(home: Path, verb: tuple[str, ...]) -> None:
    done = CliRunner().invoke(command_line, [*verb, "--home", str(home)])
    assert done.exit_code == 0, done.stderr
    assert not OBEYED.search(done.stdout + done.stderr)


MARKDOWN_OF = ("markdown", "caption", "error", "warning", "info", "success", "title", "header", "subheader", "expander")


@pytest.mark.parametrize("page", ["home", "data", "predict", "errors", "compare"])
def test_no_page_shows_text_of_theirs_as_markup(home: Path, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XCWORK_HOME", str(home))
    app = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=300)
    app.query_params.update({"data": "hostile.csv", "run": run_of(home).id})
    app.switch_page(f"app_pages/{page}.py").run()
    assert not app.exception
    shown = [
        getattr(item, "value", None) or getattr(item, "label", "") for kind in MARKDOWN_OF for item in app.get(kind)
    ]
    shown += [button.label for button in app.button] + [metric.label for metric in app.metric]
    assert shown
    for text in map(str, shown):
        for hostile in HOSTILE[:7]:
            assert hostile not in text, f"{hostile} is markup in {text!r}"
