"""Tables as text: nothing in a cell can do harm or break the table."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.export.tables import BOLD, ITALIC, render_csv, to_latex, to_markdown


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", '=HYPERLINK("x")'])
def test_formulas_become_text(cell):
    rows = list(csv.reader(io.StringIO(render_csv(pd.DataFrame({"label": [cell]})), newline="")))
    assert rows == [["label"], ["'" + cell]]


@pytest.mark.parametrize("ending", ["\r", "\r\n", "\n"])
def test_a_line_break_inside_a_cell_starts_no_new_row(ending):
    text = render_csv(pd.DataFrame({"label": [f"x{ending}=1"], "row": [0]}))
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["label", "row"], ["x\n=1", "0"]]


def test_numbers_and_ordinary_text_stay_as_they_are():
    frame = pd.DataFrame({"value": [-1.5, 2.0], "count": [-1, 1], "label": ["a-b", "c=d"], "nothing": [None, "x"]})
    assert render_csv(frame) == "value,count,label,nothing\n-1.5,-1,a-b,\n2.0,1,c=d,x\n"


def test_headers_categories_and_repeated_names_are_covered():
    frame = pd.DataFrame([["=a", "=b"]], columns=["=x", "=x"])
    frame.insert(2, "kind", pd.Categorical(["=c"]))
    assert render_csv(frame) == "'=x,'=x,kind\n'=a,'=b,'=c\n"


@given(st.lists(st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")), min_size=1))
def test_no_cell_ever_starts_a_formula(cells):
    frame = pd.DataFrame({"label": cells, "row": range(len(cells))})
    read = list(csv.reader(io.StringIO(render_csv(frame), newline="")))[1:]
    assert len(read) == len(cells)
    for (found, _), cell in zip(read, cells, strict=True):
        assert found in (plain := cell.replace("\r\n", "\n").replace("\r", "\n"), "'" + plain)
        assert not found.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_the_frame_itself_is_not_changed():
    frame = pd.DataFrame({"label": ["=1"]})
    render_csv(frame)
    assert frame["label"].tolist() == ["=1"]


def test_markdown():
    frame = pd.DataFrame({"label": ["a|b", "<i>\nx"], "P@1": [1.0, 2.345], "good": [True, False]})
    assert to_markdown(frame) == (
        "| label | P@1 | good |\n| --- | ---: | --- |\n| a\\|b | 1.00 | True |\n| &lt;i&gt; x | 2.35 | False |\n"
    )


def test_latex():
    frame = pd.DataFrame({"label_id": ["50 % & {x}", None], "P@1": [1.0, float("nan")]})
    assert to_latex(frame, digits=1) == (
        "\\begin{tabular}{lr}\n\\toprule\nlabel\\_id & P@1 \\\\\n\\midrule\n"
        "50 \\% \\& \\{x\\} & 1.0 \\\\\n &  \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


def test_emphasis_marks_cells_and_never_what_is_empty():
    frame = pd.DataFrame({"run": ["a_b", "c"], "P@1": [1.0, None]})
    emphasis = np.array([["", BOLD], [ITALIC, BOLD]], dtype=object)
    assert to_markdown(frame, emphasis=emphasis).splitlines()[2:] == ["| a_b | **1.00** |", "| *c* |  |"]
    assert to_latex(frame, emphasis=emphasis).splitlines()[4:6] == [r"a\_b & \textbf{1.00} \\", r"\textit{c} &  \\"]
