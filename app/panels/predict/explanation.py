"""Why a label has its score: the active pairs of document and label terms, as bars, as a table and in the text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.panels.predict.document_choice import ChosenDocument
from xcwork_app.panels.shared.label_choice import get_wanted_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xcwork.core.explanation import Explanation
    from xcwork.methods.base import Method

MAX_PARTS = 12
TEXT_HEIGHT_PIXELS = 300
COLUMNS = {
    "pairs": st.column_config.NumberColumn("seen together", help="(document, label) pairs with both terms"),
    "relevant": st.column_config.NumberColumn("of these relevant, %", format="%.1f"),
}


def choose_label(model: Method, offered: Sequence[str]) -> str | None:
    """Return the label to explain: one of those listed, or any other by name."""
    from xcwork.analysis.paging import find_labels

    wanted = get_wanted_label(model.labels_)
    options = list(dict.fromkeys([*([wanted] if wanted else []), *offered]))
    st.session_state["predict.label"] = wanted or (options[0] if options else None)
    name = st.selectbox(
        "Label",
        options,
        key="predict.label",
        index=None,
        accept_new_options=True,
        placeholder="choose one, or type the name of any label",
        on_change=lambda: state.update(label=st.session_state["predict.label"] or ""),
    )
    if not name or name in offered:
        return name
    found = find_labels(model.labels_, name, limit=1)
    if not found:
        st.warning(f"There is no label with “{widgets.plain(name)}” in its name.", icon=":material/warning:")
        return None
    return model.labels_.names[found[0]]


def show(explanation: Explanation) -> None:
    """Show the bars, and the numbers behind them."""
    from xcwork.analysis.explanation_view import make_view
    from xcwork.viz.explanations import explanation_waterfall

    shown = make_view(explanation, limit=MAX_PARTS)
    if not shown.n_parts:
        st.info(
            f"There is no evidence in this document for or against {widgets.plain(shown.label)}.",
            icon=":material/info:",
        )
        return
    widgets.show_figure(explanation_waterfall(shown), key="predict.why", name="explanation", columns=COLUMNS)
    if not shown.exact:
        st.caption("This method's parts are approximate: they explain only a part of the score.")


def show_text(chosen: ChosenDocument, explanation: Explanation | None, model: Method) -> None:
    """Show the document, its terms marked by what they add to the score."""
    from xcwork.analysis.explanation_view import find_explanation_spans
    from xcwork.analysis.text_spans import highlight_terms

    marks = [] if explanation is None else find_explanation_spans(chosen.text, explanation, model.features_)
    marked = highlight_terms(chosen.text, marks) if marks else escape(chosen.text).replace("\n", "<br>")
    with st.container(height=TEXT_HEIGHT_PIXELS, border=True):
        st.html(f'<div style="line-height: 1.6">{marked}</div>')
    if marks:
        st.caption("Marked: terms that count for the label (solid line) or against it (dashed); stronger counts more.")
