"""What surrounds every page: the side bar with menu, dataset, run and lesson, and the note about a failed link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, dialogs, navigation, state, tokens, training_end, widgets
from xcwork_app.panels.shared import lesson
from xcwork_app.sources import Source, list_sources
from xcwork_app.views import review_state, run_progress, selection

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

REFRESH_SECONDS = 2  # between two looks at the run under way
VERSIONS = "shell.versions"  # key of the session: how often something else changed what a select box shows
# How much waits on a page, by its name; asked at every rerun, so it must be fast. None: no number is shown.
WAITING_COUNTS: dict[str, Callable[[], int | None]] = {"review": review_state.count_waiting}


@contextmanager
def finish_page(note: DeltaGenerator, menu: DeltaGenerator) -> Iterator[None]:
    """Say what the address asked for in vain when a page is complete, and bring address and links up to date.

    Not so when the script restarts: then the next run does it, and the browser's history gets one entry, not two.
    """
    with suppress(widgets.PageEnd):
        yield
    if sentences := state.list_notes():
        note.warning(widgets.escape_text(" ".join(sentences)), icon=":material/link_off:")
    state.share()
    show_menu(menu)


def show_menu(place: DeltaGenerator) -> None:
    """Show links to all pages. Streamlit's own menu would drop the address, and with it what Back should return to."""
    pages = navigation.make_menu()
    with place.container():
        for group, places in groupby(navigation.list_places(), key=lambda place: place.group):
            if group:
                st.caption(group)
            for each in places:
                st.page_link(pages[each.name], label=_name_link(each), query_params=state.get_address_of(each.name))


def _name_link(place: navigation.Place) -> str:
    count = WAITING_COUNTS[place.name]() if place.name in WAITING_COUNTS else None
    title = f"**{place.title}**" if place.name == state.get_page() else place.title
    return f"{title} :gray[{count:,}]" if count else title


def show_sidebar(page: str) -> DeltaGenerator:
    """Show the menu, and at the foot dataset, run, the run under way and the lesson; return the place of the menu."""
    with st.sidebar:
        with st.container(key="shell_menu"):
            menu = st.empty()
        with st.container(key="shell_foot"):
            with widgets.catch_errors():
                selection.resolve_dataset()
                selection.resolve_run()
                _choose_dataset()
                _choose_run()
                navigation.name_defaults()
            with widgets.catch_errors():
                training_end.announce_ends()
                training_end.show_next_steps(page)
            if run_progress.list_active():
                st.fragment(_show_progress, run_every=REFRESH_SECONDS)()
            lesson.show_lesson_button(page)
        show_menu(menu)
    return menu


def _choose_dataset() -> None:
    offered = [each.id for each in list_sources(*caches.list_sources_of_runs(), selection.get_source())]
    key = prepare_box("shell.data", selection.get_source().id)
    st.selectbox(
        "Dataset",
        offered,
        key=key,
        format_func=lambda identity: Source.from_id(identity).title,
        on_change=lambda: state.update(data=st.session_state[key]),
    )


def _choose_run() -> None:
    runs = {run.id: run for run in selection.list_runs(selection.get_source())}
    if not runs:
        st.selectbox("Run", [], placeholder="none yet", disabled=True, key="shell.no_run")
        return
    chosen = selection.get_run()
    # Fixed before they are drawn: a run may change its state while somebody chooses.
    titles = {name: selection.name_run(run) for name, run in runs.items()}
    key = prepare_box("shell.run", None if chosen is None else chosen.id)
    with st.container(key="shell_run"):
        if chosen is not None:
            st.html(tokens.make_mark(caches.glance(chosen).number))
        st.selectbox(
            "Run",
            list(runs),
            key=key,
            index=None if chosen is None else 0,  # a chosen one is exchanged for another, not for none
            placeholder="choose one",
            format_func=lambda identity: titles.get(identity, identity),
            on_change=lambda: state.update(run=st.session_state[key] or ""),
        )


def prepare_box(name: str, shown: str | None) -> str:
    """Return the key of a select box that shows this value: a new one if it was not the box that changed it.

    What refreshes itself lets the browser send all it has. If that was the value before, it would be taken for the
    choice of a person, and undo what was chosen elsewhere; of a box that is gone nobody takes it.
    """
    versions: dict[str, int] = st.session_state.setdefault(VERSIONS, {})
    version = versions.get(name, 0)
    key = f"{name}.{version}" if version else name
    if st.session_state.get(key, shown) != shown:
        versions[name] = version + 1
        key = f"{name}.{version + 1}"
    st.session_state[key] = shown
    return key


def _show_progress() -> None:
    """Show the run under way with its share and the time left; when one has ended, the whole page is drawn again."""
    if training_end.has_ended():
        dialogs.refresh_page()
    active = run_progress.list_active()
    first = next(iter(active), None)
    run = None if first is None else caches.find_run(first)
    if run is None:  # it has ended since the page was drawn
        return
    status = active[run.id]
    left = run_progress.estimate_time_left(run, status)
    share = run_progress.get_share(status)
    facts = [f"{100 * share:.0f} %"] if status.total else [status.state]
    facts += [] if left is None else [f"{widgets.shorten_seconds(left)} left"]
    facts += [f"{len(active) - 1} waiting"] if len(active) > 1 else []
    name = widgets.escape_text(caches.get_record(run)["name"])
    with st.container(key="shell_progress"):
        st.html(tokens.make_mark(caches.glance(run).number))
        st.progress(share, text=f"{name}  \n:gray[{', '.join(facts)}]")
