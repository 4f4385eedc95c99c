"""What the Train page knows before a training: which methods suit the dataset, what each costs, what was reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import caches
from xcwork_app.sources import Source
from xcwork_app.views import selection

from xcwork.advice.guide import MethodGroup, get_note, list_groups
from xcwork.advice.recommendation import Recommendation
from xcwork.advice.recommending import CostTable
from xcwork.advice.rules import TO_UNDERSTAND, find_obstacle
from xcwork.core.data_sizes import DataSizes
from xcwork.data.load import DatasetSource, resolve_source
from xcwork.errors import ConfigError
from xcwork.methods.registry import list_usable_methods
from xcwork.paths import find_home
from xcwork.runs import Run, estimates
from xcwork.runs.estimates import Estimate, Measurement, measure_run
from xcwork.runs.identity import find_free_number

if TYPE_CHECKING:
    from xcwork.advice.traits import DatasetTraits
    from xcwork.methods.base import Method

MAX_ALIKE_RUNS = 20  # of one method on one dataset, that tell what another one costs


@dataclass(frozen=True)
class MethodFacts:
    """A method as a row of the page shows it."""

    method: str
    cost: Estimate | None
    best: Run | None  # the run with the highest P@1 on this dataset
    obstacle: str  # why it cannot work here, or ""


def get_traits(source: Source) -> DatasetTraits:
    """Return what of the dataset decides which method suits it."""
    return _read_traits(source.id, str(find_home()), source.make_stamp())


@st.cache_resource(max_entries=20, show_spinner=False)
def _read_traits(identity: str, folder: str, stamp: str) -> DatasetTraits:
    from xcwork.advice.traits import read_traits

    return read_traits(caches.get_dataset(Source.from_id(identity)))


def resolve(source: Source) -> DatasetSource:
    """Return the source as the engine finds it."""
    return resolve_source(source.data, home=find_home(), **source.load_options())


def get_recommendation(source: Source) -> Recommendation:
    """Return what a pilot found about the dataset, else what the rule says."""
    from xcwork.advice.recommending import recommend
    from xcwork.advice.storing import locate_recommendation, read_recommendation

    dataset = caches.get_dataset(source)
    found = resolve(source)
    file = locate_recommendation(found, dataset.fingerprint)
    if file.is_file() and (stored := read_recommendation(found, dataset.fingerprint)) is not None:
        return stored
    return recommend(dataset, known=list_measurements(), traits=get_traits(source))


def list_method_groups() -> list[MethodGroup]:
    """Return the methods that are installed, in groups."""
    return list_groups(list_usable_methods())


def list_method_facts(source: Source) -> dict[str, MethodFacts]:
    """Return what is known about every method on the dataset."""
    traits = get_traits(source)
    costs = CostTable(traits, list_measurements(), measure_other_load())
    best = find_best_runs(source)
    return {
        method: MethodFacts(method, costs.estimate(method), best.get(method), find_obstacle(method, traits))
        for method in list_usable_methods()
    }


def find_best_runs(source: Source) -> dict[str, Run]:
    """Return the finished run with the highest P@1 on the dataset for every method that has one."""
    best: dict[str, tuple[float, Run]] = {}
    runs = selection.list_runs(source)
    for run, seen in zip(runs, caches.glance_at(runs), strict=True):
        facts = seen.record
        precision = facts["metrics"].get("P@1")
        if facts["state"] == "finished" and precision is not None:
            known = best.get(facts["method"])
            if known is None or precision > known[0]:
                best[facts["method"]] = (precision, run)
    return {method: run for method, (_, run) in best.items()}


def find_next_number(source: Source) -> int:
    """Return the number, which is colour and mark, that the next run on the dataset will get."""
    return find_free_number([seen.number for seen in caches.glance_at(selection.list_runs(source))])


def compute_highest_precision(source: Source, k: int) -> float:
    """Return the P@k of a perfect list on the test split, in percent."""
    return _compute_highest(source.id, str(find_home()), source.make_stamp(), k)


@st.cache_data(max_entries=100, show_spinner=False)
def _compute_highest(identity: str, folder: str, stamp: str, k: int) -> float:
    import numpy as np

    from xcwork.metrics.ranking import compute_highest_precision as compute

    return compute(np.diff(caches.get_dataset(Source.from_id(identity)).test.Y.indptr), k)


def list_measurements() -> list[Measurement]:
    """Return what finished runs of this home folder cost, oldest first; of many alike, what the newest did."""
    found: list[Measurement] = []
    counts: Counter[tuple[str, Source | None]] = Counter()
    runs = caches.list_runs()[::-1]
    for run, seen in zip(runs, caches.glance_at(runs), strict=True):
        kind = seen.record.get("method", ""), seen.source
        if seen.status.state == "finished" and counts[kind] < MAX_ALIKE_RUNS:
            measured = _read_measurement(str(run.folder), seen.status.updated)
            found += [] if measured is None else [measured]
            counts[kind] += 1
    return found[::-1]


def estimate_device_memory(cls: type[Method], params: Mapping[str, Any], traits: DatasetTraits) -> float | None:
    """Return about how many MB of a device a training takes; None if that is not known."""
    if not cls.capabilities.gpu_training:
        return None
    per_document = (traits.n_labels - traits.n_unseen_labels) * traits.documents_per_label / max(1, traits.n_train)
    sizes = DataSizes(traits.n_train, traits.n_labels, traits.n_features, traits.terms_per_document, per_document)
    try:
        needed = cls.from_params(params).estimate_device_bytes(sizes)
    except ConfigError:  # settings that do not go together: the page says so where they are made
        return None
    return None if needed is None else needed / 1e6


def measure_other_load() -> float:
    """Return how busy this machine is with other things than runs of this home folder, which take their turns."""
    return estimates.measure_other_load(seen.status for seen in caches.glance_at(caches.list_runs()))


@lru_cache(maxsize=10_000)
def _read_measurement(folder: str, updated: str) -> Measurement | None:
    return measure_run(Run(Path(folder)))


def choose_usual_method(found: Recommendation, facts: dict[str, MethodFacts]) -> tuple[str, str]:
    """Return the method that is chosen unless somebody chooses another, and its title: the one to understand."""
    by_role = {each.role: each.method for each in found.suggestions}
    usual = by_role.get(TO_UNDERSTAND) or next((name for name, each in facts.items() if not each.obstacle), "")
    usual = usual if usual in facts else next(iter(facts))
    return usual, get_note(usual).title
