"""The layout of a label map: a place for every label that has a vector.

Vectors are reduced to fifty dimensions; PCA or UMAP make two of them. Up to 150,000 labels UMAP lays out all; of more
it lays out a sample of 50,000, evenly over frequencies, and puts the others beside their nearest laid-out labels. The
layout of another run on the same labels can be the start, and the result is turned onto it: then two maps can be
compared side by side.

A layout depends on vectors, kind, reference and seed alone. With a folder the steps are kept there, so that a layout
that was interrupted resumes where it stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xcwork.errors import ConfigError, DataError, XcworkError
from xcwork.layout.label_vectors import LabelVectors
from xcwork.layout.placement import place_others
from xcwork.layout.projection import MIN_UMAP_LABELS, project_by_pca, project_by_umap
from xcwork.layout.reduction import reduce_vectors
from xcwork.layout.sampling import sample_labels
from xcwork.layout.scaling import fit_into_square, lay_across, turn_onto
from xcwork.storage.fingerprint import hash_content
from xcwork.storage.state import read_state, write_state

KINDS = ("pca", "umap")
VERSION = 4
MAX_UMAP_LABELS = 150_000  # laid out whole: two to three minutes of one core
MAX_SAMPLED_LABELS = 50_000  # laid out where there are more
MAX_REDUCTION_LABELS = 20_000  # that the fifty dimensions are found with

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LabelLayout:
    """Where labels lie."""

    ids: np.ndarray  # (n,) int64, ascending
    positions: np.ndarray  # (n, 2) float32 in [-1, 1]
    kind: str
    n_labels: int  # with those that have no place
    n_laid_out: int  # the others were put beside them
    source: str  # of the vectors
    n_adrift: int = 0  # with a vector that has too little in common with others to say where they belong

    @property
    def n_missing(self) -> int:
        """Labels without a place, because they have no vector."""
        return self.n_labels - len(self.ids)

    @property
    def caption(self) -> str:
        """What is shown, in words."""
        text = f"{self.n_labels:,} labels"
        if self.n_missing:
            text += f", {self.n_missing:,} of them without a place"
        if self.n_laid_out < len(self.ids):
            text += f"; {self.n_laid_out:,} were laid out, the others stand beside the nearest of these"
        if self.n_adrift:
            few = "has too little in common with others, so its place means nothing"
            many = "have too little in common with others, so their places mean nothing"
            text += f"; {self.n_adrift:,} {few if self.n_adrift == 1 else many}"
        return text

    def find_missing(self) -> np.ndarray:
        """Return ids of the labels without a place."""
        return np.setdiff1d(np.arange(self.n_labels), self.ids)

    def to_state(self) -> dict[str, Any]:
        """Return plain values and arrays to store."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LabelLayout:
        """Return the layout that `to_state` described, or a DataError when it is none."""
        layout = cls(**state)
        n = len(layout.ids)
        if layout.positions.shape != (n, 2) or layout.kind not in KINDS or not n <= layout.n_labels:
            raise DataError("the stored layout of the labels is damaged", remedy="make the map again")
        if not np.isfinite(layout.positions).all() or np.abs(layout.positions).max(initial=0) > 1:
            raise DataError("the stored layout of the labels has places outside the map", remedy="make the map again")
        return layout


def compute_label_layout(
    vectors: LabelVectors,
    frequencies: np.ndarray,
    *,
    kind: str = "umap",
    reference: LabelLayout | None = None,
    max_umap_labels: int | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
) -> LabelLayout:
    """Return the layout of all labels that have a vector; `frequencies` (n_labels,) are their training documents."""
    from threadpoolctl import threadpool_limits

    if kind not in KINDS:
        raise ConfigError(f"a label map is one of {', '.join(KINDS)}, got {kind!r}")
    n_labels = len(frequencies)
    if len(vectors) < n_labels:
        raise DataError(f"there are vectors for {len(vectors)} labels, but the dataset has {n_labels}")
    ids = np.flatnonzero(vectors.is_known()[:n_labels]).astype(np.int64)
    counts = frequencies[ids]
    if max_umap_labels is None:
        max_umap_labels = len(ids) if len(ids) <= MAX_UMAP_LABELS else MAX_SAMPLED_LABELS
    steps = _Steps(folder, _hash_inputs(vectors, ids, kind, reference, max_umap_labels, seed) if folder else "")
    # One thread: others may be training beside us, and the result does not depend on the number of cores.
    with threadpool_limits(1):
        samples = sample_labels(counts, MAX_REDUCTION_LABELS, seed=seed)
        reduced = steps.take("reduced", lambda: reduce_vectors(vectors.vectors, ids, samples, seed=seed))
        laid_out = np.arange(len(ids))
        places = project_by_pca(reduced)
        if kind == "umap" and len(ids) >= MIN_UMAP_LABELS:
            laid_out = sample_labels(counts, max_umap_labels, seed=seed)
            start = _choose_start(places, ids, reference)
            is_kept = reference is not None
            moved = steps.take(
                "moved", lambda: project_by_umap(reduced[laid_out], start[laid_out], is_kept=is_kept, seed=seed)
            )
            places = lay_across(place_others(reduced, laid_out, moved, seed=seed))
        if reference is not None:
            places = turn_onto(places, ids, reference.positions, reference.ids)
        positions = fit_into_square(places)
    n_adrift = int((~reduced.any(axis=1)).sum())
    return LabelLayout(ids, positions, kind, n_labels, len(laid_out), vectors.source, n_adrift)


def _choose_start(places: np.ndarray, ids: np.ndarray, reference: LabelLayout | None) -> np.ndarray:
    """Return PCA places in the square, or those of the reference for labels that it has."""
    if reference is None:
        return fit_into_square(places)
    start = fit_into_square(turn_onto(places, ids, reference.positions, reference.ids))
    shared = np.isin(ids, reference.ids)
    start[shared] = reference.positions[np.isin(reference.ids, ids)]
    return start


class _Steps:
    """Results of steps in a folder, each under a hash of everything it depends on."""

    def __init__(self, folder: str | Path | None, inputs: str) -> None:
        self._folder = None if folder is None else Path(folder)
        self._inputs = inputs

    def take(self, name: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the stored result of a step, or compute and store it."""
        if self._folder is None:
            return compute()
        stored = self._folder / f"{name}-{self._inputs}"
        try:
            if stored.is_dir():
                return read_state(stored)["result"]
        except (XcworkError, KeyError) as damage:
            log.warning("a stored step of the label map is done again: %s", damage)
        result = compute()
        try:
            write_state(stored, {"result": np.ascontiguousarray(result)})
        except OSError as problem:
            log.warning("a step of the label map could not be kept: %s", problem)
        return result


def _hash_inputs(
    vectors: LabelVectors, ids: np.ndarray, kind: str, reference: LabelLayout | None, max_umap_labels: int, seed: int
) -> str:
    """Return a name for everything that the steps depend on."""
    known = None if reference is None else [reference.ids, reference.positions]
    inputs = {"vectors": vectors.vectors, "ids": ids, "reference": known}
    settings = {"version": VERSION, "kind": kind, "max_umap_labels": max_umap_labels, "seed": seed}
    return hash_content(inputs | settings)
