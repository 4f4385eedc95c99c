"""The pages, in the order of the menu. A page is a file in `app_pages/`; the menu lists those that exist."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import streamlit as st
from xcwork_app import state
from xcwork_app.views import run_comparison, selection

FOLDER = Path(__file__).parent / "app_pages"
TEST_DOCUMENT = "test"  # the choice on Predict that shows a document of the test split


@dataclass(frozen=True)
class Place:
    """One page of the menu: the name of its file, its title and the question it answers."""

    name: str
    title: str
    question: str

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.py"


PLACES = (
    Place("home", "Home", "What can I do here?"),
    Place("data", "Data", "What did I load?"),
    Place("train", "Train", "How do I make a model?"),
    Place("predict", "Predict", "What does it predict, and why?"),
    Place("errors", "Errors", "Where does it fail?"),
    Place("compare", "Compare", "Which method is better?"),
    Place("label_map", "Label map", "What did it learn about the labels?"),
    Place("labs", "Labs", "How does the theory behave?"),
)


def list_places() -> list[Place]:
    """Return the pages that exist."""
    return [place for place in PLACES if place.file.is_file()]


def has_page(name: str) -> bool:
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
    address = state.get_address_of(name)
    state.step_to(address)
    st.switch_page(FOLDER / f"{name}.py", query_params=address)


def open_test_document(document: int, **changes: object) -> NoReturn:
    """Open the Predict page on a test document."""
    state.set_widget("predict.where", TEST_DOCUMENT)
    go_to("predict", document=int(document), **({"label": ""} | changes))


def name_defaults() -> None:
    """Let the address name the run, and on Compare the runs, that are shown unless somebody chooses others."""
    chosen = selection.get_run()
    if chosen is not None:
        state.name_defaults(run=chosen.id)
    if usual := run_comparison.list_usual_runs(selection.get_source()):
        state.name_defaults("compare", runs=",".join(usual))
