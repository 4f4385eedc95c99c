"""Test documents with what a run found in them, missed and predicted wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import navigation, state, widgets
from xcwork_app.panels.shared import paged_table
from xcwork_app.panels.shared.label_bands import choose_band
from xcwork_app.views.run_findings import Findings

if TYPE_CHECKING:
    import pandas as pd

STATES = {
    "missed": "Something missed",
    "nothing": "Nothing found",
    "all": "All found",
    "any": "Any",
}
ORDERS = {"worst": "worst first", "missed": "most missed first", "number": "by number"}
COLUMNS = {
    "document": st.column_config.NumberColumn(width=80),
    "text": st.column_config.TextColumn(width="medium"),
    "found": st.column_config.TextColumn("✓ found", width="medium"),
    "missed": st.column_config.TextColumn("○ missed", width="medium"),
    "wrong": st.column_config.TextColumn("✗ wrong", width="medium"),
    "first_hit": st.column_config.NumberColumn("first hit", width=80, help="The rank of its first correct label"),
}


def show(found: Findings) -> None:
    """Show the documents that a search and filters leave, the worst first."""
    state.link("errors.documents.search")
    state.link("errors.documents.state", "missed", STATES)
    state.link("errors.documents.order", "worst", ORDERS)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", key="errors.documents.search", placeholder="a word, a label", width=260)
        kind = st.selectbox(
            "Documents",
            list(STATES),
            format_func=STATES.__getitem__,
            key="errors.documents.state",
            width=200,
            persist_state="session",
        )
        band = choose_band(found, "errors.documents.band")
        order = st.selectbox(
            "Order",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            key="errors.documents.order",
            width=180,
            persist_state="session",
        )
    rows = _sort_documents(_filter_documents(found, search, kind, band), found.k, order)
    if not len(rows):
        widgets.show_empty("No test document fits this search and these filters.")
        return
    chosen = paged_table.show(
        rows,
        key="errors.documents",
        name="documents-of-run",
        columns=COLUMNS,
        alt="Test documents with the labels that were found, missed and predicted wrongly",
        shape=lambda some: _add_names(some, found),
    )
    if chosen is not None:
        navigation.open_test_document(chosen["document"])


def _filter_documents(found: Findings, search: str, kind: str, band: str | None) -> pd.DataFrame:
    from xcwork.data.browse import find_documents

    table, k = found.documents, found.k
    hits, misses = table[f"hits@{k}"], table[f"misses@{k}"]
    keep = {
        "missed": misses > 0,
        "nothing": (hits == 0) & (misses > 0),
        "all": (misses == 0) & (hits > 0),
        "any": hits >= 0,
    }[kind].to_numpy()
    if band is not None:
        # Misses of the band, or where nothing was missed, its labels.
        lost = found.missed.loc[found.missed["band"] == band, "document"]
        having = found.placement.documents[found.bands.names_of(found.placement.truth.indices) == band]
        keep = keep & np.isin(table["document"], having if kind in ("all", "any") else lost)
    if search.strip():
        keep = keep & np.isin(table["document"], find_documents(found.dataset.test, search=search))
    return table[keep]


def _sort_documents(rows: pd.DataFrame, k: int, order: str) -> pd.DataFrame:
    if order == "number":
        return rows
    by = [f"nDCG@{k}", f"misses@{k}"] if order == "worst" else [f"misses@{k}", f"nDCG@{k}"]
    return rows.sort_values(by, ascending=[order == "worst", order != "worst"], kind="stable")


def _add_names(rows: pd.DataFrame, found: Findings) -> pd.DataFrame:
    from xcwork.analysis.document_table import add_names

    named = add_names(rows, found.topk, found.dataset, k=found.k)
    return named[["document", "text", "found", "missed", "wrong", f"P@{found.k}", "first_hit"]]
