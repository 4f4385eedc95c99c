"""What if: a label that somebody types, and a text that reads a little differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.panels.predict.document_choice import ChosenDocument

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.base import Method

RANKS = ("label", "rank_before", "rank_after", "change", "score_before", "score_after", "state")
MAX_LABEL_CHARACTERS = 2000


def show_new_label(chosen: ChosenDocument, model: Method) -> None:
    """Ask for a label, and show its rank, its pairs and whom it displaces."""
    from xcwork.analysis import what_if
    from xcwork.analysis.explanation_view import make_view
    from xcwork.viz.explanations import explanation_waterfall

    reason = what_if.why_no_new_labels(model)
    if reason is not None:
        st.info(widgets.plain(reason), icon=":material/info:")
        return
    state.link("predict.new_label")
    typed = st.text_input(
        "A label that does not exist yet",
        key="predict.new_label",
        placeholder="describe it in a few words",
        persist_state="session",
        help="Nothing is stored: the model is asked about this label and forgets it.",
    )
    st.button("Try it", key="predict.try_label")
    if not typed.strip() or widgets.warn_if_too_long(typed, MAX_LABEL_CHARACTERS, "label"):
        return
    found = what_if.try_label(model, chosen.document, typed, k=state.view().k)
    st.markdown(f"**{widgets.plain(found.sentence)}**")
    left, right = st.columns(2, gap="large")
    with left:
        _show_ranks(found.changes, "predict.new_ranks")
    with right:
        shown = make_view(found.explanation)
        if shown.n_parts:
            widgets.show_figure(explanation_waterfall(shown), key="predict.new_why", name="new-label")


def show_edit(chosen: ChosenDocument, model: Method, label: str | None) -> None:
    """Show the labels of the text before and after it was edited, and what changed for one of them."""
    from xcwork.analysis.explanation_view import compare_explanations
    from xcwork.analysis.what_if import compare_edit
    from xcwork.viz.explanations import explanation_difference

    if not chosen.is_edited:
        st.caption("Press “Edit this text” at a test document, change some words and press Predict.")
        return
    found = compare_edit(model, chosen.original, chosen.text, k=state.view().k)
    st.markdown(f"Against test document {chosen.original_row}: **{widgets.plain(found.sentence)}**")
    left, right = st.columns(2, gap="large")
    with left:
        _show_ranks(found.changes, "predict.edited_ranks")
    if label is not None:
        with right:
            changes = compare_explanations(model.explain(chosen.original, label), model.explain(chosen.document, label))
            st.caption(f"What changed for {widgets.plain(label)}")
            widgets.show_figure(explanation_difference(changes), key="predict.edited_why", name="changes")


def _show_ranks(changes: pd.DataFrame, key: str) -> None:
    widgets.show_table(
        changes[list(RANKS)],
        key=key,
        name="rank-changes",
        alt="Ranks before and after",
        columns={
            "rank_before": st.column_config.NumberColumn("before"),
            "rank_after": st.column_config.NumberColumn("after"),
            "score_before": st.column_config.NumberColumn("score before", format="%.4f"),
            "score_after": st.column_config.NumberColumn("score after", format="%.4f"),
        },
    )
