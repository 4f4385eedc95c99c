"""Quick runs of every method on the embedded dataset, so that the dashboard has something to show from the start.

They are queued in the background and arrive one after the other. A method that has a run on this dataset in the home
folder already gets no second one; a run that broke off (the machine was switched off, say) is resumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork.cli.loading import read_data
from xcwork.errors import RunError

if TYPE_CHECKING:
    from xcwork.runs import Run, RunStore

DATA = "pyseealso"
BROKEN_OFF = ("lost", "failed")
PARAMS = {"deep_miml": {"hidden": 128, "concepts": 1, "epochs": 5}}  # made for fewer labels: quick at some cost
FIRST = ("tfidf", "zestxml", "label_tree", "one_vs_all")  # in this order: the pages have something to show in seconds


def queue_demo_runs() -> list[str]:
    """Start or resume what is missing; the ids of these runs."""
    from xcwork.export.terminal import print_note
    from xcwork.methods.registry import usable_methods
    from xcwork.runs import RunStore, jobs

    read_data(DATA, {})  # built once here, with a bar, rather than by every worker
    store = RunStore()
    earlier = _demo_runs(store)
    queued = []
    for method in sorted(usable_methods(), key=_place):
        runs = earlier.get(method, [])
        if not runs:
            queued.append(jobs.launch(store.create(method, PARAMS.get(method), DATA, name=f"{method} demo")).id)
        elif all(run.state in BROKEN_OFF for run in runs):
            queued.append(jobs.resume(runs[-1]).id)
    if queued:
        print_note(f"{len(queued)} demo runs are queued; they appear as they finish")
    return queued


def _place(method: str) -> int:
    return FIRST.index(method) if method in FIRST else len(FIRST)


def _demo_runs(store: RunStore) -> dict[str, list[Run]]:
    """Return the runs on the embedded dataset by method, oldest first."""
    found: dict[str, list[Run]] = {}
    for run in store.list():
        try:
            config = run.config
        except RunError:
            continue  # a damaged folder is nobody's demo; the run list says what is wrong with it
        if config.get("data") == DATA:
            found.setdefault(config["method"], []).append(run)
    return found
