"""Small pieces of HTML for notebooks: tables and bars that need no script and no style sheet.

Colours are semi-transparent or inherited, so that the output reads well on light and on dark pages. Everything that is
shown is escaped here. A bar is drawn by a background; where a viewer removes styles, the numbers are still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Integral
from typing import NamedTuple

FOR, AGAINST = "rgba(0, 114, 178, 0.55)", "rgba(213, 94, 0, 0.55)"  # blue and vermilion, with a sign in the number
CELL = "padding: .15em .6em; vertical-align: top; text-align: "
BAR_WIDTH = 9  # em


class Bar(NamedTuple):
    """A number drawn as a bar; `share` (0 to 1) is its length."""

    share: float
    is_for: bool = True


Cell = str | int | float | Bar | None


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, digits: int = 4) -> str:
    """An HTML table; numbers stand right, None is a dash."""
    head = "".join(f'<th scope="col" style="{CELL}left">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(_cell(cell, digits) for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str) -> str:
    """A line of text."""
    return f"<p>{escape(text)}</p>"


def heading(text: str) -> str:
    """What the output is about."""
    return f"<p><b>{escape(text)}</b></p>"


def bars(values: Sequence[float]) -> list[Bar]:
    """One bar a value, the largest size being the longest."""
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    return [Bar(abs(value) / largest, value >= 0) for value in values]


def _cell(cell: Cell, digits: int) -> str:
    if isinstance(cell, Bar):
        width = BAR_WIDTH * min(max(cell.share, 0.0), 1.0)
        style = (
            f"display: inline-block; height: .8em; width: {width:.2f}em; background: {FOR if cell.is_for else AGAINST}"
        )
        return f'<td style="{CELL}left; min-width: {BAR_WIDTH}em"><span aria-hidden="true" style="{style}"></span></td>'
    if cell is None or cell != cell:  # NaN is not equal to itself
        return f'<td style="{CELL}right">–</td>'
    if isinstance(cell, str):
        return f'<td style="{CELL}left">{escape(cell)}</td>'
    shown = f"{cell:,}" if isinstance(cell, Integral) else f"{cell:,.{digits}f}"
    return f'<td style="{CELL}right">{shown}</td>'
