"""The pages, in the order of the menu. A page is a file in `app_pages/`; the menu lists those that exist."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import streamlit as st
from xcwork_app import state
from xcwork_app.views import run_comparison, selection

FOLDER = Path(__file__).parent / "app_pages"
OTHER_RUNS = "Other runs"  # the view of Predict that shows several runs side by side
TEST_DOCUMENT = "test"  # the choice on Predict that shows a document of the test split
OWN_TEXT_WORDS = "My text"  # the words of the one that shows a text that somebody types


@dataclass(frozen=True)
class Place:
    """One page of the menu: the name of its file, its title, the question it answers and its group in the menu."""

    name: str
    title: str
    question: str
    group: str = ""

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.py"


PLACES = (
    Place("home", "Home", "Where am I, and what comes next?"),
    Place("data", "Data", "What did I load?", "Prepare"),
    Place("train", "Train", "Which method, and what will it cost?", "Prepare"),
    Place("predict", "Predict", "What does it predict, and why?", "Use"),
    Place("decisions", "Decisions", "Which labels can be assigned without asking?", "Use"),
    Place("review", "Review", "Is this label right?", "Use"),
    Place("errors", "Errors", "Where does it fail, and why?", "Understand"),
    Place("compare", "Compare", "Which method is better, and is it more than chance?", "Understand"),
    Place("label_map", "Label map", "Which labels does it find, and which not?", "Understand"),
    Place("papers", "Papers", "Do the five papers hold what they claim?", "Learn"),
    Place("labs", "Labs", "How does the theory behave?", "Learn"),
)
ORIGIN = "shell.origin"  # key of the session: the list from which the open page was opened


@dataclass(frozen=True)
class Origin:
    """A list on one page, a row of which opened another."""

    page: str
    address: state.Address
    opened: str  # the page that it opened


def list_places() -> list[Place]:
    """Return the pages that exist."""
    return [place for place in PLACES if place.file.is_file()]


def get_place(name: str) -> Place:
    """Return a page by the name of its file."""
    return next(place for place in PLACES if place.name == name)


def has_page(name: str) -> bool:
    """Return whether there is a page of this name."""
    return any(place.name == name for place in list_places())


def make_menu() -> dict[str, st.Page]:
    """Return the pages as Streamlit takes them. They have no icon: the browser would fetch it from the internet."""
    return {
        place.name: st.Page(place.file, title=place.title, default=place.name == "home", url_path=place.name)
        for place in list_places()
    }


def go_to(name: str, **changes: object) -> NoReturn:
    """Open a page, on another run or dataset if `changes` say so (fields of `state.View`)."""
    state.update(**changes)
    name_defaults()
    st.switch_page(FOLDER / f"{name}.py", query_params=state.get_address_of(name))


def open_from_list(name: str, **changes: object) -> NoReturn:
    """Open a page from a row of a list: its header then has a way back to the list as it is now."""
    origin = Origin(state.get_page(), state.get_address(), name)
    st.session_state[ORIGIN] = origin
    go_to(name, **changes)


def open_test_document(document: int, **changes: object) -> NoReturn:
    """Open the Predict page on a test document, from a list."""
    state.set_widget("predict.where", None)  # test documents
    open_from_list("predict", document=int(document), **({"label": ""} | changes))


def open_own_text(text: str, **changes: object) -> NoReturn:
    """Open the Predict page on a text that somebody typed elsewhere."""
    state.set_widget("predict.where", OWN_TEXT_WORDS)
    state.set_widget("predict.text", text)
    go_to("predict", **({"label": ""} | changes))


def open_other_runs(document: int, run: str) -> NoReturn:
    """Open the Predict page on a test document with the lists of several runs side by side, from a list."""
    state.set_widget("predict.view", OTHER_RUNS)
    open_test_document(document, run=run, opened="")


def show_label_on_map(label: str) -> NoReturn:
    """Open the label map on one label, from a list."""
    open_from_list("label_map", label=label, region="", lasso="")


def show_on_map(document: int) -> NoReturn:
    """Open the label map with the labels of a test document lit up."""
    open_from_list("label_map", document=int(document), label="", region="", lasso="", colour="", lit=True)


def forget_origin(page: str) -> None:
    """Drop the way back when a person turned to another page than the one that was opened from the list."""
    origin = st.session_state.get(ORIGIN)
    if origin is not None and origin.opened != page and not state.is_history_navigation():
        del st.session_state[ORIGIN]


def get_origin() -> Origin | None:
    """Return the list from which the open page was opened; None if it was opened in another way."""
    origin = st.session_state.get(ORIGIN)
    return origin if origin is not None and origin.opened == state.get_page() else None


def return_to(origin: Origin) -> NoReturn:
    """Open the page of a list as it was left, filters and all."""
    del st.session_state[ORIGIN]
    st.switch_page(FOLDER / f"{origin.page}.py", query_params=origin.address)


def name_defaults() -> None:
    """Let the address name the run, and on Compare the runs, that are shown unless somebody chooses others."""
    chosen = selection.get_run()
    if chosen is not None:
        state.name_defaults(run=chosen.id)
    if usual := run_comparison.list_usual_runs(selection.get_source()):
        state.name_defaults("compare", runs=",".join(usual))
