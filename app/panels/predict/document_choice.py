"""Which document the page looks at: a bar with its place, its number, a search, and the thresholds of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import navigation, state, widgets
from xcwork_app.navigation import OWN_TEXT_WORDS, TEST_DOCUMENT
from xcwork_app.panels.predict import own_text
from xcwork_app.views import document_prediction
from xcwork_app.views.document_prediction import ChosenDocument

from xcwork.decisions.choice import NEVER_ASSIGN, Decisions
from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

OWN_TEXT = "own"
FILE_OF_TEXTS = "file"
PLACES = {TEST_DOCUMENT: "Test documents", OWN_TEXT: OWN_TEXT_WORDS, FILE_OF_TEXTS: "A file of texts"}
PLACE = "predict.where"
SEARCH = "predict.search"
NUMBER = "predict.row"
USUAL = "predict.usual"  # key of the session: by dataset, the document that is shown until somebody chooses one
MAX_MATCHES = 50  # documents offered for a search
MAX_CHARACTERS = 200_000  # of a text
NO_TEXTS = "This dataset has no texts, so it cannot read yours."


def choose_place() -> str:
    """Return where documents come from: the test split, a text that somebody types, or a file."""
    chosen = st.segmented_control(
        "Document",
        list(PLACES),
        default=TEST_DOCUMENT,
        required=True,
        format_func=PLACES.__getitem__,
        key=PLACE,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or TEST_DOCUMENT


def look_at(row: int) -> None:
    """Show another test document, with its first label."""
    state.update(document=row, label="", family="", word="", more=0)


def show_position(row: int, n_documents: int) -> None:
    """Show which document it is, and the ways to the next ones."""
    with st.container(key="predict_position", horizontal=True, vertical_alignment="center", width="content"):
        st.button(
            "Previous document",
            key="predict.previous",
            icon=":material/chevron_left:",
            shortcut="K",
            disabled=row == 0,
            on_click=look_at,
            args=(row - 1,),
        )
        st.session_state[NUMBER] = row + 1
        st.number_input(
            "Number",
            1,
            n_documents,
            key=NUMBER,
            width=62,
            label_visibility="collapsed",
            on_change=lambda: look_at(int(st.session_state[NUMBER]) - 1),
        )
        st.caption(f"of {n_documents:,}", width="content")
        st.button(
            "Next document",
            key="predict.next",
            icon=":material/chevron_right:",
            shortcut="J",
            disabled=row == n_documents - 1,
            on_click=look_at,
            args=(row + 1,),
        )
        st.button(
            "Random document",
            key="predict.another",
            icon=":material/shuffle:",
            help="Random document",
            disabled=n_documents == 1,
            on_click=_show_another,
            args=(row, n_documents),
        )


def _show_another(row: int, n_documents: int) -> None:
    from xcwork.data.browse import choose_next_document

    look_at(choose_next_document(row, n_documents))


def show_search(dataset: Dataset) -> None:
    """Ask for a word or a label, and offer the documents that have it."""
    search = st.text_input(
        "Search",
        key=SEARCH,
        placeholder="Find a word or a label",
        icon=":material/search:",
        bind="query-params",
        label_visibility="collapsed",
        width=200,
    )
    if not (search or "").strip():
        return
    from xcwork.analysis.paging import shorten_text
    from xcwork.data.browse import find_documents, get_document_text

    found = find_documents(dataset.test, search=search)
    if len(found) == 0:
        st.caption(f"No test document matches “{widgets.escape_text(search)}”.", width="content")
        return
    rows = found[:MAX_MATCHES].tolist()
    titles = {row: shorten_text(get_document_text(dataset.test, row), 90) for row in rows}
    key = f"predict.found.{search}"

    def pick() -> None:
        if (row := st.session_state[key]) is not None:
            look_at(row)

    st.selectbox(
        "Documents found",
        rows,
        index=None,
        format_func=lambda row: titles[row],
        key=key,
        placeholder=f"{len(found):,} found",
        label_visibility="collapsed",
        width=160,
        on_change=pick,
    )


def show_thresholds(run: Run, model: Method) -> None:
    """Say from which percentage on labels are assigned and suggested; nothing where there are no percentages."""
    if model.calibration_ is None:
        return
    with st.container(key="predict_thresholds", horizontal=True, vertical_alignment="center", width="content"):
        decisions = run.read_decisions()
        st.caption(describe_thresholds(decisions), width="content", help=_describe_rest(decisions))
        st.page_link(navigation.FOLDER / "decisions.py", label="Change", query_params=state.get_address_of("decisions"))


def describe_thresholds(decisions: Decisions) -> str:
    """Return the thresholds in a few words."""
    if decisions.goal in ("macro-f1", "coverage"):
        return f"Assign **{decisions.limit} labels** per document"
    suggest = f"suggest from **{100 * decisions.suggest:.3g} %**"
    if decisions.assign == NEVER_ASSIGN:
        return f"Assign nothing, {suggest}"
    return f"Assign from **{100 * decisions.assign:.3g} %**, {suggest}"


def _describe_rest(decisions: Decisions) -> str | None:
    from xcwork_app.panels.decisions.threshold_slider import describe_thresholds as describe_all

    return None if decisions == Decisions() else describe_all(decisions)


def take_test_document(run: Run, dataset: Dataset) -> ChosenDocument | None:
    """Return the test document of the session, with its annotated labels."""
    from xcwork.data.browse import get_document_text

    test = dataset.test
    if len(test) == 0:
        widgets.show_empty("This dataset has no test documents. Choose My text instead.")
        return None
    row = _choose_row(run, dataset)
    truth = frozenset(test.Y[[row]].indices.tolist())
    return ChosenDocument(test.take([row]), get_document_text(test, row), row=row, truth=truth)


def _choose_row(run: Run, dataset: Dataset) -> int:
    """Return the document of the view; where nobody has chosen one, one that shows what the run can do."""
    if not state.is_open("document"):
        row = state.limit_number("document", len(dataset.test) - 1)
        if row == 0:
            state.name_defaults("predict", document="0")  # a link that says nothing opens on the usual one
        return row
    usual = document_prediction.find_usual_document(run, dataset.test)
    row = st.session_state.setdefault(USUAL, {}).setdefault(dataset.fingerprint, usual)
    if row != usual:  # another run was looked at before: its document stays
        state.fall_back("document", row)
    return row


def take_own_text(dataset: Dataset) -> ChosenDocument | None:
    """Return the typed text; one made from a test document is ranked as that document, with its filter pairs."""
    text = own_text.read_text()
    row = own_text.find_original(len(dataset.test)) if dataset.test.texts is not None else None
    if not text.strip() or len(text) > MAX_CHARACTERS:
        return None
    if row is None:
        return ChosenDocument(text, text)
    original = dataset.test.take([row])
    return ChosenDocument(original.replace_texts([text]), text, original=original, original_row=row)
