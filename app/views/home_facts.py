"""What Home says about the best run of a dataset and about datasets: plain facts, kept between reruns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xcwork_app import caches, state
from xcwork_app.sources import Source, list_sources
from xcwork_app.views import selection, training_plan

from xcwork.errors import XcworkError
from xcwork.export.text import count_noun
from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.data.card import Card

K = 5
UNSEEN_BAND = "zero-shot"
MAX_REMEMBERED = 500  # datasets whose sizes are remembered
_READ_SIZES: dict[tuple[str, str], tuple[int, int]] = {}  # of datasets that were read, by id and stamp


@dataclass(frozen=True)
class RunFacts:
    """How good a run is, for people; percentages."""

    first_right: float  # P@1
    precision: float  # P@5
    highest_precision: float | None  # the highest P@5 that any list could have; None: the data cannot be read
    unseen_found: float | None  # of the labels without a training document, among the first 5; None: there are none
    n_labels: int
    n_test: int

    @property
    def share_of_best(self) -> float | None:
        return 100 * self.precision / self.highest_precision if self.highest_precision else None


@dataclass(frozen=True)
class DatasetFacts:
    """A dataset as a card shows it; sizes are None as long as nobody has read it."""

    source: Source
    origin: str  # "built in", "yours" or "on this machine"
    n_runs: int
    n_documents: int | None
    n_labels: int | None

    @property
    def sizes(self) -> str:
        """Documents and labels in words."""
        if self.n_documents is None or self.n_labels is None:
            return "not read yet"
        return f"{count_noun(self.n_documents, 'document')}, {count_noun(self.n_labels, 'label')}"


def find_shown_run(source: Source) -> Run | None:
    """Return the best finished run on the dataset, else the best one anywhere."""
    on_dataset = selection.find_best_run(selection.list_runs(source))
    if on_dataset is not None:
        return on_dataset
    best = (selection.find_best_run(caches.list_runs_on(each)) for each in caches.list_sources_of_runs())
    return selection.find_best_run([run for run in best if run is not None])


def get_run_facts(run: Run, source: Source) -> RunFacts | None:
    """Return the facts of a finished run; None where its evaluation cannot be read."""
    record = caches.get_record(run)
    if "P@1" not in record["metrics"]:
        return None
    try:
        highest = training_plan.compute_highest_precision(source, K)
    except (XcworkError, OSError):  # the dataset is gone; the run is not
        highest = None
    bands = caches.get_report(run).bands.get("absolute", {})
    unseen = bands.get(UNSEEN_BAND, {})
    measured = caches.glance(run).measured
    return RunFacts(
        record["metrics"]["P@1"],
        record["metrics"].get(f"P@{K}", 0.0),
        highest,
        unseen.get(f"recall@{K}") if unseen.get("test_positives") else None,
        measured.get("n_labels", 0),
        measured.get("n_test", 0),
    )


def list_dataset_facts(current: Source) -> list[DatasetFacts]:
    """Return all datasets with their sizes, the current one first, then those with most runs. None of them is read."""
    runs = {source: caches.list_runs_on(source) for source in caches.list_sources_of_runs()}
    sizes = {source: _find_sizes(found) for source, found in runs.items()}
    found = []
    for source in list_sources(*runs, current):
        counts = _READ_SIZES.get((source.id, source.make_stamp())) or sizes.get(source) or (None, None)
        found.append(DatasetFacts(source, name_origin(source), len(runs.get(source, ())), *counts))
    return sorted(found, key=lambda each: (each.source != current, -each.n_runs))


def _find_sizes(runs: list[Run]) -> tuple[int, int] | None:
    """Return how many documents and labels a dataset has, as the newest of its runs that knows noted it."""
    for run in runs:
        facts = caches.glance(run).measured
        if {"n_train", "n_test", "n_labels"} <= facts.keys():
            return facts["n_train"] + facts["n_test"], facts["n_labels"]
    return None


def name_origin(source: Source) -> str:
    """Return where a dataset comes from, in words."""
    if source.path is None:
        return "built in"
    return "yours" if "/" not in source.data else "on this machine"


def remember_sizes(source: Source, card: Card) -> bool:
    """Remember the sizes of a dataset that was read; return whether they were not known before."""
    key = source.id, source.make_stamp()
    is_new = key not in _READ_SIZES
    while is_new and len(_READ_SIZES) >= MAX_REMEMBERED:
        _READ_SIZES.pop(next(iter(_READ_SIZES)), None)
    _READ_SIZES[key] = (card.n_train + card.n_test, card.n_labels)
    return is_new


def choose_remaining(deleted: Source) -> Source:
    """Return the dataset to look at after one was deleted: one with most runs, of the user's own if possible."""
    left = [each for each in list_dataset_facts(Source.from_id(state.View().data)) if each.source != deleted]
    return max(left, key=lambda each: (each.n_runs, each.origin == "yours")).source
