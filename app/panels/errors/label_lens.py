"""One label under the lens: support, recall, ranks, what is taken for it, where it was missed, what lies near it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.shared import label_choice, paged_table
from xcwork_app.views.run_findings import Findings, choose_band

from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.analysis.label_details import LabelPage
    from xcwork.analysis.neighbours import LabelVectors
    from xcwork.core.dataset import Dataset

ORDERS = {
    "missed": "most missed first",
    "recall": "lowest recall first",
    "frequent": "most frequent first",
    "name": "by name",
}
LISTED = {
    "label": st.column_config.TextColumn(width="medium"),
    "train_documents": st.column_config.NumberColumn("train", width=60, help="Training documents that carry it"),
    "test_documents": st.column_config.NumberColumn("test", width=60, help="Test documents that carry it"),
    "missed": st.column_config.NumberColumn(width=70, help="Test documents that carry it but do not list it"),
}
DOCUMENTS = {
    "train_documents": st.column_config.NumberColumn("training documents"),
    "test_documents": st.column_config.NumberColumn("test documents"),
    "shared_documents": st.column_config.NumberColumn("documents with both", help="In the training part"),
    "shared_terms": st.column_config.TextColumn("terms in common"),
    "similarity": st.column_config.ProgressColumn(format="%.2f", min_value=0, max_value=1),
    "instead": st.column_config.NumberColumn("predicted instead", help="Documents that lack this label and have that"),
    "for_it": st.column_config.NumberColumn("missed for it", help="Documents in which this label pushed that one out"),
    "lift": st.column_config.NumberColumn(format="%.1f", help="How many times more often than by chance"),
    "label": st.column_config.TextColumn(width="medium"),
    "text": st.column_config.TextColumn(width="large"),
}


def show(found: Findings) -> None:
    """All labels to choose from, and the page of the chosen one."""
    listed, lens = st.columns([2, 3], gap="large")
    with listed:
        _list(found)
    with lens, st.container():
        chosen = label_choice.choose(found.dataset.labels, key="errors.label")
        if chosen is None:
            widgets.empty("Choose a label in the table, or type a part of its name.")
            return
        page = _page(found, chosen)
        _facts(page)
    with st.container():
        _details(page, found)


def _list(found: Findings) -> None:
    from xcwork.analysis.paging import matching

    state.link("errors.labels.order", "missed", ORDERS)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        band = choose_band(found, "errors.labels.band")
        order = st.selectbox(
            "Order",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            key="errors.labels.order",
            width=190,
            persist_state="session",
        )
    rows = matching(found.labels, where=None if band is None else {"band": [band]})
    if not len(rows):
        widgets.empty("No label is in this band.")
        return
    by = {"missed": "missed", "recall": f"recall@{found.k}", "frequent": "train_documents", "name": "label"}[order]
    rows = rows.sort_values(by, ascending=order in ("recall", "name"), kind="stable")
    shown = ["label", "missed", f"recall@{found.k}", "train_documents", "test_documents"]
    chosen = paged_table.show(
        rows,
        key="errors.labels",
        name="labels",
        columns=LISTED,
        alt="Labels with support, misses and recall",
        shape=lambda some: some[shown],
        hint="Choose a row to look at the label.",
    )
    if chosen is not None and chosen["label"] != state.view().label:
        state.update(label=str(chosen["label"]))


def _page(found: Findings, label: int) -> LabelPage:
    from xcwork.analysis.label_details import label_page

    return label_page(found.topk, found.dataset, label, k=found.k, bands=found.bands)


def _facts(page: LabelPage) -> None:
    from xcwork.viz.ranks import rank_histogram

    if page.text.strip() and page.text != page.name:
        st.caption(widgets.plain(page.text if len(page.text) <= 300 else page.text[:300] + " …"))
    widgets.metrics(
        (
            ("In training", f"{page.train_documents:,}", f"Training documents that carry it; band {page.band}."),
            ("In test", f"{page.test_documents:,}", "Test documents that carry it."),
            (f"Recall@{page.k}", _percent(page.recall), "Of its test documents, those with it among the first k."),
            (f"Precision@{page.k}", _percent(page.precision), f"Of {page.predicted:,} predictions, the right ones."),
        )
    )
    if page.test_documents:
        drawn = rank_histogram(page.ranks, title=f"Ranks of {page.name}")
        widgets.figure(drawn.update_layout(height=320), key="errors.label.ranks", name="ranks-of-label")
    else:
        st.caption("No test document carries it, so nothing can be said about its recall.")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} %"


def _details(page: LabelPage, found: Findings) -> None:
    widgets.section("Documents that miss it")
    if len(page.misses):
        columns = ["document", "state", "rank", "top_label", "text"]
        row = paged_table.show(
            page.misses,
            key=f"errors.label.misses.{page.label_id}",
            name="example-misses",
            columns=DOCUMENTS,
            alt=f"Documents that carry {page.name} but do not have it among the first {page.k}",
            shape=lambda some: some[columns],
        )
        if row is not None:
            paged_table.open_document(row["document"], label=page.name)
    else:
        st.caption("None." if page.test_documents else "No test document carries it.")
    left, right = st.columns(2, gap="large")
    with left:
        widgets.section("Taken for each other", help="Labels predicted wrongly in its place, and labels it displaces.")
        if len(page.confusable):
            labels(page.confusable, key=f"errors.label.confusable.{page.label_id}", name="confusable-labels")
        else:
            st.caption("No label stands in for it, nor it for another one.")
    with right, widgets.guarded():
        widgets.section(
            "Nearest labels", help="By the label vectors of the method, or by label texts where it has none."
        )
        near(page.label_id, found, key="errors.label.nearest")


def near(label: int, found: Findings, *, key: str) -> None:
    """The labels nearest to one; choosing a row goes there."""
    from xcwork.analysis.neighbours import nearest_labels

    known = vectors(found)
    table = nearest_labels(known, found.dataset, label)
    if not len(table):
        st.caption("This label has no vector, so nothing says what lies near it.")
        return
    labels(table, key=f"{key}.{label}", name="nearest-labels")
    st.caption(widgets.plain(f"By {known.source}."))


def labels(table: pd.DataFrame, *, key: str, name: str) -> None:
    """Labels as rows; choosing one makes it the label of the session."""
    rows = widgets.table(
        table.drop(columns="label_id"),
        key=key,
        name=name,
        columns=DOCUMENTS,
        select="single-row",
        alt=f"{len(table)} labels",
    )
    if (row := widgets.newly_chosen(rows, key)) is not None:
        state.update(label=str(table["label"].iloc[row]))
        st.rerun()


def vectors(found: Findings) -> LabelVectors:
    """The label vectors of the run."""
    folder = found.run.folder
    return _vectors(str(folder), caches.stamp(folder / "model"), found.dataset.fingerprint, found.dataset)


@st.cache_resource(max_entries=3, show_spinner="Reading the label vectors.")
def _vectors(folder: str, stamp: int, fingerprint: str, _dataset: Dataset) -> LabelVectors:
    from xcwork.analysis.neighbours import LabelVectors

    return LabelVectors.of(caches.model(Run(folder)), _dataset.labels)
