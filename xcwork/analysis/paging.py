"""Rows of large tables and labels of large label sets by what somebody types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.labels import LabelSpace


def filter_rows(
    table: pd.DataFrame,
    *,
    search: str = "",
    within: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the rows of `table` with `search` in a text column (or one in `within`), whatever the case."""
    import pandas as pd

    wanted = search.strip().lower()
    if not wanted:
        return table
    columns = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c].dtype)]
    hit = np.zeros(len(table), dtype=bool)
    for column in columns if within is None else within:
        hit |= np.fromiter((wanted in str(cell).lower() for cell in table[column].tolist()), bool, len(table))
    return table[hit]


def find_labels(labels: LabelSpace, search: str, *, limit: int = 20) -> list[int]:
    """Return ids of labels whose name contains `search`: equal names first, then names that start with it."""
    wanted = search.strip().lower()
    if not wanted:
        return []
    ranked: tuple[list[int], list[int], list[int]] = ([], [], [])
    for label, name in enumerate(labels.names):
        lower = name.lower()
        if wanted in lower:
            ranked[0 if lower == wanted else 1 if lower.startswith(wanted) else 2].append(label)
    return [label for some in ranked for label in some][:limit]


def look_up_names(labels: LabelSpace, ids: np.ndarray) -> list[str | None]:
    """Return the names of some labels; None for a missing slot (-1)."""
    return [None if label < 0 else labels.names[label] for label in np.asarray(ids).tolist()]


def shorten_text(text: str, length: int = 200) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"
