"""Two dimensions made of many: PCA, which is fast, and UMAP, which keeps neighbourhoods.

PCA shows the two directions of largest variance. UMAP starts there, or at a given layout, and moves labels until those
that are neighbours in many dimensions are neighbours in two; only nearness means something. Its neighbours come from
the search index, its steps are reported one by one, and with the same seed it gives the same layout.

Reference: McInnes, Healy and Melville, UMAP: uniform manifold approximation and projection, arXiv 1802.03426.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import NamedTuple

import numpy as np

from xcwork.errors import DataError
from xcwork.extras import require_package
from xcwork.progress import track
from xcwork.search.hnsw import HnswIndex
from xcwork.search.index import ExactIndex, Index

NEIGHBOURS = 15
MIN_UMAP_LABELS = 40  # fewer have no neighbourhoods to keep
MAX_EXACT_LABELS = 12_000  # whose neighbours are searched by comparing all
MAX_PATIENT_LABELS = 10_000  # that are moved 500 times, as UMAP does by default
EPOCHS_OF_FEW = 500
EPOCHS_OF_MANY = 200
SPREAD = 1.0
# Between labels that are alike. A larger one would spread the labels more, but of tibkat-gnd the map keeps 0.21 of the
# neighbours at 0.1 and 0.10 at 0.8, and of pyseealso there were fewer and less distinct regions.
MIN_DISTANCE = 0.1
START_WIDTH = 10.0  # of the layout that UMAP begins with
# The first step of UMAP where it begins with the layout of another run; otherwise 1. On two runs of pyseealso it keeps
# as many neighbours (0.56), and labels move a fourth less (the median is 0.29 instead of 0.38 of the half width).
KEEPING_STEP = 0.05
START_NOISE = 1e-3  # so that equal labels can part


class Neighbours(NamedTuple):
    """The nearest labels of each label, itself first."""

    ids: np.ndarray  # (n, k) int32
    distances: np.ndarray  # (n, k) float32, 1 - cosine


def project_by_pca(reduced: np.ndarray) -> np.ndarray:
    """Return the rows along the two directions of largest variance, (n, 2); a direction that is missing gives zeros."""
    if not len(reduced):
        return np.zeros((0, 2), np.float32)
    centre = reduced.mean(axis=0, dtype=np.float64).astype(np.float32)
    scatter = (reduced.T @ reduced).astype(np.float64) - len(reduced) * np.outer(centre, centre)
    directions = np.linalg.eigh(scatter)[1][:, ::-1][:, :2]  # (d, 2)
    # A direction may as well point the other way; this one is always the same.
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, np.arange(directions.shape[1])] < 0, -1, 1)
    places = (reduced - centre) @ directions.astype(np.float32)
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def make_search_index(reduced: np.ndarray, *, seed: int = 0) -> Index:
    """Return an index of the labels: exact for some thousands, else a graph that is quick to build."""
    if len(reduced) <= MAX_EXACT_LABELS:
        return ExactIndex().build(reduced)
    return HnswIndex(M=16, ef_construction=100, ef=60, seed=seed).build(reduced)


def find_neighbours(reduced: np.ndarray, k: int = NEIGHBOURS, *, seed: int = 0) -> Neighbours:
    """Return the k nearest labels of each label by cosine, itself included and first."""
    k = min(k, len(reduced))
    best = make_search_index(reduced, seed=seed).query(reduced, k)
    own = np.arange(len(reduced))[:, None]
    ids, distances = best.ids.copy(), np.maximum(1.0 - best.scores, 0).astype(np.float32)
    is_self = ids == own
    # Among equal labels a search need not return the label itself.
    lacking = ~is_self.any(axis=1)
    ids[lacking, -1], distances[lacking, -1] = own[lacking, 0], 0
    is_self[lacking, -1] = True
    order = np.argsort(np.where(is_self, -1, np.arange(k)), axis=1, kind="stable")
    ids = np.take_along_axis(ids, order, axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    distances[:, 0] = 0
    return Neighbours(ids, distances)


def project_by_umap(reduced: np.ndarray, start: np.ndarray, *, is_kept: bool = False, seed: int = 0) -> np.ndarray:
    """Return the layout (n, 2) that UMAP makes of `start` (n, 2); with `is_kept` it is a layout to stay close to."""
    require_package("umap", "the layout umap")
    if len(reduced) < MIN_UMAP_LABELS:
        raise DataError(f"UMAP needs at least {MIN_UMAP_LABELS} labels, got {len(reduced)}", remedy="use PCA")
    umap_ = _import_umap()
    neighbours = find_neighbours(reduced, seed=seed)
    random = np.random.RandomState(seed)
    k = neighbours.ids.shape[1]
    graph = umap_.fuzzy_simplicial_set(
        reduced, k, random, "cosine", knn_indices=neighbours.ids, knn_dists=neighbours.distances
    )[0]
    a, b = umap_.find_ab_params(SPREAD, MIN_DISTANCE)
    n_epochs = EPOCHS_OF_FEW if len(reduced) <= MAX_PATIENT_LABELS else EPOCHS_OF_MANY
    listener = _EpochListener(n_epochs)
    positions = umap_.simplicial_set_embedding(
        reduced,
        graph,
        n_components=2,
        initial_alpha=KEEPING_STEP if is_kept else 1.0,
        a=a,
        b=b,
        gamma=1.0,
        negative_sample_rate=5,
        n_epochs=n_epochs,
        init=_widen(start, random),
        random_state=random,
        metric="cosine",
        metric_kwds={},
        densmap=False,
        densmap_kwds={},
        output_dens=False,
        tqdm_kwds={"disable": False, "file": listener, "bar_format": "{n}", "miniters": 1, "mininterval": 0},
    )[0]
    listener.finish()
    if not np.isfinite(positions).all():
        raise DataError("the layout of the labels did not converge", remedy="use PCA")
    return positions


def _import_umap() -> ModuleType:
    """Return UMAP; what it compiles is kept on disk, as our own kernels are.

    Otherwise each process that lays out labels compiles it again, which takes five seconds.
    """
    with warnings.catch_warnings():
        # Without widgets a notebook cannot draw the progress bars of a package that umap imports; nobody wants them.
        warnings.filterwarnings("ignore", message="IProgress not found")
        from umap import layouts, umap_
    from numba.core.dispatcher import Dispatcher

    for module in (layouts, umap_):
        for each in vars(module).values():
            if isinstance(each, Dispatcher) and each.stats.cache_path is None:
                with suppress(RuntimeError):  # there is no folder that may be written
                    each.enable_caching()
    return umap_


def _widen(start: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return a layout of the width that UMAP begins with, with a little noise."""
    centred = start - start.mean(axis=0)
    widest = max(float(np.abs(centred).max()), 1e-9)
    noise = random.normal(scale=START_NOISE * START_WIDTH, size=start.shape)
    return (START_WIDTH * centred / widest + noise).astype(np.float32)


class _EpochListener:
    """Stands where UMAP writes its progress bar, so that its epochs are reported and can be stopped."""

    def __init__(self, n_epochs: int) -> None:
        self._steps: Iterator[int] = track(range(n_epochs), "laying out labels")
        self._n_heard = -1

    def write(self, text: str) -> None:
        """Hear how many epochs are done; `Cancelled` ends UMAP."""
        done = text.strip()
        while done.isdigit() and self._n_heard < int(done):
            self._n_heard += 1
            next(self._steps, None)

    def flush(self) -> None:
        """Do nothing: what was heard is told already."""

    def finish(self) -> None:
        """Report the last epoch as done."""
        for _ in self._steps:
            pass
