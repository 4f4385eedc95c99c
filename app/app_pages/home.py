"""Home: what can I do here? Three questions, each on a finished run; where to begin; all runs, as they are now."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, navigation, widgets
from xcwork_app.panels.train import run_list
from xcwork_app.views import selection

from xcwork.runs import Run

QUESTIONS = (
    ("predict", "Give it a text and see the labels it suggests, with the evidence for each of them."),
    ("errors", "See which labels it misses, whether they are rare, and where on the way they were lost."),
    ("compare", "Put runs side by side: precision at k, time and size, and the documents on which they differ."),
)
BEGINNINGS = (
    ("data", "Load your documents", "A CSV with a text and a labels column is enough; every common format is read."),
    ("train", "Train a method", "Pick one, see what it will cost, watch it learn. It goes on when you close the tab."),
)


def show_card(page: str, title: str, text: str, *, opens: bool = True, **changes: str) -> None:
    """Draw a bordered card that leads to a page, on another run or dataset if `changes` say so."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{title}**")
        st.caption(text)
        if st.button("Open", key=f"home.{page}", icon=":material/arrow_forward:", disabled=not opens):
            navigation.go_to(page, **changes)


def find_run_to_open() -> Run | None:
    """Return the current run if it has finished, else the best one on the dataset, else the best one anywhere."""
    current = selection.get_run()
    on_dataset = selection.list_runs(selection.get_source())
    anywhere = [run for run in caches.list_runs() if caches.get_source(run) is not None]
    groups = ([] if current is None else [current], on_dataset, anywhere)
    return next((best for runs in groups if (best := selection.find_best_run(runs)) is not None), None)


widgets.show_header(
    "xcwork",
    "A workbench for extreme multi-label classification: thousands to millions of labels, most of them rare, "
    "some never seen in training.",
)
offered = [(place, text) for name, text in QUESTIONS for place in navigation.list_places() if place.name == name]
run = find_run_to_open()
source = None if run is None else caches.get_source(run)
if offered:
    where = {} if run is None or source is None else {"data": source.id, "run": run.id}
    for column, (place, text) in zip(st.columns(len(offered)), offered, strict=True):
        with column:
            show_card(place.name, place.question, text, opens=run is not None, **where)
    if run is None or source is None:
        st.caption("These open as soon as the first run has finished.")
    elif source != selection.get_source():
        here, there = widgets.plain(selection.get_source().title), widgets.plain(source.title)
        st.caption(f"No run has finished on {here} yet: these open {widgets.plain(run.name)} on {there}.")
for column, (name, title, text) in zip(st.columns(len(BEGINNINGS)), BEGINNINGS, strict=True):
    with column:
        show_card(name, title, text)

widgets.show_section("Runs")
run_list.show()
