"""Label details: support, recall, ranks, what is taken for it, where it was missed, what lies near it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import navigation, state, widgets
from xcwork_app.panels.shared import label_choice, label_tables, paged_table
from xcwork_app.panels.shared.label_bands import choose_band
from xcwork_app.views.run_findings import Findings

if TYPE_CHECKING:
    from xcwork.analysis.label_details import LabelPage

ORDERS = {
    "missed": "most missed first",
    "recall": "lowest recall first",
    "frequent": "most frequent first",
    "name": "by name",
}
LABELS = {
    "label": st.column_config.TextColumn(width="medium"),
    "train_documents": st.column_config.NumberColumn("train", width=60, help="Training documents that have it"),
    "test_documents": st.column_config.NumberColumn("test", width=60, help="Test documents that have it"),
    "missed": st.column_config.NumberColumn(width=70, help="Test documents that have it but do not list it"),
}
MISSES = {
    "text": st.column_config.TextColumn(width="large"),
}


def show(found: Findings) -> None:
    """Show all labels to choose from, and the page of the chosen one."""
    from xcwork.analysis.label_details import label_page

    left, right = st.columns([2, 3], gap="large")
    with left:
        _show_list(found)
    with right, st.container():
        chosen = label_choice.choose_label(found.dataset.labels, key="errors.label")
        if chosen is None:
            widgets.show_empty("Choose a label in the table, or type a part of its name.")
            return
        page = label_page(found.topk, found.dataset, chosen, k=found.k, bands=found.bands)
        _show_facts(page)
    with st.container():
        _show_details(page, found)


def _show_list(found: Findings) -> None:
    from xcwork.analysis.paging import filter_rows

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
    rows = filter_rows(found.labels, where=None if band is None else {"band": [band]})
    if not len(rows):
        widgets.show_empty("No label is in this band.")
        return
    by = {"missed": "missed", "recall": f"recall@{found.k}", "frequent": "train_documents", "name": "label"}[order]
    rows = rows.sort_values(by, ascending=order in ("recall", "name"), kind="stable")
    shown = ["label", "missed", f"recall@{found.k}", "train_documents", "test_documents"]
    chosen = paged_table.show(
        rows,
        key="errors.labels",
        name="labels",
        columns=LABELS,
        alt="Labels with support, misses and recall",
        shape=lambda some: some[shown],
        hint="Choose a row to look at the label.",
    )
    if chosen is not None and chosen["label"] != state.view().label:
        state.update(label=str(chosen["label"]))


def _show_facts(page: LabelPage) -> None:
    from xcwork.viz.ranks import rank_histogram

    if page.text.strip() and page.text != page.name:
        st.caption(widgets.plain(page.text if len(page.text) <= 300 else page.text[:300] + " …"))
    widgets.show_metrics(
        (
            ("In training", f"{page.train_documents:,}", f"Training documents that have it; band {page.band}."),
            ("In test", f"{page.test_documents:,}", "Test documents that have it."),
            (
                f"Recall@{page.k}",
                _format_percent(page.recall),
                "Of its test documents, those with it among the first k.",
            ),
            (
                f"Precision@{page.k}",
                _format_percent(page.precision),
                f"Of {page.predicted:,} predictions, the right ones.",
            ),
        )
    )
    if page.test_documents:
        drawn = rank_histogram(page.ranks, title=f"Ranks of {page.name}")
        widgets.show_figure(drawn.update_layout(height=320), key="errors.label.ranks", name="ranks-of-label")
    else:
        st.caption("No test document has it, so nothing can be said about its recall.")


def _format_percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} %"


def _show_details(page: LabelPage, found: Findings) -> None:
    widgets.show_section("Documents that miss it")
    if len(page.misses):
        columns = ["document", "state", "rank", "top_label", "text"]
        row = paged_table.show(
            page.misses,
            key=f"errors.label.misses.{page.label_id}",
            name="example-misses",
            columns=MISSES,
            alt=f"Documents that have {page.name} but do not have it among the first {page.k}",
            shape=lambda some: some[columns],
        )
        if row is not None:
            navigation.open_test_document(row["document"], label=page.name)
    else:
        st.caption("None." if page.test_documents else "No test document has it.")
    left, right = st.columns(2, gap="large")
    with left:
        widgets.show_section(
            "Taken for each other", help="Labels predicted wrongly in its place, and labels it displaces."
        )
        if len(page.confusable):
            label_tables.show_labels(
                page.confusable, key=f"errors.label.confusable.{page.label_id}", name="confusable-labels"
            )
        else:
            st.caption("No label stands in for it, nor it for another one.")
    with right, widgets.catch_errors():
        widgets.show_section(
            "Nearest labels", help="By the label vectors of the method, or by label texts where it has none."
        )
        label_tables.show_nearest_labels(page.label_id, found, key="errors.label.nearest")
