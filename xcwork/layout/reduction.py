"""Label vectors in fifty dimensions, a block of labels at a time.

The directions are those of a randomised SVD of a sample; all vectors are then projected on them block by block and made
unit vectors again. Without the latter a few labels that are nearly the same would take the first directions for
themselves. A label of which the directions hold next to nothing, such as a single rare word, becomes a row of zeros:
nothing says where it belongs. Memory: the sample, the directions and (n_labels, 50) numbers, whatever the size
of the vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from xcwork.progress import track
from xcwork.sparse import normalise_rows

REDUCED_DIMENSIONS = 50
LABELS_PER_BLOCK = 20_000
# Of a unit vector in the fifty dimensions. Judged by pairs of labels of held-out training documents (a fifth of
# tibkat-gnd and wordnet-reverse): the other label is nearer than a random one in 74 % of cases where 0.005 to 0.01 of
# the length is held, 76 to 79 % up to 0.05, 75 to 80 % up to 0.1, but 55 % and less below 0.001, where 50 % is chance.
MIN_HELD_LENGTH = 0.005


def reduce_vectors(vectors: Any, ids: np.ndarray, sample: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Return the rows `ids` of `vectors` in at most fifty dimensions, (len(ids), d) float32 of length 1.

    `sample` are the positions in `ids` of the labels that the directions are found with.
    """
    directions = _find_directions(vectors[ids[sample]], seed)
    width = vectors.shape[1] if directions is None else directions.shape[1]
    reduced = np.empty((len(ids), width), np.float32)
    for start in track(range(0, len(ids), LABELS_PER_BLOCK), "reducing label vectors"):
        rows = vectors[ids[start : start + LABELS_PER_BLOCK]]
        if directions is not None:
            rows = rows @ directions
        elif sparse.issparse(rows):
            rows = rows.toarray()
        block = np.asarray(rows, np.float32)
        # What the directions hardly hold would become noise of length 1.
        block = np.where(np.linalg.norm(block, axis=1, keepdims=True) >= MIN_HELD_LENGTH, block, np.float32(0))
        reduced[start : start + LABELS_PER_BLOCK] = normalise_rows(block)
    return reduced


def _find_directions(rows: Any, seed: int) -> np.ndarray | None:
    """Return the directions that hold most of the rows, (n_columns, 50); None where there are not more than that."""
    if min(rows.shape) <= REDUCED_DIMENSIONS:
        # Few labels may have many columns, but then all of them fit.
        return None
    from sklearn.decomposition import TruncatedSVD  # half of the time that a worker takes for a small dataset

    used = np.unique(rows.indices) if sparse.issparse(rows) else np.arange(rows.shape[1])
    # Of a large vocabulary a sample uses a small part.
    found = TruncatedSVD(REDUCED_DIMENSIONS, random_state=seed).fit(
        rows[:, used] if len(used) < rows.shape[1] else rows
    )
    directions = np.zeros((rows.shape[1], REDUCED_DIMENSIONS), np.float32)
    directions[used] = found.components_.T
    return directions
