"""The documents of a dataset with their labels: searched, paged, exported."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.sources import Source

from xcwork.paths import home

PAGE = 10
WIDTHS = {"row": "small", "uid": "medium", "text": "large", "labels": "medium"}
PARTS = {"train": "Training part", "test": "Test part"}


def show(source: Source) -> None:
    """A page of documents."""
    from xcwork.data.browse import documents_table

    state.link("data.search")
    part_column, search_column = st.columns([1, 2])
    with part_column:
        part = widgets.switch("Part", PARTS, key="data.part")
    with search_column:
        search = st.text_input("Search in texts and labels", key="data.search", placeholder="a word, a label")
    split = getattr(caches.dataset(source), part)
    rows = _found(source.id, str(home()), source.stamp(), part, search)
    if not len(rows):
        widgets.empty(f"No document contains “{widgets.plain(search)}”. Try a shorter word, or the other part.")
        return
    pages = math.ceil(len(rows) / PAGE)
    page = st.pagination(pages, key=f"data.page.{part}.{search}") if pages > 1 else 1
    shown = rows[(page - 1) * PAGE : page * PAGE]
    widgets.table(
        documents_table(split, shown),
        key="data.documents",
        name=f"documents-{part}",
        alt=f"{len(shown)} documents with their labels",
        export=lambda: documents_table(split, rows),
        columns={name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items()},
    )
    first = (page - 1) * PAGE + 1
    st.caption(f"Documents {first:,} to {first + len(shown) - 1:,} of {len(rows):,}. The export holds all of them.")


@st.cache_data(max_entries=20, show_spinner=False)
def _found(identity: str, folder: str, stamp: str, part: str, search: str) -> np.ndarray:
    from xcwork.data.browse import find_documents

    return find_documents(getattr(caches.dataset(Source.parse(identity)), part), search=search)
