"""The card on the right: the reference against one run, document by document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, navigation, state, tokens, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list, split_path
from xcwork_app.panels.compare import run_choice
from xcwork_app.panels.shared.segment_bar import BarPart, show_segment_bar
from xcwork_app.views import run_comparison
from xcwork_app.views.run_comparison import ComparedRuns

from xcwork.analysis.agreement import ALIKE, BETTER, MIXED, WORSE

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.analysis.agreement import Changes
    from xcwork.core.dataset import Dataset

STATES = (BETTER, MIXED, ALIKE, WORSE)
SIGNS = {BETTER: "right", MIXED: "unsure", WORSE: "wrong", ALIKE: ""}
WORDS = {"right": "better", "unsure": "mixed", "wrong": "worse"}
ROWS_AT_ONCE = 100


def show_difference(chosen: ComparedRuns, reference: str) -> None:
    """Show how many documents are better, mixed, alike and worse, and list them."""
    with st.container(key="compare_difference", border=True):
        with st.container(key="compare_difference_bar", horizontal=True, vertical_alignment="center"):
            st.html('<div class="errors-title">Against</div>', width="content")
            other = run_choice.choose_other(chosen, reference)
            st.space("stretch")
            st.caption(widgets.escape_text(phrase_difference(chosen, reference, other)), width="content")
        k = state.view().k
        changes = run_comparison.find_changes(chosen, reference, other, k)
        wanted = state.pick_option("change", STATES, "", "“all”")
        looks = {
            BETTER: tokens.get_look(caches.glance(chosen.find_run(reference)).number).colour,
            MIXED: "var(--not_listed_1)",
            ALIKE: "var(--track)",
            WORSE: tokens.get_look(caches.glance(chosen.find_run(other)).number).colour,
        }
        show_segment_bar(
            [BarPart(name, f"Documents: {name}", changes.counts[name], looks[name]) for name in STATES],
            key="compare_change",
            chosen=wanted,
            on_choose=lambda name: state.update(change="" if name == wanted else name),
        )
        st.html(_render_counts(changes, k))
        _show_documents(chosen, changes, reference, other, wanted)


def _render_counts(changes: Changes, k: int) -> str:
    counts = changes.counts
    better = "document better" if counts[BETTER] == 1 else "documents better"
    first = "the first label" if k == 1 else f"the first {k} labels"
    return (
        f'<div class="compare-counts"><span><b>{counts[BETTER]:,}</b> {better}</span>'
        f"<span><b>{counts[MIXED]:,}</b> mixed</span><span><b>{counts[ALIKE]:,}</b> alike</span>"
        f'<span class="errors-muted">{first}</span><span><b>{counts[WORSE]:,}</b> worse</span></div>'
    )


def phrase_difference(chosen: ComparedRuns, reference: str, other: str) -> str:
    """Return which of the two runs is better at P@1, by how much, and whether it may be chance."""
    deltas = run_comparison.compute_differences(chosen, reference)
    row = deltas[(deltas["run"] == chosen.names[other]) & (deltas["metric"] == "P@1")].iloc[0]
    difference, low, high = -row["difference"], -row["high"], -row["low"]  # of the reference
    told = f"P@1 {_format_signed(difference)}, between {_format_signed(low)} and {_format_signed(high)}"
    return told if row["significant"] else f"{told}: may be chance"


def _format_signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−")  # no "−0.0"


def _show_documents(chosen: ComparedRuns, changes: Changes, reference: str, other: str, wanted: str) -> None:
    dataset = caches.get_dataset(chosen.source)
    rows = changes.documents
    if wanted == ALIKE:
        rows = rows.head(0)
    elif wanted:
        rows = rows[rows["state"] == wanted]
    rows = rows.assign(size=(rows["won"] - rows["lost"]).abs())  # clear cases first
    rows = rows.sort_values(["size", "document"], ascending=[False, True])
    names = {BETTER: chosen.names[reference], WORSE: chosen.names[other]}
    picked = show_label_list(
        [LabelGroup([_make_row(row, dataset, names) for row in rows.head(ROWS_AT_ONCE).itertuples()])],
        key="compare_documents",
        label="Documents",
        selected=state.view().opened,
        sign_words=WORDS,
        empty="Both runs find the same true labels in these documents."
        if wanted in ("", ALIKE)
        else "No such document.",
        height="stretch",
    )
    with st.container(key="compare_foot", horizontal=True, vertical_alignment="center"):
        shown = min(ROWS_AT_ONCE, len(rows))
        st.caption(f"1 to {shown:,} of {len(rows):,}" if len(rows) else "0 documents")
        st.space("stretch")
        widgets.show_export_button(
            lambda: rows.drop(columns="size"), key="compare.documents.export", name="better-and-worse-documents"
        )
    if picked is not None and picked.isdecimal():
        state.update(opened=picked)  # the way back returns to this row
        navigation.open_other_runs(int(picked), reference)


def _make_row(row: pd.Series, dataset: Dataset, names: dict[str, str]) -> LabelRow:
    from xcwork.analysis.agreement import SEPARATOR
    from xcwork.analysis.paging import shorten_text
    from xcwork.data.browse import get_document_text

    uids = dataset.test.uids
    name = uids[row.document] if uids is not None else shorten_text(get_document_text(dataset.test, row.document), 60)
    won, lost = (
        ", ".join(split_path(label)[1] for label in labels.split(SEPARATOR) if label)
        for labels in (row.won_labels, row.lost_labels)
    )
    told = [f"only {names[BETTER]} finds {won}"] if won else []
    told += [f"only {names[WORSE]} finds {lost}"] if lost else []
    return LabelRow(str(row.document), name, below="; ".join(told), sign=SIGNS[row.state], value=row.state)
