"""Several runs on one document: the papers' table of top predictions, with agreement and mistakes marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.predict.document_choice import ChosenDocument
from xcwork_app.views import selection

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.runs import Run

MAX_RUNS = 6


def show(chosen: ChosenDocument, run: Run, dataset: Dataset) -> None:
    """Show the grid of runs and ranks, and which labels they share."""
    from xcwork.analysis.agreement import agreement_grid, tabulate_agreement

    runs = {
        each.id: each
        for each in selection.list_runs(selection.get_source())
        if caches.get_record(each)["state"] == "finished"
    }
    titles = {name: selection.describe_run(each) for name, each in runs.items()}
    usual = (run.id, *(name for name in runs if name != run.id))[:3]
    state.link("predict.runs", usual, runs)
    picked = st.multiselect(
        "Runs", list(runs), format_func=titles.__getitem__, max_selections=MAX_RUNS, key="predict.runs"
    )
    if not picked:
        st.caption("Choose runs to put side by side.")
        return
    k = state.view().k
    predictions = {titles[name]: caches.get_model(runs[name]).predict(chosen.document, k) for name in picked}
    truth = None if chosen.row is None else dataset.test.Y[[chosen.row]].indices.tolist()
    table = tabulate_agreement(predictions, dataset.labels, truth=truth, k=k)
    widgets.show_table(
        agreement_grid(table),
        key="predict.grid",
        name="runs-side-by-side",
        alt=f"The first {k} labels of {len(picked)} runs for this document",
    )
    if truth is not None:
        st.caption("✓ right, ✗ wrong.")
    shared = table[table["runs"] == len(picked)]["label"].unique()
    if len(picked) > 1:
        names = ", ".join(widgets.plain(name) for name in shared) or "none"
        st.caption(f"In the list of every run: {names}.")
