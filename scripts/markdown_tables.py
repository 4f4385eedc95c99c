"""Rows of figures as a Markdown table: numbers as people write them, the best of a column in bold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

EXPONENTS = ("exponent", "last step", "measured", "between the two largest sizes", "measured, memory")
PERCENTAGES = ("P@", "PSP@", "nDCG@", "unseen")

# heading: (column of the results, which is best: max, min or neither)
Columns = Mapping[str, tuple[str, Callable | None]]


def table(rows: Sequence[Mapping[str, Any]], columns: Columns) -> str:
    """Rows as Markdown; columns without a figure are left out, the best of a column is bold."""
    kept = {heading: of for heading, of in columns.items() if any(_there(row.get(of[0])) for row in rows)}
    lines = [list(kept), ["---" if _text(rows, of) else "--:" for of, _ in kept.values()]]
    best = {of: _best(rows, of, choose) for of, choose in kept.values()}
    for row in rows:
        cells = [figure(row.get(of), of) for of, _ in kept.values()]
        lines.append(
            [
                f"**{cell}**" if best[of] is not None and cell == figure(best[of], of) else cell
                for cell, (of, _) in zip(cells, kept.values(), strict=True)
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    return column in ("method", "system", "setting", "source") or all(isinstance(row.get(column), str) for row in rows)


def _there(value: Any) -> bool:
    return value is not None and value == value and value != ""


def _best(rows: Sequence[Mapping[str, Any]], column: str, choose: Callable | None) -> float | None:
    numbers = [row[column] for row in rows if isinstance(row.get(column), int | float) and _there(row[column])]
    return choose(numbers) if choose and len(numbers) > 1 else None


def figure(value: Any, column: str = "") -> str:
    """A number as people write it: percentages with two decimals, others with three digits."""
    if not _there(value):
        return "–"
    if isinstance(value, str):
        return value.replace("|", "\\|")
    if column.startswith(PERCENTAGES) or column in EXPONENTS:
        return f"{value:.2f}"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        return "0" if abs(value) < 0.0005 else f"{value:.4f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if abs(value) < 1 else f"{value:.3g}"
