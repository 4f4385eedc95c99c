"""Tables as text: CSV that is safe to open in a spreadsheet, Markdown and LaTeX.

Label names and document texts come from outside. A spreadsheet runs a cell that starts with `=`, `+`, `-` or `@` as a
formula, so `safe_csv` puts an apostrophe before such text (never before numbers); Markdown and LaTeX escape their own
special characters. All three take any pandas frame and leave out its index.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

BOLD, ITALIC = "bold", "italic"
_MARKDOWN = re.compile(r"([\\`*~|$\[\]]|(?<!\w)_|_(?!\w))")  # an underscore inside a word is one
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


def safe_csv(frame: pd.DataFrame) -> str:
    """`frame` as CSV in which no cell is a formula."""
    import pandas as pd

    columns = {}
    for at in range(frame.shape[1]):  # by position, because names may repeat
        column = frame.iloc[:, at]
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        columns[at] = column if numeric else column.astype(object).map(_harmless, na_action="ignore")
    safe = pd.DataFrame(columns, index=frame.index)
    return safe.to_csv(index=False, header=[_harmless(name) for name in frame.columns], lineterminator="\n")


def to_markdown(frame: pd.DataFrame, *, digits: int = 2, emphasis: np.ndarray | None = None) -> str:
    """`frame` as a Markdown table; numbers stand right. `emphasis` is as in `to_latex`."""
    numeric = _numeric(frame)
    rule = ["---:" if right else "---" for right in numeric]
    cells = _cells(frame, digits, emphasis, _markdown, {BOLD: "**{}**", ITALIC: "*{}*"})
    rows = [list(map(_markdown, map(str, frame.columns))), rule, *cells]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def to_latex(frame: pd.DataFrame, *, digits: int = 2, emphasis: np.ndarray | None = None) -> str:
    """`frame` as a LaTeX table in booktabs style; numbers stand right.

    `emphasis` has the shape of `frame` and says which cells are `BOLD` or `ITALIC`.
    """
    alignment = "".join("r" if right else "l" for right in _numeric(frame))
    head = " & ".join(str(name).translate(_LATEX) for name in frame.columns)
    styles = {BOLD: r"\textbf{{{}}}", ITALIC: r"\textit{{{}}}"}
    cells = _cells(frame, digits, emphasis, lambda text: text.translate(_LATEX), styles)
    body = [" & ".join(row) for row in cells]
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head + r" \\", r"\midrule"]
    lines += [row + r" \\" for row in body] + [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _cells(
    frame: pd.DataFrame, digits: int, emphasis: np.ndarray | None, escape: Callable[[str], str], styles: dict[str, str]
) -> list[list[str]]:
    """Every cell as escaped text, emphasised where asked for."""
    rows = [[escape(_text(cell, digits)) for cell in row] for row in frame.itertuples(index=False, name=None)]
    if emphasis is None:
        return rows
    return [
        [styles.get(style, "{}").format(cell) if cell else cell for cell, style in zip(row, marked, strict=True)]
        for row, marked in zip(rows, emphasis.tolist(), strict=True)
    ]


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    # The CSV writer does not quote a lone carriage return, and readers take it for the end of the row.
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return "'" + cell if cell.startswith(_FORMULA_STARTS) else cell


def _markdown(text: str) -> str:
    """Text that no Markdown reader takes for a link, an image, a formula, emphasis or HTML."""
    one_line = " ".join(re.split(r"[\r\n\t\v\f\u2028\u2029]+", text))
    return _MARKDOWN.sub(r"\\\1", one_line.replace("&", "&amp;")).replace("<", "&lt;")


def _text(cell: Any, digits: int) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return ""
    if isinstance(cell, float | np.floating):
        return f"{cell:.{digits}f}"
    return str(cell)


def _numeric(frame: pd.DataFrame) -> list[bool]:
    import pandas as pd

    return [pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in frame.dtypes]
