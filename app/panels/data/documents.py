"""The documents of a dataset with their labels: searched, paged, exported."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.sources import Source

from xcwork.paths import find_home

PAGE_ROWS = 8
COLUMNS = {
    "row": None,
    "uid": st.column_config.TextColumn("document", width=180),
    "text": st.column_config.TextColumn(width=330),
    "labels": st.column_config.TextColumn(width=180),
}
SPLITS = {"training": "train", "test": "test"}


def show(source: Source) -> None:
    """Show a page of documents."""
    from xcwork.data.browse import make_documents_table

    with st.container(key="data_search", horizontal=True, vertical_alignment="center"):
        word = st.segmented_control(
            "Split",
            list(SPLITS),
            default="training",
            key="data.part",
            bind="query-params",
            required=True,
            label_visibility="collapsed",
        )
        search = st.text_input(
            "Search in texts and labels",
            key="data.search",
            placeholder="Find a word or a label",
            icon=":material/search:",
            bind="query-params",
            label_visibility="collapsed",
        )
        turning = st.container(width="content")
    part = SPLITS.get(word or "", "train")
    split = getattr(caches.get_dataset(source), part)
    rows = _find_rows(source.id, str(find_home()), source.make_stamp(), part, search)
    if not len(rows):
        widgets.show_empty(
            f"No document contains “{widgets.escape_text(search)}”. Try a shorter word, or the other split."
        )
        return
    pages = math.ceil(len(rows) / PAGE_ROWS)
    with turning:
        page = st.pagination(pages, key=f"data.page.{part}.{search}") if pages > 1 else 1
    shown = rows[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    first = (page - 1) * PAGE_ROWS + 1
    widgets.show_table(
        make_documents_table(split, shown),
        key="data.documents",
        name=f"documents-{part}",
        alt=f"{len(shown)} documents with their labels",
        export=lambda: make_documents_table(split, rows),
        columns=COLUMNS,
        note=f"Documents {first:,} to {first + len(shown) - 1:,} of {len(rows):,}; the file holds all of them.",
    )


@st.cache_data(max_entries=20, show_spinner=False)
def _find_rows(identity: str, folder: str, stamp: str, part: str, search: str) -> np.ndarray:
    from xcwork.data.browse import find_documents

    return find_documents(getattr(caches.get_dataset(Source.from_id(identity)), part), search=search)
