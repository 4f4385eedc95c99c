"""Which document a page looks at: one of the test part, or a text that somebody types."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import streamlit as st

from app import state, ui

if TYPE_CHECKING:
    from xcwork.data.dataset import Dataset
    from xcwork.methods.base import Documents, Method

TEST, OWN = "test", "own"
WHERE = {TEST: "A test document", OWN: "Your own text"}
MATCHES = 50  # documents offered for a search
LONGEST = 200_000  # characters of a text


@dataclass(frozen=True, eq=False)
class Chosen:
    """A document to predict: what methods take, its text, and what is known about it."""

    document: Documents
    text: str
    row: int | None = None  # in the test part
    original: str = ""  # the text it was made from, where somebody edited one

    @property
    def is_edited(self) -> bool:
        return bool(self.original) and self.original != self.text


def choose(dataset: Dataset, model: Method) -> Chosen | None:
    """The document of the session; None while there is no text yet."""
    state.link("predict.where", TEST, WHERE)
    where = ui.switch("Document", WHERE, key="predict.where", hidden=True)
    return _test_document(dataset, model) if where == TEST else _own_text(model)


def _test_document(dataset: Dataset, model: Method) -> Chosen | None:
    from xcwork.data.browse import document_text

    test = dataset.test
    if len(test) == 0:
        ui.empty("This dataset has no test documents. Type a text of your own instead.")
        return None
    row = min(state.view().document, len(test) - 1)  # an address may ask for more than there are
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", key="predict.search", placeholder="a word, a label")
        st.session_state["predict.row"] = row
        st.number_input(
            f"Number, of {len(test):,}", 0, len(test) - 1, key="predict.row", width=140,
            on_change=lambda: state.update(document=int(st.session_state["predict.row"]), label=""),
        )  # fmt: skip
    if search.strip():
        _offer(dataset, search)
    text = document_text(test, row)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Another", key="predict.another", icon=":material/shuffle:", on_click=_another, args=(len(test), row))
        if model.features_.vectorizer is not None and test.texts is not None:
            st.button("Edit this text", key="predict.edit", icon=":material/edit:", type="tertiary", on_click=_edit,
                      args=(text,), help="See how the labels change with the words.")  # fmt: skip
    return Chosen(test.take([row]), text, row=row)


def _another(size: int, row: int) -> None:
    state.update(document=Random(row).randrange(size), label="")


def _offer(dataset: Dataset, search: str) -> None:
    """The documents that a search found, to pick from."""
    from xcwork.analysis.paging import snippet
    from xcwork.data.browse import document_text, find_documents

    found = find_documents(dataset.test, search=search)
    if len(found) == 0:
        st.caption(f"No test document matches “{ui.plain(search)}”.")
        return
    rows = found[:MATCHES].tolist()
    titles = {row: snippet(document_text(dataset.test, row), 90) for row in rows}
    st.selectbox(
        f"{len(found):,} found" + (f", the first {MATCHES} listed" if len(found) > MATCHES else ""), rows, index=None,
        format_func=lambda row: titles[row], key=f"predict.found.{search}", placeholder="choose one",
        on_change=_pick, args=(f"predict.found.{search}",),
    )  # fmt: skip


def _pick(key: str) -> None:
    if (row := st.session_state[key]) is not None:
        state.update(document=row, label="")


def _edit(text: str) -> None:
    st.session_state.update({"predict.where": OWN, "predict.text": text, "predict.original": text})


def _own_text(model: Method) -> Chosen | None:
    if model.features_.vectorizer is None:
        ui.empty("This dataset was loaded as ready-made features, so a text cannot be turned into them.")
        return None
    state.link("predict.text")
    with st.form("predict.form", border=False):
        typed = st.text_area("Text", key="predict.text", height=200, max_chars=LONGEST, placeholder="Type or paste.")
        st.form_submit_button("Predict", type="primary")
    if not typed.strip():
        st.caption("Type or paste a text and press Predict.")
        return None
    if model.features_.transform([typed]).nnz == 0:
        st.warning("No word of this text is known to the model, so its answer rests on nothing but label frequencies.",
                   icon=":material/warning:")  # fmt: skip
    return Chosen(typed, typed, original=st.session_state.get("predict.original", ""))
