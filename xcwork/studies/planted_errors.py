"""How well a review queue finds label errors that are known, because they were planted.

Of all (document, label) pairs of a split a share is drawn. One half of them is deleted: labels that an annotator
forgot. The other half is swapped for another label of about the same frequency, which the document does not have:
labels that an annotator took for others. So every drawn pair is a *missing* label, and every swap adds a *wrong* one. A
queue is judged by its precision: the share of its first n entries that are planted. What was wrong or missing in the
data before counts against it, so the figure is a lower bound.

Cost: one sort of the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.bands import Bands
from xcwork.core.split import Split
from xcwork.errors import ConfigError
from xcwork.sparse import make_canonical

FREQUENCY_WINDOW = 50  # labels of similar frequency that a swapped label is drawn from, on either side


@dataclass(frozen=True, eq=False)
class PlantedErrors:
    """A split with errors in its labels, and which ones they are."""

    split: Split
    missing: np.ndarray  # (n, 2) pairs of document row and label id that were taken away
    wrong: np.ndarray  # (m, 2) pairs that were added


def plant_errors(split: Split, *, share: float = 0.05, seed: int = 0) -> PlantedErrors:
    """Return `split` with a `share` of its labels deleted or swapped, half of them each."""
    if not 0 < share < 1:
        raise ConfigError(f"the share of planted errors must lie between 0 and 1, got {share}")
    rng = np.random.default_rng(seed)
    Y = make_canonical(split.Y)
    documents = np.repeat(np.arange(len(split)), np.diff(Y.indptr))
    drawn = rng.choice(Y.nnz, max(1, round(share * Y.nnz)), replace=False)
    swapped = drawn[: len(drawn) // 2]
    codes = documents.astype(np.int64) * split.n_labels + Y.indices  # ascending
    added = _draw_similar_labels(split.label_frequencies, Y.indices[swapped], rng)
    added_codes = np.unique(documents[swapped].astype(np.int64) * split.n_labels + added)
    # A document cannot get a label that it has; such a swap is a deletion.
    added_codes = added_codes[~np.isin(added_codes, codes)]
    kept = np.union1d(np.delete(codes, drawn), added_codes)
    changed = sparse.csr_array(
        (np.ones(len(kept), np.float32), (kept // split.n_labels, kept % split.n_labels)), shape=Y.shape
    )
    return PlantedErrors(
        replace(split, Y=make_canonical(changed)),
        np.column_stack([documents[drawn], Y.indices[drawn]]),
        np.column_stack([added_codes // split.n_labels, added_codes % split.n_labels]),
    )


def _draw_similar_labels(frequencies: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return for each label another one whose place in the order of frequencies is near."""
    order = np.flatnonzero(frequencies)[np.argsort(frequencies[frequencies > 0], kind="stable")]
    if len(order) < 2:
        raise ConfigError("labels can be swapped only where at least two occur")
    place = np.empty(len(frequencies), np.int64)
    place[order] = np.arange(len(order))
    window = min(FREQUENCY_WINDOW, len(order) - 1)
    start = np.clip(place[labels] - window, 0, len(order) - 1 - min(2 * window, len(order) - 1))
    # One place is left out of the range, so that no label is drawn for itself.
    drawn = start + rng.integers(0, min(2 * window, len(order) - 1), len(labels))
    return order[drawn + (drawn >= place[labels])]


def measure_precision(
    entries: np.ndarray, planted: np.ndarray, n_labels: int, *, firsts: Sequence[int] = (100, 1000), bands: Bands
) -> list[dict[str, Any]]:
    """Return the percentage of planted errors among the first entries (n, 2) of a queue: of all labels, and by band.

    The figure of a band is that of a queue with the labels of this band alone.
    """
    codes, wanted = (pairs[:, 0].astype(np.int64) * n_labels + pairs[:, 1] for pairs in (entries, planted))
    is_planted, band_of = np.isin(codes, wanted), bands.of_label[entries[:, 1]]
    chosen = {"all": is_planted} | {name: is_planted[band_of == band] for band, name in enumerate(bands.names)}
    return [
        {"first": first, "band": name, "entries": len(found[:first]), "precision": _compute_percent(found[:first])}
        for first in firsts
        for name, found in chosen.items()
    ]


def _compute_percent(found: np.ndarray) -> float | None:
    return round(100.0 * float(found.mean()), 2) if len(found) else None
