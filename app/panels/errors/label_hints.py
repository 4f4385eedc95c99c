"""Where true labels themselves may be wrong: labels that annotators may have forgotten, or given by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import navigation, widgets
from xcwork_app.panels.shared import paged_table
from xcwork_app.views.run_findings import Findings

if TYPE_CHECKING:
    pass

KINDS = {"missing": "Likely missing", "wrong": "Likely wrong"}
TEXTS = {
    "missing": "Predicted, but not a true label, although predictions with such a score are usually right.",
    "wrong": "A true label that is ranked low, although the model finds it in most other documents that have it.",
}
COLUMNS = {
    "document": st.column_config.NumberColumn(width=80),
    "label": st.column_config.TextColumn(width="medium"),
    "text": st.column_config.TextColumn(width="large"),
    "rank": st.column_config.NumberColumn(width=70),
    "confidence": st.column_config.ProgressColumn(
        "confidence, %", format="%.0f", min_value=0, max_value=100, help="Of the predictions with a score like this"
    ),
    "suspicion": st.column_config.ProgressColumn(
        "suspicion, %",
        format="%.0f",
        min_value=0,
        max_value=100,
        help="How surely it should have been found, times how surely it was not",
    ),
    "found_elsewhere": st.column_config.NumberColumn("found elsewhere, %", format="%.0f"),
    "n_true": st.column_config.NumberColumn("true labels", width="small"),
    "test_documents": st.column_config.NumberColumn("test documents", width="small"),
    "top_label": st.column_config.TextColumn("first label instead", width="medium"),
}


def show(found: Findings) -> None:
    """Show hints to look at, the most suspicious first."""
    from xcwork.analysis.document_table import add_texts

    kind = widgets.choose_option("Hints", KINDS, key="errors.hints.kind", hidden=True)
    rows = found.likely_missing if kind == "missing" else found.likely_wrong
    if not len(rows):
        widgets.show_empty("The predictions of this run raise no such suspicion.")
        return
    st.caption(f"{TEXTS[kind]} A hint to look at, not a verdict.")
    chosen = paged_table.show(
        rows,
        key=f"errors.hints.{kind}",
        name=f"labels-likely-{kind}",
        columns=COLUMNS,
        alt=f"{len(rows):,} labels that are {KINDS[kind].lower()}, the most suspicious first",
        shape=lambda some: add_texts(
            some.drop(columns=["label_id", "uid", "score"], errors="ignore"), found.dataset.test
        ),
    )
    if chosen is not None:
        navigation.open_test_document(chosen["document"], label=str(chosen["label"]))
