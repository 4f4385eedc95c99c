"""The menu ⋯ of a run or a dataset: rename, duplicate settings, open folder, cancel or resume, delete.

    show_run_menu(run, key="train.menu")                # a button of its own
    LabelRow(run.id, …, menu=list_run_actions(run))  # in a list, with `on_menu=ask_about_run`

What was chosen is remembered and asked as a dialog by `open_dialog`, which the shell calls on every page: a dialog
drawn in a list that refreshes itself would vanish with the next refresh. Whatever is deleted waits in the trash of the
home (`xcwork.runs.trash`) for a day, and `show_undo` offers to put it back until another page is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import streamlit as st
from xcwork_app import caches, dialogs, navigation, state, widgets
from xcwork_app.sources import Source
from xcwork_app.views import home_facts

from xcwork.errors import XcworkError
from xcwork.export.text import count_noun
from xcwork.runs import Run, RunStore, jobs, manage, trash
from xcwork.runs.status import RESUMABLE_STATES

RENAME = "Rename"
DUPLICATE = "Duplicate settings"
FOLDER = "Open folder"
DELETE = "Delete"
CANCEL = "Cancel"
RESUME = "Resume"
ASKED = "row_menu.asked"  # keys of the session
UNDO = "row_menu.undo"
SETTINGS_OF = "train.settings_of"  # the id of the run whose settings the Train page starts from
MAX_NAME_CHARACTERS = 100
MAX_NAMED_RUNS = 5


@dataclass(frozen=True)
class MenuRequest:
    """What was chosen in a menu and is to be asked."""

    action: str
    run: str = ""  # id
    source: str = ""  # id


def list_run_actions(run: Run) -> tuple[str, ...]:
    """Return what can be done with a run in its present state."""
    seen = caches.glance(run)
    if seen.source is None:  # its folder cannot be read
        return FOLDER, DELETE
    if seen.status.is_active:
        return CANCEL, DUPLICATE, FOLDER, DELETE
    is_resumable = seen.status.state in RESUMABLE_STATES
    return *((RESUME,) if is_resumable else ()), RENAME, DUPLICATE, FOLDER, DELETE


def list_dataset_actions(source: Source) -> tuple[str, ...]:
    """Return what can be done with a dataset; only what lies in the data folder can be renamed or deleted."""
    if source.path is None:
        return ()
    return (RENAME, FOLDER, DELETE) if is_own(source) else (FOLDER,)


def is_own(source: Source) -> bool:
    """Return whether a dataset lies in the data folder of this home."""
    return source.path is not None and len(Path(source.data).parts) == 1


def show_dataset_menu(source: Source, *, key: str) -> None:
    """Show the menu of a dataset as a button; a built-in one has none."""
    _show_menu(list_dataset_actions(source), key, lambda action: ask_about_dataset(source.id, action))


def _show_menu(actions: tuple[str, ...], key: str, ask: Callable[[str], None]) -> None:
    if not actions:
        return

    def take() -> None:
        if chosen := st.session_state.get(key):
            ask(chosen)

    st.menu_button("⋯", actions, key=key, type="tertiary", help="More", on_click=take)
    refresh_if_asked()


def refresh_if_asked() -> None:
    """Draw the whole page when a menu inside a fragment was used: the dialog belongs to the page."""
    request: MenuRequest | None = st.session_state.get(ASKED)
    if request is not None and not st.session_state.get(f"{ASKED}.shown"):
        st.session_state[f"{ASKED}.shown"] = True
        st.rerun()


def ask_about_run(run_id: str, action: str) -> None:
    """Do what was chosen in the menu of a run, or ask first."""
    run = _find_run(run_id)
    if run is None:
        return
    if action == CANCEL:
        _try(jobs.cancel, run)
    elif action == RESUME:
        _try(jobs.resume, run)
    else:
        _remember(MenuRequest(action, run=run_id))


def ask_about_dataset(source_id: str, action: str) -> None:
    """Ask what was chosen in the menu of a dataset."""
    _remember(MenuRequest(action, source=source_id))


def _remember(request: MenuRequest) -> None:
    st.session_state[ASKED] = request
    st.session_state[f"{ASKED}.shown"] = False


def _try(verb: Callable[[Run], object], run: Run) -> None:
    """Cancel or resume a run; a refusal is said in a toast."""
    try:
        verb(run)
    except (XcworkError, OSError) as refusal:
        st.toast(widgets.escape_text(refusal), icon=":material/error:")


def _find_run(run_id: str) -> Run | None:
    return caches.find_run(run_id)


def is_asked() -> bool:
    """Return whether a menu asked for a dialog that is still open."""
    return ASKED in st.session_state


def open_dialog() -> bool:
    """Open the dialog that a menu asked for; return whether there is one."""
    request: MenuRequest | None = st.session_state.get(ASKED)
    if request is None:
        return False
    st.session_state[f"{ASKED}.shown"] = True
    run = _find_run(request.run)
    if request.run and run is None:  # deleted meanwhile, in another tab
        _forget()
        return False
    if request.action == DUPLICATE and run is not None:
        _forget()
        _copy_settings(run)
    title = f"{request.action} {widgets.escape_text(_name_subject(request, run))}"
    dialogs.make_dialog(title, on_dismiss=_forget)(_show_dialog)(request)
    return True


def _copy_settings(run: Run) -> NoReturn:
    """Open the Train page with the method and the settings of a run."""
    method, source = caches.get_record(run).get("method", ""), caches.get_source(run)
    st.session_state[SETTINGS_OF] = run.id
    st.session_state[f"train.{method}.preset"] = name_settings_of(run)
    navigation.go_to("train", method=method, **({} if source is None else {"data": source.id}))


def name_settings_of(run: Run) -> str:
    """Return what the settings of a run are called among those that a training can start from."""
    return f"Like {run.name}"


def _name_subject(request: MenuRequest, run: Run | None) -> str:
    if run is not None:
        return run.name
    return Source.from_id(request.source).title


def _forget() -> None:
    st.session_state.pop(ASKED, None)


def _show_dialog(request: MenuRequest) -> None:
    run, source = _find_run(request.run), Source.from_id(request.source) if request.source else None
    with widgets.catch_errors():
        if request.action == FOLDER:
            folder = run.folder if run is not None else source.path if source is not None else None
            st.caption("Everything about it is here, readable without xcwork.")
            st.code(str(folder), language=None, wrap_lines=True)
        elif request.action == RENAME:
            _show_renaming(run, source)
        elif request.action == DELETE:
            _show_deletion(run, source)


def _show_renaming(run: Run | None, source: Source | None) -> None:
    old = run.name if run is not None else source.title if source is not None else ""
    with st.form("row_menu.form", border=False):
        name = st.text_input("New name", value=old, key="row_menu.name", max_chars=MAX_NAME_CHARACTERS)
        if not st.form_submit_button("Rename", type="primary", key="row_menu.rename"):
            return
    if run is not None:
        manage.rename_run(run, name)
    elif source is not None:
        place, _ = manage.rename_dataset(source.data, name, RunStore())
        _follow_renaming(source, Source.from_data(place, dict(source.options)))
    _forget()
    st.rerun()


def _follow_renaming(before: Source, after: Source) -> None:
    """Let the session look at a renamed dataset under its new name, with the same run."""
    if state.view().data == before.id:
        state.update(data=after.id, run=state.view().run)


def _show_deletion(run: Run | None, source: Source | None) -> None:
    st.markdown(_describe_run_deletion(run) if run is not None else _describe_dataset_deletion(source))
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="row_menu.keep"):
            _forget()
            st.rerun()
        if not st.button("Delete", key="row_menu.delete", type="primary", icon=":material/delete:"):
            return
    with st.spinner("Deleting."):
        entry = trash.discard_run(run) if run is not None else trash.discard_dataset(source.data, RunStore())  # type: ignore[union-attr]
    st.session_state[UNDO] = (state.get_page(), entry)
    if run is not None and state.view().run == run.id:
        state.update(run="")
    elif source is not None and state.view().data == source.id:
        state.update(data=home_facts.choose_remaining(source).id)
    _forget()
    st.rerun()


def _describe_run_deletion(run: Run) -> str:
    cancelled = " It is under way and is cancelled first." if caches.glance(run).status.is_active else ""
    return (
        f"Its model, predictions, label map and thresholds go with it.{cancelled} "
        "You can put it back until you leave this page."
    )


def _describe_dataset_deletion(source: Source | None) -> str:
    runs = [] if source is None else manage.find_runs_on(Path(str(source.path)), RunStore())
    if not runs:
        return "No run was trained on it. You can put it back until you leave this page."
    names = ", ".join(f"**{widgets.escape_text(run.name)}**" for run in runs[:MAX_NAMED_RUNS])
    more = f" and {len(runs) - MAX_NAMED_RUNS} more" if len(runs) > MAX_NAMED_RUNS else ""
    active = sum(caches.glance(run).status.is_active for run in runs)
    cancelled = f" {active} under way {'is' if active == 1 else 'are'} cancelled first." if active else ""
    counted = "1 run goes" if len(runs) == 1 else f"{len(runs)} runs go"
    return f"{counted} with it: {names}{more}.{cancelled} You can put all of it back until you leave this page."


def show_undo() -> None:
    """Offer to put back what was deleted last, on the page where that happened."""
    page, entry = st.session_state.get(UNDO, ("", None))
    if entry is None or page != state.get_page():
        st.session_state.pop(UNDO, None)
        return
    runs = f" and {count_noun(entry.n_runs, 'run')}" if entry.n_runs and entry.has_dataset else ""
    with st.container(key="shell_undo", horizontal=True, vertical_alignment="center"):
        st.markdown(f"Deleted **{widgets.escape_text(entry.title)}**{runs}.", width="content")
        if st.button("Put back", key="row_menu.put_back", icon=":material/undo:"):
            st.session_state.pop(UNDO)
            with widgets.catch_errors():
                trash.put_back(entry)
                st.rerun()
        if st.button("", key="row_menu.close", icon=":material/close:", type="tertiary", help="Close"):
            st.session_state.pop(UNDO)
            st.rerun()
