"""A long table a page at a time, whose rows lead somewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import widgets

if TYPE_CHECKING:
    import pandas as pd

PAGE_ROWS = 10
ROW_HINT = "Choose a row to open the document on the Predict page."


def show(
    found: pd.DataFrame,
    *,
    key: str,
    name: str,
    alt: str,
    shape: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    columns: Mapping[str, Any] | None = None,
    hint: str = ROW_HINT,
    size: int = PAGE_ROWS,
) -> pd.Series | None:
    """Show some rows of `found`, with the export of all of them; return the row that was chosen just now.

    `shape` makes what is shown of some rows: it looks up names and texts for a page, not for the whole table.
    """
    shape = shape or (lambda rows: rows)
    body = st.container()
    start = widgets.choose_page(len(found), size, key=f"{key}.page")
    rows = found.iloc[start : start + size]
    with body:
        # A selection belongs to the rows it was made in, so other rows are another table.
        chosen = widgets.show_table(
            shape(rows),
            key=f"{key}.{hash(tuple(rows.index))}",
            name=name,
            alt=alt,
            columns=columns,
            select="single-row",
            export=lambda: shape(found),
        )
    last = start + len(rows)
    st.caption(f"Rows {start + 1:,} to {last:,} of {len(found):,}. {hint}" if len(found) > size else hint)
    at = widgets.take_new_choice(chosen, key)
    return None if at is None else rows.iloc[at]
