"""What if: a label that somebody types, and a text that reads a little differently."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.components.label_list import split_path
from xcwork_app.components.reason_bars import show_reason_bars
from xcwork_app.panels.predict import own_text, text_column, why_column
from xcwork_app.panels.predict.side_by_side import format_name
from xcwork_app.views import document_prediction
from xcwork_app.views.document_prediction import ChosenDocument, DocumentReasons

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.analysis.what_if import EditedText, NewLabel
    from xcwork.methods.base import Method

NEW_LABEL = "predict.new_label"
MAX_LABEL_CHARACTERS = 2000
N_CHANGES = 3
N_WORDS = 6
STATES = {"new": "new", "up": "▲", "down": "▼", "same": "", "out": "out"}


def read_new_label(chosen: ChosenDocument, model: Method) -> NewLabel | None:
    """Return how the typed label fares; None while there is none, or it cannot be."""
    from xcwork.analysis import what_if

    text = (st.session_state.get(NEW_LABEL) or st.query_params.get(NEW_LABEL, "")).strip()
    if not text or len(text) > MAX_LABEL_CHARACTERS or what_if.explain_no_new_labels(model) is not None:
        return None
    return what_if.try_label(model, chosen.document, text, k=state.view().k)


def show_new_label(model: Method, found: NewLabel | None, reasons: DocumentReasons | None) -> None:
    """Ask for a label, and show its percentage and rank, whom it displaces, and its reasons."""
    from xcwork.analysis import what_if

    with st.container(key="predict_card", border=True):
        reason = what_if.explain_no_new_labels(model)
        if reason is not None:
            st.markdown(widgets.escape_text(reason))
            return
        typed = st.text_input(
            "A label that does not exist yet",
            key=NEW_LABEL,
            placeholder="Describe a label that does not exist yet",
            bind="query-params",
            persist_state="session",
            label_visibility="collapsed",
        )
        text = (typed or "").strip()
        if (
            not text
            or widgets.warn_if_too_long(text, MAX_LABEL_CHARACTERS, "label")
            or found is None
            or reasons is None
        ):
            return
        st.markdown(widgets.escape_text(found.sentence))
        others = found.changes[(found.changes["state"] != "same") & (found.changes["label_id"] != found.label_id)]
        if len(others):
            st.html(make_changes_table(others.head(N_CHANGES)))
        view = state.view()
        show_reason_bars(
            why_column.make_new_view(reasons, view.family, view.word),
            key="predict_new_reasons",
            on_family=why_column.choose_family,
            on_word=text_column.choose_word,
        )


def show_edit(chosen: ChosenDocument, model: Method, label: str | None) -> None:
    """Show the labels of the text before and after it was edited, and what changed for one of them."""
    from xcwork.analysis.explanation_words import compare_words
    from xcwork.analysis.what_if import compare_edit

    with st.container(key="predict_card", border=True):
        if not chosen.is_edited or chosen.original is None or chosen.original.texts is None:
            st.markdown("Edit the text to see its labels before and after.")
            if chosen.row is not None and model.features_.vectorizer is not None:
                st.button(
                    "Edit this text",
                    key="predict.edit_here",
                    icon=":material/edit:",
                    on_click=text_column.edit_document,
                    args=(chosen.text, chosen.row),
                )
            return
        found = compare_edit(model, chosen.original, chosen.text, k=state.view().k)
        st.markdown(f"**Before and after** · test document {(chosen.original_row or 0) + 1:,}")
        st.caption(widgets.escape_text(found.sentence))
        st.html(make_changes_table(found.changes))
        if label is not None:
            before, after = (
                document_prediction.group_reasons(model, text, model.explain(document, label)).grouped
                for text, document in ((chosen.original.texts[0], chosen.original), (chosen.text, chosen.document))
            )
            st.markdown(describe_label_change(found, label, before.score, after.score))
            st.html(make_words_table(compare_words(before, after)))
        st.button("Back to the original", key="predict.restore", on_click=restore_original, args=(chosen,))


def describe_label_change(found: EditedText, label: str, before: float, after: float) -> str:
    """Return how one label fares before and after an edit, as Markdown: percentages where there are any, and scores."""
    name = f"**{widgets.escape_text(label)}**"
    shares = found.find_probabilities(label)
    if all(share is None for share in shares):
        return f"{name}: score {before:.4g} before, {after:.4g} after"
    old, new = ("not listed" if share is None else f"**{_show_share(share)}**" for share in shares)
    return f"{name}: {old} before, {new} after (score {before:.4g}, then {after:.4g})"


def restore_original(chosen: ChosenDocument) -> None:
    """Give the text of the test document back."""
    if chosen.original is not None and chosen.original.texts and chosen.original_row is not None:
        own_text.edit_document(chosen.original.texts[0], chosen.original_row)


def make_changes_table(changes: pd.DataFrame) -> str:
    """Return percentages and ranks before and after as HTML."""
    rows = []
    for each in changes.itertuples():
        path, name = split_path(str(each.label))
        rows.append(
            f'<tr><td class="predict-name"><small>{format_name(path)}</small>{format_name(name)}</td>'
            f"<td>{_show_place(each.rank_before, each.probability_before)}</td>"
            f"<td>{_show_place(each.rank_after, each.probability_after)}</td><td>{STATES[str(each.state)]}</td></tr>"
        )
    head = '<tr><th>Label</th><th>before</th><th>after</th><th class="predict-change"></th></tr>'
    return f'<table class="predict-ranks"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def make_words_table(changes: Sequence[tuple[str, float]]) -> str:
    """Return the words that add more or less than before as HTML; the smaller changes are one row."""
    if not changes:
        return '<p class="predict-note">No word adds more or less than before.</p>'
    rows = [(word, change) for word, change in changes[:N_WORDS]]
    if rest := changes[N_WORDS:]:
        rows.append((f"{len(rest):,} smaller changes", sum(change for _, change in rest)))
    cells = "".join(f"<tr><td>{escape(word)}</td><td>{change:+.3g}</td></tr>" for word, change in rows)
    return f'<table class="predict-ranks"><tbody>{cells}</tbody></table>'


def _show_place(rank: object, share: float) -> str:
    """Return the percentage with the rank below it; the rank alone where there is no percentage."""
    if rank is None or str(rank) == "<NA>":
        return "–"
    return str(rank) if share != share else f"<b>{_show_share(share)}</b><small>rank {rank}</small>"


def _show_share(share: float) -> str:
    return "< 1 %" if share < 0.005 else f"{100 * share:.0f} %"
