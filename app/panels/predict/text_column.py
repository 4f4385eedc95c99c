"""The left column: the text, in which words that support or oppose the label are marked; one's own can be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.components.marked_text import TextMark, grade_contribution, show_marked_text
from xcwork_app.components.text_editor import show_text_editor
from xcwork_app.panels.predict import document_choice, own_text
from xcwork_app.views import document_prediction
from xcwork_app.views.document_prediction import ChosenDocument, DocumentReasons

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

MIN_MARKED_SHARE = 0.05  # of the strongest word; weaker ones are left unmarked, or every word of a long text would be
MAX_SHOWN_CHARACTERS = 100_000  # of a test document; nobody reads more in a column
MAX_EXAMPLE_CHARACTERS = 400


def make_marks(reasons: DocumentReasons | None, family: str) -> list[TextMark]:
    """Return where the words of the text stand that count for or against the label."""
    if reasons is None:
        return []
    values = document_prediction.weigh_words(reasons, family)
    largest = document_prediction.find_largest(values)
    best = max(values.values(), default=0.0)
    return [
        TextMark(word.start, word.end, grade_contribution(value, best), word.form, format_contribution(reasons, value))
        for word in reasons.words
        if (value := values.get(word.form, 0.0)) and abs(value) >= MIN_MARKED_SHARE * largest
    ]


def format_contribution(reasons: DocumentReasons, value: float) -> str:
    """Return what a word adds, as it is shown beside its bar."""
    return f"{value:+.{reasons.grouped.decimals}f}"


def choose_word(word: str) -> None:
    """Open a word, or close it if it is open."""
    state.update(word="" if state.view().word == word else word)


def show_test_text(chosen: ChosenDocument, reasons: DocumentReasons | None, model: Method) -> None:
    """Show a test document with its marks."""
    with st.container(key="predict_text_head", horizontal=True, vertical_alignment="center"):
        st.markdown("**Text**", width="content")
        st.space("stretch")
        if model.features_.vectorizer is not None and isinstance(chosen.row, int):
            st.button(
                "Edit",
                key="predict.edit",
                icon=":material/edit:",
                type="tertiary",
                on_click=edit_document,
                args=(chosen.text, chosen.row),
                help="Edit a copy and see how its labels change.",
            )
    marks = make_marks(reasons, state.view().family)
    with st.container(key="predict_text"):
        show_marked_text(
            chosen.text[:MAX_SHOWN_CHARACTERS],
            [mark for mark in marks if mark.end <= MAX_SHOWN_CHARACTERS],
            key="predict_marked_text",
            label="Text",
            chosen=state.view().word,
            on_choose=choose_word,
            height="window",
            has_border=True,
        )


def edit_document(text: str, row: int) -> None:
    """Make the text of a test document one's own."""
    st.session_state[document_choice.PLACE] = document_choice.OWN_TEXT
    own_text.edit_document(text, row)
    state.update(family="", word="", more=0)


def show_own_text(chosen: ChosenDocument | None, reasons: DocumentReasons | None, dataset: Dataset) -> None:
    """Show the text that somebody types, with its marks."""
    text = own_text.read_text()
    with st.container(key="predict_text_head", horizontal=True, vertical_alignment="center"):
        st.markdown("**Text**", width="content")
        if chosen is not None and chosen.original_row is not None:
            st.caption(f"Edited from document {chosen.original_row + 1:,}", width="content")
        st.space("stretch")
        if text.strip():
            st.button(
                "Clear",
                key="predict.new_text",
                icon=":material/close:",
                type="tertiary",
                on_click=_write,
                args=("",),
                help="Empties the box, to start with a new text.",
            )
        elif dataset.test.texts:
            example = dataset.test.texts[0][:MAX_EXAMPLE_CHARACTERS]
            st.button("Try an example", key="predict.example", type="tertiary", on_click=_write, args=(example,))
    too_long = len(text) > document_choice.MAX_CHARACTERS
    if too_long:
        widgets.warn_if_too_long(text, document_choice.MAX_CHARACTERS, "text")
    with st.container(key="predict_text"):
        show_text_editor(
            text,
            [] if too_long else make_marks(reasons, state.view().family),
            key="predict_text_editor",
            label="Your text",
            placeholder="Type or paste a text.",
            chosen=state.view().word,
            on_edit=_write,
            on_choose=choose_word,
            height="window",
            has_border=True,
        )


def _write(text: str) -> None:
    own_text.write_text(text)
    state.update(word="", more=0)
