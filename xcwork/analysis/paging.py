"""Large tables a page at a time: search, filter, sort, cut, and say how much there is.

A browser is never sent more than a thousand rows. The full table stays here, and exports are made from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.labels import LabelSpace

MAX_ROWS_PER_PAGE = 1000


@dataclass(frozen=True, eq=False)
class Page:
    """Some rows of a table, and how many there are in all."""

    rows: pd.DataFrame
    total: int
    start: int = 0

    @property
    def caption(self) -> str:
        """What is shown, in words."""
        if not len(self.rows):
            return "no rows"
        return f"rows {self.start + 1:,} to {self.start + len(self.rows):,} of {self.total:,}"


def take_page(
    table: pd.DataFrame,
    *,
    search: str = "",
    within: Sequence[str] | None = None,
    where: Mapping[str, Collection[Any]] | None = None,
    sort: str | Sequence[str] | None = None,
    descending: bool = False,
    start: int = 0,
    size: int = 100,
) -> Page:
    """Return at most `size` rows of `table` from `start`, after searching, filtering and sorting.

    `search` is looked for in the text columns (or those in `within`), whatever the case; `where` maps a column to the
    values that may stand in it.
    """
    found = filter_rows(table, search=search, within=within, where=where)
    if sort is not None:
        found = found.sort_values(
            sort if isinstance(sort, str) else list(sort), ascending=not descending, kind="stable"
        )
    if not 1 <= size <= MAX_ROWS_PER_PAGE:
        raise ConfigError(f"a page has 1 to {MAX_ROWS_PER_PAGE} rows, got {size}")
    start = min(max(start, 0), max(0, len(found) - 1) // size * size)  # a page that no longer exists becomes the last
    return Page(found.iloc[start : start + size].reset_index(drop=True), len(found), start)


def filter_rows(
    table: pd.DataFrame,
    *,
    search: str = "",
    within: Sequence[str] | None = None,
    where: Mapping[str, Collection[Any]] | None = None,
) -> pd.DataFrame:
    """Return the rows of `table` that `take_page` would page through, for exports."""
    import pandas as pd

    keep = np.ones(len(table), dtype=bool)
    for column, allowed in (where or {}).items():
        keep &= table[column].isin(list(allowed)).to_numpy()
    wanted = search.strip().lower()
    if wanted:
        columns = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c].dtype)]
        hit = np.zeros(len(table), dtype=bool)
        for column in columns if within is None else within:
            hit |= np.fromiter((wanted in str(cell).lower() for cell in table[column].tolist()), bool, len(table))
        keep &= hit
    return table[keep]


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
