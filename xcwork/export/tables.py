"""Tables as text: CSV that is safe to open in a spreadsheet, Markdown and LaTeX.

Label names and document texts come from outside. A spreadsheet runs a cell that starts with `=`, `+`, `-` or `@` as a
formula, so `render_csv` puts an apostrophe before such text (never before numbers); Markdown and LaTeX escape their own
special characters. All three take any pandas frame and leave out its index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.export.text import escape_markdown

if TYPE_CHECKING:
    import pandas as pd

BOLD = "bold"
ITALIC = "italic"
# A tab or a line break in front is dropped by some spreadsheets, which then see what follows; East Asian editions take
# the full-width forms of the signs as well.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\r": " ",
        "\n": " ",
    }
)


def render_csv(frame: pd.DataFrame) -> str:
    """Return `frame` as CSV in which no cell is a formula."""
    import pandas as pd

    columns = {}
    for at in range(frame.shape[1]):  # by position, because names may repeat
        column = frame.iloc[:, at]
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        columns[at] = column if numeric else column.astype(object).map(_disarm_formula, na_action="ignore")
    safe = pd.DataFrame(columns, index=frame.index)
    return safe.to_csv(index=False, header=[_disarm_formula(name) for name in frame.columns], lineterminator="\n")


def render_markdown(columns: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool] = ()) -> str:
    """Return a Markdown table of cells that are Markdown already; `numeric` columns are right-aligned."""
    rule = ["---:" if right else "---" for right in numeric or [False] * len(columns)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, rule, *rows))


def to_markdown(
    frame: pd.DataFrame,
    *,
    digits: int = 2,
    emphasis: np.ndarray | None = None,
    numeric: Sequence[bool] | None = None,
) -> str:
    """Return `frame` as a Markdown table; numbers are right-aligned. `emphasis` and `numeric` are as in `to_latex`."""
    cells = _format_cells(frame, digits, emphasis, escape_markdown, {BOLD: "**{}**", ITALIC: "*{}*"})
    right = _find_numeric(frame) if numeric is None else numeric
    return render_markdown([escape_markdown(name) for name in frame.columns], cells, right) + "\n"


def to_latex(
    frame: pd.DataFrame,
    *,
    digits: int = 2,
    emphasis: np.ndarray | None = None,
    numeric: Sequence[bool] | None = None,
    caption: str = "",
    label: str = "",
) -> str:
    """Return `frame` as a LaTeX table in booktabs style; numbers are right-aligned.

    `emphasis` has the shape of `frame` and says which cells are `BOLD` or `ITALIC`. `numeric` says which columns are
    right-aligned although they hold texts. With a caption it becomes a table that floats.
    """
    right = _find_numeric(frame) if numeric is None else numeric
    alignment = "".join("r" if each else "l" for each in right)
    head = " & ".join(_escape_latex(str(name)) for name in frame.columns)
    styles = {BOLD: r"\textbf{{{}}}", ITALIC: r"\textit{{{}}}"}
    cells = _format_cells(frame, digits, emphasis, _escape_latex, styles)
    body = [" & ".join(row) for row in cells]
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head + r" \\", r"\midrule"]
    lines += [row + r" \\" for row in body] + [r"\bottomrule", r"\end{tabular}"]
    if caption:
        named = [rf"\label{{{label}}}"] if label else []
        lines = [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escape_latex(caption)}}}",
            *named,
            *lines,
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


def _escape_latex(text: str) -> str:
    return text.translate(_LATEX)


def _format_cells(
    frame: pd.DataFrame, digits: int, emphasis: np.ndarray | None, escape: Callable[[str], str], styles: dict[str, str]
) -> list[list[str]]:
    """Return every cell as escaped text, emphasised where asked for."""
    rows = [[escape(_format_cell(cell, digits)) for cell in row] for row in frame.itertuples(index=False, name=None)]
    if emphasis is None:
        return rows
    return [
        [styles.get(style, "{}").format(cell) if cell else cell for cell, style in zip(row, marked, strict=True)]
        for row, marked in zip(rows, emphasis.tolist(), strict=True)
    ]


def _disarm_formula(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    # The CSV writer does not quote a lone carriage return, and readers take it for the end of the row.
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return "'" + cell if cell.startswith(_FORMULA_STARTS) else cell


def _format_cell(cell: Any, digits: int) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return ""
    if isinstance(cell, float | np.floating):
        return f"{cell:.{digits}f}"
    return str(cell)


def _find_numeric(frame: pd.DataFrame) -> list[bool]:
    import pandas as pd

    return [pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in frame.dtypes]
