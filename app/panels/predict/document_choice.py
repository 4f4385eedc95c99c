"""Which document a page looks at: one of the test split, or a text that somebody types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.navigation import TEST_DOCUMENT

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.core.split import Split
    from xcwork.methods.base import Documents, Method

OWN_TEXT = "own"
DOCUMENTS = {TEST_DOCUMENT: "A test document", OWN_TEXT: "Your own text"}
MAX_MATCHES = 50  # documents offered for a search
MAX_CHARACTERS = 200_000  # of a text
TEXT = "predict.text"
ORIGINAL = "predict.original"  # row of the edited document
ORIGINAL_DATA = "predict.original_data"  # its dataset
NO_ROW = -1


@dataclass(frozen=True, eq=False)
class ChosenDocument:
    """A document to predict: what methods take, its text, and what is known about it."""

    document: Documents
    text: str
    row: int | None = None  # in the test split
    original: Split | None = None  # the test document that the text was made from, alone
    original_row: int | None = None

    @property
    def is_edited(self) -> bool:
        return self.original is not None and self.original.texts != [self.text]


def choose(dataset: Dataset, model: Method) -> ChosenDocument | None:
    """Return the document of the session; None while there is no text yet."""
    where = widgets.choose_option("Document", DOCUMENTS, key="predict.where", hidden=True)
    return _choose_test_document(dataset, model) if where == TEST_DOCUMENT else _enter_text(dataset, model)


def _choose_test_document(dataset: Dataset, model: Method) -> ChosenDocument | None:
    from xcwork.data.browse import get_document_text

    test = dataset.test
    if len(test) == 0:
        widgets.show_empty("This dataset has no test documents. Type a text of your own instead.")
        return None
    row = state.limit_number("document", len(test) - 1)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.link("predict.search")
        search = st.text_input("Search", key="predict.search", placeholder="a word, a label", persist_state="session")
        st.session_state["predict.row"] = row
        st.number_input(
            f"Number, of {len(test):,}",
            0,
            len(test) - 1,
            key="predict.row",
            width=140,
            on_change=lambda: state.update(document=int(st.session_state["predict.row"]), label=""),
        )
    if search.strip():
        _offer_matches(dataset, search)
    text = get_document_text(test, row)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Another",
            key="predict.another",
            icon=":material/shuffle:",
            disabled=len(test) == 1,
            on_click=_show_another,
            args=(row, len(test)),
        )
        if model.features_.vectorizer is not None and test.texts is not None:
            st.button(
                "Edit this text",
                key="predict.edit",
                icon=":material/edit:",
                type="tertiary",
                on_click=_edit,
                args=(text, row),
                help="See how the labels change with the words.",
            )
    return ChosenDocument(test.take([row]), text, row=row)


def _show_another(row: int, n_documents: int) -> None:
    from xcwork.data.browse import choose_next_document

    state.update(document=choose_next_document(row, n_documents), label="")


def _offer_matches(dataset: Dataset, search: str) -> None:
    """Offer the documents that a search found."""
    from xcwork.analysis.paging import shorten_text
    from xcwork.data.browse import find_documents, get_document_text

    found = find_documents(dataset.test, search=search)
    if len(found) == 0:
        st.caption(f"No test document matches “{widgets.plain(search)}”.")
        return
    rows = found[:MAX_MATCHES].tolist()
    titles = {row: shorten_text(get_document_text(dataset.test, row), 90) for row in rows}
    st.selectbox(
        f"{len(found):,} found" + (f", the first {MAX_MATCHES} listed" if len(found) > MAX_MATCHES else ""),
        rows,
        index=None,
        format_func=lambda row: titles[row],
        key=f"predict.found.{search}",
        placeholder="choose one",
        on_change=_pick,
        args=(f"predict.found.{search}",),
    )


def _pick(key: str) -> None:
    if (row := st.session_state[key]) is not None:
        state.update(document=row, label="")


def _edit(text: str, row: int) -> None:
    st.session_state.update({"predict.where": OWN_TEXT, TEXT: text, ORIGINAL: row, ORIGINAL_DATA: state.view().data})


def _start_new_text() -> None:
    st.session_state.update({TEXT: "", ORIGINAL: NO_ROW})


def _enter_text(dataset: Dataset, model: Method) -> ChosenDocument | None:
    """Return the typed text; one made from a test document is ranked as that document, with its filter pairs."""
    if model.features_.vectorizer is None:
        widgets.show_empty("This dataset was loaded as ready-made features, so a text cannot be turned into them.")
        return None
    state.link(TEXT)
    # Not a form: it would forget a text that was typed but not sent when another view is opened. And no `max_chars`:
    # the browser would drop a longer text without a word.
    typed = st.text_area("Text", key=TEXT, height=200, placeholder="Type or paste.", persist_state="session")
    if not typed.strip():  # somebody begins anew, and the next text is no edit of the last document
        st.session_state[ORIGINAL] = NO_ROW
    row = _find_original_row(dataset)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Predict", key="predict.submit", type="primary")
        if row is not None:
            st.caption(f"Edited from test document {row}.")
            st.button(
                "New text",
                key="predict.new_text",
                type="tertiary",
                on_click=_start_new_text,
                help="Empties the box; the next text is compared with no document.",
            )
    if not typed.strip():
        st.caption("Type or paste a text and press Predict.")
        return None
    if widgets.warn_if_too_long(typed, MAX_CHARACTERS, "text"):
        return None
    if row is None:
        return ChosenDocument(typed, typed)
    original = dataset.test.take([row])
    return ChosenDocument(original.with_texts([typed]), typed, original=original, original_row=row)


def _find_original_row(dataset: Dataset) -> int | None:
    """Return the test document that the typed text was made from; None where it was not, or in another dataset."""
    state.link(ORIGINAL, NO_ROW)
    data, test = state.view().data, dataset.test
    if st.session_state.setdefault(ORIGINAL_DATA, data) != data:
        st.session_state.update({ORIGINAL: NO_ROW, ORIGINAL_DATA: data})
    row = st.session_state.get(ORIGINAL, NO_ROW)
    return row if test.texts is not None and 0 <= row < len(test) else None
