"""The label map of a run, in its folder: `map/umap/` and `map/pca/`, each a layout with its regions.

It is made by the worker when the run is finished, by `xcwork map`, or by the dashboard. Nothing else of a run depends
on it: the folder can be deleted at any time. `map/steps/` holds what an interrupted layout has computed so far.
"""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.errors import RunError, XcworkError
from xcwork.layout.label_layout import KINDS, LabelLayout, compute_label_layout
from xcwork.layout.label_vectors import LabelVectors
from xcwork.layout.regions import LabelRegions, find_regions
from xcwork.runs.locks import FileLock
from xcwork.runs.store import Run, RunStore, refuse_links
from xcwork.storage.state import read_state, write_state

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

MAP_FOLDER = "map"
STEPS_FOLDER = "steps"
LOCK_FILE = "lock"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RunMap:
    """Where the labels of a run lie, and what their regions are called."""

    layout: LabelLayout
    regions: LabelRegions

    def find_labels(self, region: int) -> Any:
        """Return the ids of the labels in a region."""
        return self.regions.find_labels(region, self.layout)


def read_map(run: Run, kind: str = "umap", *, like: Run | None = None) -> RunMap | None:
    """Return the stored map of a run; None where there is none that can be used."""
    folder = _find_folder(run, kind, like)
    if not folder.is_dir():
        return None
    refuse_links(run.folder)
    try:
        state = read_state(folder)
        layout = LabelLayout.from_state(state["layout"])
        return RunMap(layout, LabelRegions.from_state(state["regions"], len(layout.ids)))
    except (XcworkError, KeyError, TypeError, AttributeError) as damage:
        logger.warning("the stored map of run %s cannot be used: %s", run.id, damage)
        return None


def make_map(
    run: Run,
    dataset: Dataset | None = None,
    method: Method | None = None,
    *,
    kind: str = "umap",
    like: Run | None = None,
    again: bool = False,
    seed: int = 0,
) -> RunMap:
    """Return the stored map of a run, or make and store it.

    `like` is another run on the same labels whose map this one shall resemble; if it is not given, the oldest run on
    the same data that has a map is taken. `dataset` and `method` are loaded where they are not given.
    """
    if like is not None and read_map(like, kind) is None:
        raise RunError(f"run {like.id} has no map yet; `xcwork map {like.id}` makes it")
    stored = None if again else read_map(run, kind, like=like)
    if stored is not None:
        return stored
    refuse_links(run.folder)
    (run.folder / MAP_FOLDER).mkdir(exist_ok=True)
    with FileLock(run.folder / MAP_FOLDER / f"{LOCK_FILE}-{kind}") as lock:
        if not lock.acquire(holder="map"):
            raise RunError(f"the map of run {run.id} is being made already; wait for it or cancel it")
        made = _compute_map(run, dataset, method, kind, like, seed)
        if not run.folder.is_dir():
            raise RunError(f"run {run.id} was deleted while its map was made; the map goes with it")
        state = {"layout": made.layout.to_state(), "regions": made.regions.to_state()}
        write_state(_find_folder(run, kind, like), state)
        shutil.rmtree(_find_steps(run, kind), ignore_errors=True)
    return made


def _compute_map(
    run: Run, dataset: Dataset | None, method: Method | None, kind: str, like: Run | None, seed: int
) -> RunMap:
    method = run.load_model() if method is None else method
    dataset = _load_data(run) if dataset is None else dataset
    near = find_reference(run, kind) if like is None else like
    reference = None if near is None else read_map(near, kind)
    layout = compute_label_layout(
        LabelVectors.from_method(method, dataset.labels, dataset.train),
        dataset.train.label_frequencies,
        kind=kind,
        reference=None if reference is None else reference.layout,
        seed=seed,
        folder=_find_steps(run, kind),
    )
    return RunMap(layout, find_regions(layout, dataset, seed=seed))


def find_reference(run: Run, kind: str = "umap") -> Run | None:
    """Return the oldest other run on the same data that has a map."""
    data = run.config["dataset"]
    for other in RunStore(run.home).list():
        if other.id == run.id or not _find_folder(other, kind, None).is_dir():
            continue
        try:
            theirs = other.config["dataset"]
        except RunError:  # damaged; its map is not used
            continue
        if data and theirs and data.get("fingerprint") == theirs.get("fingerprint") and read_map(other, kind):
            return other
    return None


def _load_data(run: Run) -> Dataset:
    from xcwork.data.load import load_dataset

    config = run.config
    return load_dataset(config["data"], home=run.home, **config["data_options"])


def _find_folder(run: Run, kind: str, like: Run | None) -> Path:
    if kind not in KINDS:
        raise RunError(f"a label map is one of {', '.join(KINDS)}, got {kind!r}")
    return run.folder / MAP_FOLDER / (kind if like is None else f"{kind}-like-{like.id}")


def _find_steps(run: Run, kind: str) -> Path:
    return run.folder / MAP_FOLDER / STEPS_FOLDER / kind
