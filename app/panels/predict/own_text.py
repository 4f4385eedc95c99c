"""The text that somebody types on Predict, and the test document that it was made from.

The editor is a component, and a component cannot bind itself to the address as widgets do. So a short text is written
there from here, under the name that a widget would have; a longer one stays with the session.
"""

from __future__ import annotations

import streamlit as st
from xcwork_app import state

TEXT = "predict.text"
ORIGINAL = "predict.original"  # row of the edited document
ORIGINAL_DATA = "predict.original_data"  # its dataset
NO_ROW = -1
MAX_DIGITS = 9


def read_text() -> str:
    """Return the text: that of the address, else what was typed in this session."""
    asked = st.query_params.get(TEXT)
    if asked is not None:
        st.session_state[TEXT] = asked
    text = st.session_state.get(TEXT, "")
    _share(TEXT, text)
    return text


def write_text(text: str) -> None:
    """Take what was typed; an empty text is no edit of a document any more."""
    st.session_state[TEXT] = text.replace("\r\n", "\n").replace("\r", "\n")
    _share(TEXT, st.session_state[TEXT])
    if not text.strip():
        _write_original(NO_ROW)


def edit_document(text: str, row: int) -> None:
    """Begin with the text of a test document."""
    write_text(text)
    _write_original(row)


def find_original(n_documents: int) -> int | None:
    """Return the test document that the text was made from; None where it was not, or in another dataset."""
    data, asked = state.view().data, st.query_params.get(ORIGINAL, "")
    if asked.isdecimal() and asked.isascii() and len(asked) <= MAX_DIGITS:
        st.session_state[ORIGINAL] = int(asked)
    if st.session_state.setdefault(ORIGINAL_DATA, data) != data:
        _write_original(NO_ROW)
    row = st.session_state.get(ORIGINAL, NO_ROW)
    _share(ORIGINAL, "" if row == NO_ROW else str(row))
    return row if 0 <= row < n_documents else None


def _write_original(row: int) -> None:
    st.session_state.update({ORIGINAL: row, ORIGINAL_DATA: state.view().data})
    _share(ORIGINAL, "" if row == NO_ROW else str(row))


def _share(key: str, text: str) -> None:
    """Let the address say it where it is short enough."""
    if text and len(text) <= state.MAX_LINK_CHARACTERS:
        if st.query_params.get(key) != text:
            st.query_params[key] = text
    elif key in st.query_params:
        del st.query_params[key]
