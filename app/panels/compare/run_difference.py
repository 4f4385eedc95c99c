"""A reference run and the others: differences with intervals, and the documents and labels they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, navigation, state, widgets
from xcwork_app.panels.compare import run_choice
from xcwork_app.panels.shared import paged_table
from xcwork_app.views import run_comparison
from xcwork_app.views.run_comparison import ComparedRuns

if TYPE_CHECKING:
    pass

METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
USUAL_METRICS = ("P@1", "P@5", "PSP@5")
DOCUMENTS = {
    "document": st.column_config.NumberColumn(width=80),
    "state": st.column_config.TextColumn(width="small"),
    "won_labels": st.column_config.TextColumn("✓ only this run finds", width="medium"),
    "lost_labels": st.column_config.TextColumn("✗ only the reference finds", width="medium"),
    "text": st.column_config.TextColumn(width="large"),
}
P_VALUES = {"p_value": st.column_config.NumberColumn("p", format="%.3f")}
STATES = ("fixed", "broken", "mixed")


def show_differences(chosen: ComparedRuns) -> None:
    """Show every other run minus the reference, with 95 % intervals."""
    from xcwork.viz.comparison import delta_dots

    with st.container(horizontal=True, vertical_alignment="bottom"):
        if (reference := run_choice.choose_reference(chosen)) is None:
            return
        metrics = widgets.choose_several("Metrics", METRICS, USUAL_METRICS, key="compare.metrics")
    if not metrics:
        st.caption("Choose a metric.")
        return
    drawn = delta_dots(
        run_comparison.compute_differences(chosen, reference), reference=chosen.names[reference], metrics=metrics
    )
    widgets.show_figure(drawn, key="compare.deltas", name="differences", columns=P_VALUES)


def show_changes(chosen: ComparedRuns) -> None:
    """Show the documents that a run fixes and breaks, and the labels that this is about."""
    from xcwork.analysis.document_table import add_texts

    with st.container(horizontal=True, vertical_alignment="bottom"):
        if (reference := run_choice.choose_reference(chosen)) is None:
            return
        run = run_choice.choose_other(chosen, reference)
        states = widgets.choose_several("Documents", STATES, STATES[:2], key="compare.states")
    k = state.view().k
    found = run_comparison.find_changes(chosen, run, reference, k)
    st.markdown(f"Against {widgets.plain(chosen.names[reference])}, among the first {k} labels: **{found.sentence}**")
    dataset = caches.get_dataset(chosen.source)
    columns = ["document", "state", "won_labels", "lost_labels"]
    rows = found.documents[found.documents["state"].isin(states)]
    if len(rows):
        rows = rows.sort_values(["won", "lost"], ascending=False, kind="stable")
        row = paged_table.show(
            rows,
            key="compare.documents",
            name="documents-fixed-and-broken",
            columns=DOCUMENTS,
            alt=found.sentence,
            shape=lambda some: add_texts(some[columns], dataset.test),
            hint="Choose a row to open the document on the Predict page with this run.",
        )
        if row is not None:
            navigation.open_test_document(row["document"], run=run)
    else:
        widgets.show_empty("No document of this kind.")
    left, right = st.columns([2, 3], gap="large")
    with left:
        widgets.show_section("By band")
        widgets.show_table(
            found.bands,
            key="compare.changes.bands",
            name="changes-by-band",
            alt="True labels won and lost in each band",
        )
    with right:
        widgets.show_section("By label")
        widgets.show_table(
            found.labels.drop(columns="label_id"),
            key="compare.changes.labels",
            name="changes-by-label",
            alt="True labels won and lost, the largest change first",
            height=240,
        )
