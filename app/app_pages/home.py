"""Home: what can I do here? Three questions, each on a finished run; where to begin; all runs, as they are now."""

from __future__ import annotations

import streamlit as st

from app import caches, navigation, shell, ui
from app.catalog import Source
from app.panels import run_list
from xcwork.runs import Run

QUESTIONS = (
    ("predict", "Give it a text and see the labels it suggests, with the terms that speak for each of them."),
    ("errors", "See which labels it misses, whether they are rare, and where on the way they were lost."),
    ("compare", "Put runs side by side: precision at k, time and size, and the documents on which they differ."),
)
BEGINNINGS = (
    ("data", "Load your documents", "A CSV with a text and a labels column is enough; every common format is read."),
    ("train", "Train a method", "Pick one, see what it will cost, watch it learn. It goes on when you close the tab."),
)


def card(page: str, title: str, text: str, key: str, *, opens: bool = True) -> None:
    """A bordered card that leads to a page."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{title}**")
        st.caption(text)
        if st.button("Open", key=key, icon=":material/arrow_forward:", disabled=not opens):
            run = shell.current_run() or demo_run()
            source = None if run is None else caches.source_of(run)
            navigation.go(page, **({} if source is None else {"data": source.id, "run": run.id}))


def demo_run() -> Run | None:
    """The best finished run on the embedded dataset."""
    return shell.best_run(shell.runs_of(Source("pyseealso")))


ui.header(
    "xcwork",
    "A workbench for extreme multi-label classification: thousands to millions of labels, most of them rare, "
    "some never seen in training.",
)
offered = [(place, text) for name, text in QUESTIONS for place in navigation.places() if place.name == name]
ready = (shell.current_run() or demo_run()) is not None
if offered:
    for column, (place, text) in zip(st.columns(len(offered)), offered, strict=True):
        with column:
            card(place.name, place.question, text, f"home.{place.name}", opens=ready)
    if not ready:
        st.caption("These open as soon as the first run has finished.")
for column, (name, title, text) in zip(st.columns(len(BEGINNINGS)), BEGINNINGS, strict=True):
    with column:
        card(name, title, text, f"home.{name}")

ui.section("Runs")
run_list.show()
