"""The label map: label vectors in two dimensions, so that labels which mean the same lie close together.

*What is drawn.* At most ten thousand labels, a stratified sample over the bands; labels that somebody looks for, and
their neighbours, are always added. The sample does not depend on them, so the map stays the same while people search.

*Layout.* The vectors are reduced to fifty dimensions and made unit vectors again; without the latter a few labels that
are nearly the same would take both directions for themselves and leave all others at one point. PCA then shows the two
directions of largest variance; it is fast. UMAP keeps neighbourhoods instead; it takes longer and only nearness means
something. Labels added to the sample are put at the mean of their nearest drawn labels, weighted by similarity.

*Clusters* are k-means over the same vectors, for colouring, named by the terms their labels share most.

A layout depends on vectors, sample, kind and seed alone. Stored in the run folder under a hash of these it is computed
once; the folder can be deleted at any time. Cost: O(sample * dimension); UMAP takes many times as long as PCA.

Reference: McInnes, Healy and Melville, UMAP: uniform manifold approximation and projection, arXiv 1802.03426.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.analysis.neighbours import LabelVectors
from xcwork.analysis.paging import look_up_names
from xcwork.core.bands import Bands, absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.errors import ConfigError, DataError, XcworkError
from xcwork.extras import require_package
from xcwork.progress import track
from xcwork.sparse import normalise_rows
from xcwork.storage.state import read_state, write_state

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("pca", "umap")
MAX_POINTS = 10_000
REDUCED_DIMENSIONS = 50  # that layouts and k-means work in
NEIGHBOURS = 15  # of UMAP, and for placing labels that are added
MAX_KEPT_LAYOUTS = 8
MAX_CENTRES = 20  # chosen labels whose neighbours are drawn, too
VERSION = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Positions and colours of the drawn labels.

    `points` has label_id, label, x, y, band, train_documents, recall (percent, missing without test documents or
    predictions), cluster (its name) and chosen (looked for, or next to a label that was).
    """

    points: pd.DataFrame
    n_labels: int
    n_without_vector: int
    kind: str
    source: str
    band_names: tuple[str, ...]

    @property
    def caption(self) -> str:
        """What is shown, in words."""
        text = f"{len(self.points):,} of {self.n_labels:,} labels, {self.kind.upper()} of {self.source}"
        if len(self.points) + self.n_without_vector < self.n_labels:
            text += "; a sample, spread as evenly over the bands as they allow"
        if self.n_without_vector:
            text += f"; {self.n_without_vector:,} labels have no vector"
        return text


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the sample lies."""

    ids: np.ndarray  # (n,)
    positions: np.ndarray  # (n, 2)
    clusters: np.ndarray  # (n,)


def label_map(
    vectors: LabelVectors,
    dataset: Dataset,
    *,
    kind: str = "pca",
    chosen: Collection[int] = (),
    neighbours: int = 10,
    recall: np.ndarray | None = None,
    bands: Bands | None = None,
    n_clusters: int = 7,
    max_points: int = MAX_POINTS,
    seed: int = 0,
    folder: str | Path | None = None,
) -> LabelMap:
    """Return the map of the labels of `dataset` that have a vector.

    `chosen` labels and their `neighbours` nearest ones are always drawn. `recall` (n_labels,) is for colouring, see
    `label_details.label_recall`. With `folder` (`run.folder / "maps"`) the layout is kept for the next time.
    """
    import pandas as pd

    _check_settings(kind, max_points)
    n_labels = len(dataset.labels)
    if len(vectors) < n_labels:
        raise DataError(f"there are vectors for {len(vectors)} labels, but the dataset has {n_labels}")
    frequencies = dataset.train.label_frequencies
    bands = absolute_bands(frequencies) if bands is None else bands
    known = vectors.is_known()[:n_labels]
    # Room for labels that are looked for is set aside, so that the sample and its layout stay the same meanwhile.
    room = max_points // 10
    groups = np.where(known, bands.of_label, -1)
    sample = sample_evenly(groups, max_points if known.sum() <= max_points else max_points - room, seed=seed)
    wanted = _add_neighbours(vectors, known, chosen, neighbours)
    extra = wanted[~np.isin(wanted, sample)][:room]
    layout = _get_layout(vectors, sample, kind, n_clusters, seed, folder)
    ids, positions, clusters = _add_labels(layout, vectors, extra)
    points = pd.DataFrame(
        {
            "label_id": ids,
            "label": look_up_names(dataset.labels, ids),
            "x": positions[:, 0],
            "y": positions[:, 1],
            "band": bands.names_of(ids),
            "train_documents": frequencies[ids],
            "recall": np.full(len(ids), np.nan) if recall is None else recall[ids],
            "cluster": _name_clusters(dataset.labels, ids, clusters),
            "chosen": np.isin(ids, wanted),
        }
    )
    return LabelMap(points, n_labels, int((~known).sum()), kind, vectors.source, bands.names)


def _check_settings(kind: str, max_points: int) -> None:
    if kind not in KINDS:
        raise ConfigError(f"a label map is one of {', '.join(KINDS)}, got {kind!r}")
    if not 2 <= max_points <= MAX_POINTS:
        raise ConfigError(f"a label map draws 2 to {MAX_POINTS:,} labels, got {max_points}")


def sample_evenly(groups: np.ndarray, size: int, *, seed: int = 0) -> np.ndarray:
    """Return ascending positions of at most `size` items, as evenly over the groups as their sizes allow.

    `groups` has the group of each item, and -1 for one that must not be chosen. A small group is taken whole and what
    it leaves goes to the others: the few frequent labels stay beside the many rare ones.
    """
    if size < 1:
        raise ConfigError(f"a sample has at least 1 item, got {size}")
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max(initial=-1)) + 1)]
    members = sorted((some for some in members if len(some)), key=len)
    chosen, left = [np.empty(0, np.int64)], size
    for position, some in enumerate(members):
        # Smallest first: whatever a group cannot use is shared by those that follow.
        share = min(len(some), -(-left // (len(members) - position)))
        chosen.append(some if share == len(some) else rng.choice(some, share, replace=False))
        left -= share
    return np.sort(np.concatenate(chosen))


def _add_neighbours(vectors: LabelVectors, known: np.ndarray, chosen: Collection[int], k: int) -> np.ndarray:
    """Return the chosen labels that have a vector, and the neighbours of the first of them."""
    centres = [int(label) for label in chosen if 0 <= label < len(known) and known[label]]
    around = [vectors.nearest(label, k)[0] for label in centres[:MAX_CENTRES]] if k else []
    others = np.concatenate([np.empty(0, np.int64), *around]).astype(np.int64)
    # In the order of importance, because there may not be room for all.
    return np.array(list(dict.fromkeys([*centres, *others[others < len(known)].tolist()])), np.int64)


def _get_layout(
    vectors: LabelVectors, sample: np.ndarray, kind: str, n_clusters: int, seed: int, folder: str | Path | None
) -> _Layout:
    rows = vectors.vectors[sample]
    if folder is None:
        return _compute_layout(rows, sample, kind, n_clusters, seed)
    stored = Path(folder) / _hash_inputs(rows, sample, kind, n_clusters, seed)
    try:
        if stored.is_dir():
            return _Layout(**read_state(stored))
    except (XcworkError, TypeError) as damage:
        log.warning("the stored label map %s is recomputed: %s", stored.name, damage)
    layout = _compute_layout(rows, sample, kind, n_clusters, seed)
    try:
        write_state(stored, vars(layout))
        for old in sorted(Path(folder).iterdir(), key=lambda entry: -entry.stat().st_mtime)[MAX_KEPT_LAYOUTS:]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError as problem:
        log.warning("the label map could not be kept: %s", problem)
    return layout


def _hash_inputs(rows: Any, sample: np.ndarray, kind: str, n_clusters: int, seed: int) -> str:
    """Return a name for everything that the layout depends on."""
    digest = hashlib.sha256(f"{VERSION} {kind} {n_clusters} {seed} {rows.shape}".encode())
    parts = (rows.data, rows.indices, rows.indptr) if sparse.issparse(rows) else (rows,)
    for part in (sample, *parts):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return f"{kind}-{digest.hexdigest()[:16]}"


def _compute_layout(rows: Any, sample: np.ndarray, kind: str, n_clusters: int, seed: int) -> _Layout:
    from threadpoolctl import threadpool_limits

    # One thread: the matrices are small, threads that wait for a busy core cost many times as much as they save, and
    # the result does not depend on the number of cores.
    with threadpool_limits(1):
        steps = track(("reducing", "clustering", "laying out"), "drawing the label map", total=3)
        next(steps)
        reduced = _reduce(rows, seed)
        next(steps)
        clusters = _find_clusters(reduced, n_clusters, seed)
        next(steps)
        positions = _project_by_pca(reduced) if kind == "pca" else _project_by_umap(reduced, seed)
        for _ in steps:  # reports the last step as done
            pass
    return _Layout(sample, positions.astype(np.float32), clusters)


def _reduce(rows: Any, seed: int) -> np.ndarray:
    """Return the rows in at most fifty dimensions, of length 1 again."""
    from sklearn.decomposition import TruncatedSVD

    if sparse.issparse(rows):
        rows = rows[:, np.unique(rows.indices)]  # of a large vocabulary the sample uses a small part
    if rows.shape[1] <= REDUCED_DIMENSIONS or rows.shape[0] <= REDUCED_DIMENSIONS:
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, np.float32)
    return normalise_rows(TruncatedSVD(REDUCED_DIMENSIONS, random_state=seed).fit_transform(rows).astype(np.float32))


def _find_clusters(reduced: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return the cluster of each row; clusters are numbered by size, the largest first."""
    from sklearn.cluster import KMeans

    n_clusters = min(n_clusters, len(np.unique(reduced.round(5), axis=0)))
    if n_clusters < 2:
        return np.zeros(len(reduced), np.int64)
    found = KMeans(n_clusters, random_state=seed, n_init=3).fit_predict(reduced)
    order = np.argsort(-np.bincount(found, minlength=n_clusters), kind="stable")
    number = np.empty(n_clusters, np.int64)
    number[order] = np.arange(n_clusters)
    return number[found]


def _project_by_pca(reduced: np.ndarray) -> np.ndarray:
    """Return the rows along the two directions of largest variance, (n, 2); a direction that is missing gives zeros."""
    if not len(reduced):
        return np.zeros((0, 2))
    centred = reduced - reduced.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    # A direction may as well point the other way; this one is always the same.
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.where(directions[np.arange(len(directions)), largest] < 0, -1, 1)[:, None]
    return np.pad(centred @ directions.T, ((0, 0), (0, 2 - len(directions))))


def _project_by_umap(reduced: np.ndarray, seed: int) -> np.ndarray:
    if len(reduced) < 5:  # too few for neighbourhoods; any two coordinates will do
        return np.pad(reduced, ((0, 0), (0, max(0, 2 - reduced.shape[1]))))[:, :2]
    require_package("umap", "the layout umap")
    with warnings.catch_warnings():
        # Without widgets a notebook cannot draw the progress bars of a package that umap imports; nobody wants them.
        warnings.filterwarnings("ignore", message="IProgress not found")
        import umap

    start = "spectral" if len(reduced) > 50 else "random"
    model = umap.UMAP(
        n_neighbors=min(NEIGHBOURS, len(reduced) - 1), metric="cosine", random_state=seed, n_jobs=1, init=start
    )
    return model.fit_transform(reduced)


def _add_labels(layout: _Layout, vectors: LabelVectors, extra: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (ids, positions, clusters) of the sample and of the labels added to it."""
    if not len(extra):
        return layout.ids, layout.positions, layout.clusters
    rows, drawn = vectors.vectors[extra], vectors.vectors[layout.ids]
    similar = rows @ drawn.T  # (n_extra, n_drawn)
    similar = np.maximum(similar.toarray() if sparse.issparse(similar) else similar, 0)
    nearest = np.argsort(-similar, axis=1, kind="stable")[:, :NEIGHBOURS]
    weights = np.take_along_axis(similar, nearest, axis=1) + 1e-9
    positions = np.einsum("ij,ijc->ic", weights, layout.positions[nearest]) / weights.sum(axis=1, keepdims=True)
    clusters = layout.clusters[nearest[:, 0]]
    ids = np.concatenate([layout.ids, extra])
    return ids, np.vstack([layout.positions, positions]), np.concatenate([layout.clusters, clusters])


def _name_clusters(labels: LabelSpace, ids: np.ndarray, clusters: np.ndarray) -> list[str]:
    """Return each cluster as its number and the terms that weigh most in the texts of its labels."""
    names = {}
    for cluster in np.unique(clusters).tolist():
        terms: list[str] = []
        if labels.Z is not None and labels.features is not None:
            weights = np.asarray(labels.Z[ids[clusters == cluster]].sum(axis=0)).ravel()
            best = np.argsort(-weights, kind="stable")[:3]
            terms = [labels.features.name(term) for term in best[weights[best] > 0].tolist()]
        names[cluster] = f"{cluster + 1}: {', '.join(terms)}" if terms else f"{cluster + 1}"
    return [names[cluster] for cluster in clusters.tolist()]
