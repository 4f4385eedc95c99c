"""The start of a training: its name, the command that does the same, and one run however often one clicks."""

from __future__ import annotations

from typing import Any

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.sources import Source
from xcwork_app.views import selection

from xcwork.errors import XcworkError
from xcwork.methods.registry import create
from xcwork.options import format_value
from xcwork.runs import Run, RunStore, jobs

LAUNCHED = "train.launched"  # keys of the session
TWIN = "train.twin"
REFUSED = "train.start_refused"
MAX_NAME_CHARACTERS = 100


def start_run(method: str, params: dict[str, Any], source: Source, name: str) -> None:
    """Start a new run, unless the very same one is under way (a double click, say); before the page is drawn."""
    twin = find_twin(method, params, source)
    if twin is not None:
        st.session_state[TWIN] = twin.name
        state.update(run=twin.id)
        return
    try:
        run = RunStore().create(
            method,
            params,
            source.location,
            data_options=source.load_options(),
            name=name or suggest_name(method, source),
        )
        state.update(run=jobs.launch(run).id)
    except (XcworkError, OSError) as refusal:
        st.session_state[REFUSED] = refusal
        return
    st.session_state[LAUNCHED] = count_launched() + 1


def show_note() -> None:
    """Say why the last click started nothing, if it did not."""
    if (refusal := st.session_state.pop(REFUSED, None)) is not None:
        raise refusal
    if (twin := st.session_state.pop(TWIN, None)) is not None:
        st.info(f"The same training is under way: {widgets.escape_text(twin)}.", icon=":material/info:")


def count_launched() -> int:
    """Return how many runs this session has started: the name of one is not offered for the next."""
    return st.session_state.get(LAUNCHED, 0)


def suggest_name(method: str, source: Source) -> str:
    """Return a name for people: the method, numbered over its runs on the dataset."""
    seen = caches.glance_at(selection.list_runs(source))
    earlier = sum(each.record.get("method") == method for each in seen)
    return f"{method} {earlier + 1}"


def find_twin(method: str, params: dict[str, Any], source: Source) -> Run | None:
    """Return an unfinished run that would come to the same result."""
    for run in caches.list_active_runs():
        seen = caches.glance(run)
        if seen.status.is_active and seen.source == source:
            facts = seen.record
            if (facts.get("method"), facts.get("params")) == (method, params):
                return run
    return None


def build_command(method: str, params: dict[str, Any], source: Source, name: str) -> list[str]:
    """Return the arguments of `xcwork` that start the same run; defaults are left out."""
    usual = create(method).get_params()
    changed = [f"{key}={format_value(value)}" for key, value in params.items() if value != usual[key]]
    data, *options = source.list_arguments()
    settings = [part for change in changed for part in ("--set", change)]
    return ["train", method, "--data", data, *options, *settings, *(("--name", name) if name else ())]
