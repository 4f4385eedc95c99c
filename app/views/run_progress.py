"""How far a training is, how long it will take, and when those that wait will have their turn."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st
from xcwork_app import caches
from xcwork_app.views import selection, training_plan

from xcwork.errors import RunError
from xcwork.runs import Run
from xcwork.runs.estimates import estimate_cost
from xcwork.runs.status import Status

SIZES = ("n_train", "n_labels", "n_features")


def list_active() -> dict[str, Status]:
    """Return the runs under way by id, the one that is being trained first, then the queue."""
    waiting = {run.id: caches.glance(run).status for run in caches.list_active_runs()}
    return dict(sorted(waiting.items(), key=lambda item: (item[1].state == "queued", item[1].queued or "", item[0])))


def get_share(status: Status) -> float:
    """Return the share of the phase that is done, from 0 to 1; 0 where nobody knows."""
    return min(status.step / status.total, 1.0) if status.total else 0.0


def estimate_time_left(run: Run, status: Status) -> float | None:
    """Return seconds until the run ends, by its estimate; beyond that, until its phase ends, by its pace."""
    by_pace = _estimate_phase_left(run, status)
    whole = estimate_run_seconds(run)
    left = None if whole is None else whole - status.work_seconds
    if left is None or left <= 0:
        return by_pace
    return max(left, by_pace or 0.0)


def _estimate_phase_left(run: Run, status: Status) -> float | None:
    """Return seconds until the phase ends, from the pace since this session first saw it."""
    if not status.total or status.step >= status.total:
        return None
    now = time.monotonic()
    seen: dict[str, Any] = st.session_state.setdefault("train.pace", {})
    phase, begun, first = seen.get(run.id, ("", 0.0, 0))
    if phase != status.phase or status.step < first:
        seen.clear()  # one phase of one run is enough to remember
        seen[run.id] = (status.phase, now, status.step)
        return None
    done = status.step - first
    return (now - begun) / done * (status.total - status.step) if done else None


def estimate_run_seconds(run: Run) -> float | None:
    """Return how long the whole run takes from its turn on; None where nobody can know."""
    facts = caches.get_record(run)
    sizes = _find_sizes(run)
    if sizes is None or "method" not in facts:
        return None
    known = training_plan.list_measurements()
    load = training_plan.measure_other_load()
    cost = estimate_cost(facts["method"], facts.get("params") or {}, **sizes, known=known, other_load=load)
    return None if cost is None else cost.seconds


def estimate_left(run: Run, status: Status) -> float | None:
    """Return how long a run still takes, from its turn on if it waits; None where nobody can know."""
    return estimate_run_seconds(run) if status.state == "queued" else estimate_time_left(run, status)


def _find_sizes(run: Run) -> dict[str, int] | None:
    """Return the size of the dataset of a run: as the run knows it, or as the page does."""
    try:
        known = run.config["dataset"] or {}
    except RunError:
        return None
    if all(isinstance(known.get(name), int) for name in SIZES):
        return {name: known[name] for name in SIZES}
    source = caches.get_source(run)
    if source is None or source != selection.get_source():
        return None  # another dataset is not read for an estimate
    traits = training_plan.get_traits(source)
    return {name: getattr(traits, name) for name in SIZES}


def estimate_starts(active: dict[str, Status]) -> dict[str, float | None]:
    """Return in how many seconds each run under way begins, by id; None from the first on whose time is unknown."""
    starts: dict[str, float | None] = {}
    passed: float | None = 0.0
    for name, status in active.items():
        starts[name] = 0.0 if status.state != "queued" else passed
        run = caches.find_run(name)
        left = None if run is None else estimate_left(run, status)
        passed = None if passed is None or left is None else passed + left
    return starts


def estimate_queue_seconds() -> float:
    """Return how long a run that is started now will wait for its turn; runs of unknown length count nothing."""
    times = (estimate_left(run, status) for name, status in list_active().items() if (run := caches.find_run(name)))
    return sum(seconds or 0.0 for seconds in times)
