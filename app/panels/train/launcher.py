"""Before a training begins: what it will cost, what it is called, the command that does the same, and the button."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.sources import Source
from xcwork_app.views import selection

from xcwork.compute.memory import available_memory
from xcwork.methods.registry import create, method_class
from xcwork.options import format_value
from xcwork.runs import Run, RunStore, jobs
from xcwork.runs.estimates import Estimate, Measurement, estimate, measurement_of

if TYPE_CHECKING:
    from xcwork.data.card import Card

LAUNCHED = "train.launched"
MAX_NAME_CHARACTERS = 100


def show(method: str, params: dict[str, Any], source: Source, card: Card) -> None:
    """Show the estimate, the name, the button and the command."""
    st.markdown("**Before you train**")
    sizes = {"n_train": card.n_train, "n_labels": card.n_labels, "n_features": card.n_features}
    _show_estimate(estimate(method, params, **sizes, known=list_measurements()))
    name = st.text_input(
        "Name of the run", key=f"train.name.{_count_launched()}", placeholder=suggest_name(method, source)
    )
    reason = find_obstacle(method, card)
    if reason:
        st.warning(reason, icon=":material/warning:")
    is_blocked = widgets.warn_if_too_long(name, MAX_NAME_CHARACTERS, "name") or bool(reason)
    if st.button("Train", type="primary", key="train.start", disabled=is_blocked, width="stretch"):
        start_run(method, params, source, name)
    widgets.show_command(build_command(method, params, source, name))


def start_run(method: str, params: dict[str, Any], source: Source, name: str) -> None:
    """Start a new run, unless the very same one is under way (a double click, say)."""
    twin = find_twin(method, params, source)
    if twin is not None:
        st.info(f"The same training is under way: {widgets.plain(twin.name)}.", icon=":material/info:")
        state.update(run=twin.id)
        return
    run = RunStore().create(
        method,
        params,
        source.location,
        data_options=source.load_options(),
        name=name or suggest_name(method, source),
    )
    state.update(run=jobs.launch(run).id)
    st.session_state[LAUNCHED] = _count_launched() + 1
    st.rerun()


def _count_launched() -> int:
    """Return how many runs this session has started: the name of one is not offered for the next."""
    return st.session_state.get(LAUNCHED, 0)


def suggest_name(method: str, source: Source) -> str:
    """Return a name for people: the method, numbered over its runs on the dataset."""
    earlier = sum(caches.get_record(run).get("method") == method for run in selection.list_runs(source))
    return f"{method} {earlier + 1}"


def find_twin(method: str, params: dict[str, Any], source: Source) -> Run | None:
    """Return an unfinished run that would come to the same result."""
    for run in caches.list_runs():
        seen = caches.glance(run)
        if seen.status.is_active and seen.source == source:
            facts = seen.record
            if (facts.get("method"), facts.get("params")) == (method, params):
                return run
    return None


def find_obstacle(method: str, card: Card) -> str:
    """Return why this method cannot be trained on this dataset, or an empty text."""
    if method_class(method).capabilities.needs_label_text and card.label_features is None:
        return "This method needs label texts, and this dataset has none. Add a labels file, or choose another method."
    return ""


def build_command(method: str, params: dict[str, Any], source: Source, name: str) -> list[str]:
    """Return the arguments of `xcwork` that start the same run; defaults are left out."""
    usual = create(method).get_params()
    changed = [f"{key}={format_value(value)}" for key, value in params.items() if value != usual[key]]
    data, *options = source.arguments()
    settings = [part for change in changed for part in ("--set", change)]
    return ["train", method, "--data", data, *options, *settings, *(("--name", name) if name else ())]


def list_measurements() -> list[Measurement]:
    """Return what the finished runs of this home folder cost."""
    over = [run for run in caches.list_runs() if caches.get_record(run)["state"] == "finished"]
    found = (_read_measurement(str(run.folder), caches.glance(run).status.updated) for run in over)
    return [each for each in found if each is not None]


@lru_cache(maxsize=1000)
def _read_measurement(folder: str, updated: str) -> Measurement | None:
    return measurement_of(Run(folder))


def _show_estimate(expected: Estimate | None) -> None:
    free = available_memory() / 1e6
    if expected is None:
        st.caption("Nothing like this was measured yet, so there is no estimate. Cancel works at any time.")
        return
    low, high = widgets.format_seconds(expected.low), widgets.format_seconds(expected.high)
    widgets.show_metrics(
        [
            ("Time", widgets.format_estimate(expected.seconds), f"From {low} to {high}." if low != high else None),
            (
                "Memory",
                f"about {widgets.format_megabytes(expected.memory_mb)}",
                f"{widgets.format_megabytes(free)} are free here.",
            ),
        ]
    )
    st.caption(f"{widgets.plain(caches.describe_device())}. Estimated {widgets.plain(expected.basis)}.")
    if expected.memory_mb > 0.8 * free:
        st.warning("This may need more memory than is free. Use a subset of the data.", icon=":material/warning:")
