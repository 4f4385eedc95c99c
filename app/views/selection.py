"""Which dataset and run a session looks at, and what to take where the address names something that is gone."""

from __future__ import annotations

from xcwork_app import caches, state
from xcwork_app.sources import Source

from xcwork.runs import Run
from xcwork.runs.status import name_state


def get_source() -> Source:
    """Return the dataset this session looks at."""
    return Source.from_id(state.view().data)


def find_usual_source() -> Source:
    """Return the dataset that a first visit opens on: that of the newest finished run, or else of the newest one."""
    newest = None
    for run in reversed(caches.list_runs()):
        source = caches.get_source(run)
        if source is None or _is_missing(source):
            continue
        if caches.glance(run).status.state == "finished":
            return source
        newest = newest or source
    return newest or Source.from_id(state.View().data)


def list_runs(source: Source) -> list[Run]:
    """Return the runs on a dataset, newest first."""
    return caches.list_runs_on(source)


def get_run() -> Run | None:
    """Return the chosen run, or the best finished one on the dataset."""
    runs = list_runs(get_source())
    wanted = state.view().run
    chosen = next((run for run in runs if run.id == wanted), None)
    return chosen or find_best_run(runs)


def find_best_run(runs: list[Run]) -> Run | None:
    """Return the finished run with the highest P@1."""
    seen = zip(runs, caches.glance_at(runs), strict=True)
    finished = [(run, each.record["metrics"]) for run, each in seen if each.record["state"] == "finished"]
    return max(finished, key=lambda pair: pair[1].get("P@1", 0.0), default=(None,))[0]


def name_run(run: Run) -> str:
    """Return the name of a run, with its state unless it has finished."""
    facts = caches.get_record(run)
    return facts["name"] if facts["state"] == "finished" else f"{facts['name']} · {name_state(facts['state'])}"


def describe_run(run: Run) -> str:
    """Return the name of a run with what matters most: its P@1, or its state."""
    facts = caches.get_record(run)
    precision = facts["metrics"].get("P@1")
    return f"{facts['name']} · " + (name_state(facts["state"]) if precision is None else f"P@1 {precision:.1f}")


def resolve_dataset() -> None:
    """Take the dataset of the run, or the usual one, where the view names one that is gone; a note says so."""
    source, wanted = get_source(), state.view().run
    run = caches.find_run(wanted)
    owner = None if run is None else caches.get_source(run)
    if run is None or owner is None:
        if state.is_open("data"):
            state.fall_back("data", find_usual_source().id)
            source = get_source()
        if _is_gone(source):
            usual = find_usual_source()
            note = f"There is no dataset {state.quote(source.title)}; {usual.title} is shown instead."
            state.fall_back("data", usual.id, note)
    elif owner != source:  # a run has one dataset, so it decides where an address names both
        note = f"{run.name} is a run on {owner.title}, which is shown instead of {source.title}."
        state.fall_back("data", owner.id, note if state.asks_for("data", state.view().data) else "")


def resolve_run() -> None:
    """Take the best run where the view names one that is not on the dataset; a note says so."""
    source = get_source()
    wanted = state.view().run
    runs = list_runs(source)
    if wanted and not any(run.id == wanted for run in runs):
        best = find_best_run(runs)
        instead = f"there is none on {source.title}" if best is None else f"{best.name} is shown instead"
        state.fall_back("run", "", f"There is no run {state.quote(wanted)}; {instead}.")


def _is_gone(source: Source) -> bool:
    """Return whether there is nothing to read, nor a run that was trained on it."""
    return not list_runs(source) and _is_missing(source)


def _is_missing(source: Source) -> bool:
    """Return whether there is nothing to read."""
    try:
        return source.path is not None and not source.path.exists()
    except OSError:  # a name that no file can have, or a folder that is closed to us
        return True
