"""Small pieces of HTML for notebooks: tables and bars that need no script and no style sheet.

Colours are semi-transparent or inherited, so that the output reads well on light and on dark pages. Everything that is
shown is escaped here. A bar is drawn by a background; where a viewer removes styles, the numbers are still there.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

from xcwork.export.text import clean_text

FOR_COLOUR = "rgba(0, 114, 178, 0.55)"  # blue
AGAINST_COLOUR = "rgba(213, 94, 0, 0.55)"  # vermilion; the number beside it has a sign
CELL_STYLE = "padding: .15em .6em; vertical-align: top; text-align: "
BAR_WIDTH_EM = 9


class Bar(NamedTuple):
    """A number drawn as a bar; `share` (0 to 1) is its length."""

    share: float
    is_for: bool = True


def escape_html(text: object) -> str:
    """Return `text` as HTML that shows exactly this text, in content and in quoted attributes."""
    return html.escape(clean_text(text))


def render_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, digits: int = 4, caption: str = "", empty: str = ""
) -> str:
    """Return an HTML table of texts, numbers and bars.

    Numbers are right-aligned and None is a dash. A table without rows shows `empty`, if that is given.
    """
    title = f"<caption>{escape_html(caption)}</caption>" if caption else ""
    head = "".join(f'<th scope="col" style="{CELL_STYLE}left">{escape_html(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(_render_cell(cell, digits) for cell in row)}</tr>" for row in rows)
    if not body and empty:
        body = f'<tr><td colspan="{len(columns)}">{escape_html(empty)}</td></tr>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def render_paragraph(text: str) -> str:
    """Return a line of text."""
    return f"<p>{escape_html(text)}</p>"


def render_heading(text: str) -> str:
    """Return a line that says what the output is about."""
    return f"<p><b>{escape_html(text)}</b></p>"


def scale_bars(values: Sequence[float]) -> list[Bar]:
    """Return one bar per value; the largest absolute value has the longest."""
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    return [Bar(abs(value) / largest, value >= 0) for value in values]


def _render_cell(cell: Any, digits: int) -> str:
    if isinstance(cell, Bar):
        width = BAR_WIDTH_EM * min(max(cell.share, 0.0), 1.0)
        colour = FOR_COLOUR if cell.is_for else AGAINST_COLOUR
        style = f"display: inline-block; height: .8em; width: {width:.2f}em; background: {colour}"
        cell_style = f"{CELL_STYLE}left; min-width: {BAR_WIDTH_EM}em"
        return f'<td style="{cell_style}"><span aria-hidden="true" style="{style}"></span></td>'
    if cell is None or cell != cell:  # NaN is not equal to itself
        return f'<td style="{CELL_STYLE}right">–</td>'
    if isinstance(cell, str):
        return f'<td style="{CELL_STYLE}left">{escape_html(cell)}</td>'
    shown = f"{cell:,}" if isinstance(cell, Integral) else f"{cell:,.{digits}f}"
    return f'<td style="{CELL_STYLE}right">{shown}</td>'
