"""Runs on the embedded dataset that are worth looking at, so that the dashboard has something to show from the start.

The fast methods come first. Methods for labels of groups, and those whose result on these documents would teach
nothing, are left out; the two signature methods also have a run as in their papers, where such settings exist. Runs are
queued in the background and arrive one after the other. A method that has a run on this dataset in the home folder
already gets no second one; a run that broke off (the machine was switched off, say) is resumed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from xcwork.cli.loading import read_data
from xcwork.errors import RunError

if TYPE_CHECKING:
    from xcwork.runs import Run, RunStore

DEMO_DATA = "pyseealso"
BROKEN_OFF_STATES = ("lost", "failed")
# In the order of their time, so that the pages have something to show in seconds.
DEMO_METHODS = (
    "tfidf",
    "bm25",
    "nearest_documents",
    "label_tree",
    "zestxml",
    "one_vs_all",
    "flat",
    "mhs",
    "landmarks",
    "mhc",
    "siamesexml",
    "mhp",
)
SIGNATURE_METHODS = ("zestxml", "siamesexml")
PAPER_PRESET = "As in the paper"


def queue_demo_runs() -> list[str]:
    """Start or resume the runs that are missing and return their ids."""
    from xcwork.export.terminal import print_note
    from xcwork.methods.presets import list_presets
    from xcwork.methods.registry import list_usable_methods
    from xcwork.runs import RunStore, jobs

    read_data(DEMO_DATA, {})  # built once here, with a bar, rather than by every worker
    store = RunStore()
    earlier = _list_demo_runs(store)
    queued = []
    for method, preset in list_demo_trainings(list_usable_methods()):
        runs = earlier.get((method, preset), [])
        if not runs:
            params = list_presets(method)[preset] if preset else None
            name = f"{method} paper" if preset else f"{method} demo"
            queued.append(jobs.launch(store.create(method, params, DEMO_DATA, name=name)).id)
        elif all(run.state in BROKEN_OFF_STATES for run in runs):
            queued.append(jobs.resume(runs[-1]).id)
    if queued:
        print_note(f"{len(queued)} demo runs are queued; they appear as they finish")
    return queued


def list_demo_trainings(methods: Collection[str]) -> list[tuple[str, str]]:
    """Return method and preset ("": the default) of every demo run, in the order in which they are trained."""
    from xcwork.methods.presets import list_presets

    usual = [(name, "") for name in DEMO_METHODS if name in methods]
    signature = [name for name in SIGNATURE_METHODS if name in methods and PAPER_PRESET in list_presets(name)]
    return usual + [(name, PAPER_PRESET) for name in signature]


def _list_demo_runs(store: RunStore) -> dict[tuple[str, str], list[Run]]:
    """Return the runs on the embedded dataset by method and preset, oldest first."""
    from xcwork.methods.presets import list_presets
    from xcwork.methods.registry import list_usable_methods

    usable = list_usable_methods()
    found: dict[tuple[str, str], list[Run]] = {}
    for run in store.list():
        try:
            config = run.config
        except RunError:
            continue  # a damaged folder is nobody's demo; the run list says what is wrong with it
        if config.get("data") == DEMO_DATA:
            method = config["method"]
            presets = list_presets(method) if method in usable and method in SIGNATURE_METHODS else {}
            is_paper = PAPER_PRESET in presets and config["params"] == presets[PAPER_PRESET]
            found.setdefault((method, PAPER_PRESET if is_paper else ""), []).append(run)
    return found
