"""A reference run and the others: differences with intervals, and the documents and labels they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.shared import paged_table
from xcwork_app.views import run_comparison
from xcwork_app.views.run_comparison import Compared

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset

METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
USUAL = ("P@1", "P@5", "PSP@5")
DOCUMENTS = {
    "document": st.column_config.NumberColumn(width=80),
    "state": st.column_config.TextColumn(width="small"),
    "won_labels": st.column_config.TextColumn("✓ only this run finds", width="medium"),
    "lost_labels": st.column_config.TextColumn("✗ only the reference finds", width="medium"),
    "text": st.column_config.TextColumn(width="large"),
}


P_VALUES = {"p_value": st.column_config.NumberColumn("p", format="%.3f")}
STATES = ("fixed", "broken", "mixed")


def deltas(chosen: Compared) -> None:
    """Every other run minus the reference, with 95 % intervals."""
    from xcwork.viz.comparison import delta_dots

    with st.container(horizontal=True, vertical_alignment="bottom"):
        if (reference := run_comparison.choose_reference(chosen)) is None:
            return
        metrics = widgets.several("Metrics", METRICS, USUAL, key="compare.metrics")
    if not metrics:
        st.caption("Choose a metric.")
        return
    drawn = delta_dots(run_comparison.deltas(chosen, reference), reference=chosen.names[reference], metrics=metrics)
    widgets.figure(drawn, key="compare.deltas", name="differences", columns=P_VALUES)


def changes(chosen: Compared) -> None:
    """The documents that a run fixes and breaks, and the labels that this is about."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if (reference := run_comparison.choose_reference(chosen)) is None:
            return
        run = run_comparison.choose_other(chosen, reference)
        states = widgets.several("Documents", STATES, STATES[:2], key="compare.states")
    k = state.view().k
    found = run_comparison.changes(chosen, run, reference, k)
    st.markdown(f"Against {widgets.plain(chosen.names[reference])}, among the first {k} labels: **{found.sentence}**")
    dataset = caches.dataset(chosen.source)
    rows = found.documents[found.documents["state"].isin(states)]
    if len(rows):
        rows = rows.sort_values(["won", "lost"], ascending=False, kind="stable")
        row = paged_table.show(
            rows,
            key="compare.documents",
            name="documents-fixed-and-broken",
            columns=DOCUMENTS,
            alt=found.sentence,
            shape=lambda some: _with_texts(some, dataset),
            hint="Choose a row to open the document on the Predict page with this run.",
        )
        if row is not None:
            paged_table.open_document(row["document"], run=run)
    else:
        widgets.empty("No document of this kind.")
    left, right = st.columns([2, 3], gap="large")
    with left:
        widgets.section("By band")
        widgets.table(
            found.bands,
            key="compare.changes.bands",
            name="changes-by-band",
            alt="True labels won and lost in each band",
        )
    with right:
        widgets.section("By label")
        widgets.table(
            found.labels.drop(columns="label_id"),
            key="compare.changes.labels",
            name="changes-by-label",
            alt="True labels won and lost, the largest change first",
            height=240,
        )


def _with_texts(rows: pd.DataFrame, dataset: Dataset) -> pd.DataFrame:
    from xcwork.analysis.paging import snippet
    from xcwork.data.browse import document_text

    texts = [snippet(document_text(dataset.test, i)) for i in rows["document"].tolist()]
    return rows[["document", "state", "won_labels", "lost_labels"]].assign(text=texts)
