"""Datasets and first steps as cards that are one target each."""

from __future__ import annotations

import streamlit as st
from xcwork_app import navigation, state, widgets
from xcwork_app.views.home_facts import DatasetFacts

from xcwork.export.text import count_noun

MAX_DATASETS = 2
STARTS: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("data", "Load my documents", "A text and a labels column are enough.", {"add": "file"}),
    ("train", "Train a method", "It says what it costs before it starts.", {}),
    ("papers", "Check the papers", "Their claims and what we measured.", {}),
)


def show_datasets(facts: list[DatasetFacts]) -> None:
    """Show the current dataset and the one with most runs; choosing one makes it the dataset of this session."""
    with st.container(horizontal=True, horizontal_alignment="distribute", key="home_datasets_head"):
        widgets.show_section("Datasets")
        if len(facts) > MAX_DATASETS and st.button(f"All {len(facts)} datasets", key="home.datasets", type="tertiary"):
            navigation.go_to("data")
    with st.container(key="home_datasets"):
        for column, each in zip(st.columns(MAX_DATASETS), facts, strict=False):
            is_current = each.source.id == state.view().data
            runs = "no runs" if not each.n_runs else count_noun(each.n_runs, "run")
            title = f"**{widgets.escape_text(each.source.title)}** :gray[{each.origin}] :gray[{runs}]"
            with column, st.container(key=f"home_dataset_{'on' if is_current else 'off'}_{facts.index(each)}"):
                st.button(
                    f"{title}  \n:gray[{each.sizes}]",
                    key=f"home.dataset.{each.source.id}",
                    width="stretch",
                    on_click=state.update,
                    kwargs={"data": each.source.id, "run": ""},
                )


def show_starts() -> None:
    """Show where to begin: load, train, papers."""
    offered = [each for each in STARTS if navigation.has_page(each[0])]
    with st.container(key="home_starts"):
        for column, (page, title, text, changes) in zip(st.columns(len(offered)), offered, strict=True):
            label = f"**{title}**  \n:gray[{text}]"
            if column.button(label, key=f"home.start.{page}", width="stretch"):
                navigation.go_to(page, **changes)
