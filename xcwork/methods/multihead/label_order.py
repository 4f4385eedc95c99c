"""Which labels become neighbours in the code: the order in which labels are numbered before they are split into heads.

- given          as the dataset numbers them
- alphabetical   by name, which is what the authors' released runs do
- random         a permutation from the seed
- cluster        labels with similar documents next to each other

For `cluster` a label is the mean of its documents, reduced to a few dimensions. The labels are split into two halves of
equal size by spherical 2-means, and each half again, until a part fits into a group; reading the parts from left to
right gives the order. Labels without documents come last.

Cost of `cluster`: one sparse product Yᵀ X, one truncated SVD, O(n_labels log n_labels) for the splits.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.sparse import normalise_rows

ORDERS = ("random", "cluster", "alphabetical", "given")
EMBEDDING_DIMENSIONS = 64
ROUNDS_PER_SPLIT = 10  # of 2-means


def order_labels(train: Split, kind: str, *, group_size: int, seed: int) -> np.ndarray:
    """Return the label at each code, (n_labels,): a permutation."""
    n_labels = train.n_labels
    if kind == "given":
        return np.arange(n_labels)
    if kind == "alphabetical":
        return np.array(sorted(range(n_labels), key=lambda label: (train.labels.names[label], label)), np.int64)
    rng = np.random.default_rng((seed, 11))
    if kind == "random":
        return rng.permutation(n_labels)
    seen = np.flatnonzero(train.label_frequencies)
    unseen = np.flatnonzero(train.label_frequencies == 0)
    parts = _halve_labels(_embed_labels(train, seed)[seen], seen, max(group_size, 1), rng)
    return np.concatenate([*parts, unseen])


def _embed_labels(train: Split, seed: int) -> np.ndarray:
    """Return the mean document of every label in few dimensions, unit rows (n_labels, dimensions)."""
    from sklearn.decomposition import TruncatedSVD

    means = normalise_rows(sparse.csr_array(train.Y.T) @ normalise_rows(train.X))
    if min(means.shape) <= EMBEDDING_DIMENSIONS:
        return normalise_rows(means.toarray())
    # scikit-learn knows sparse matrices only, not yet sparse arrays, in all versions that are allowed.
    return normalise_rows(TruncatedSVD(EMBEDDING_DIMENSIONS, random_state=seed).fit_transform(sparse.csr_matrix(means)))


def _halve_labels(vectors: np.ndarray, labels: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return `labels` in parts of at most `size`, similar ones together."""
    if len(labels) <= size:
        return [labels]
    centres = vectors[rng.choice(len(vectors), 2, replace=False)]
    # The left half is a multiple of a group, so that no group straddles two halves.
    half = max(size, len(labels) // 2 // size * size)
    for _ in range(ROUNDS_PER_SPLIT):
        by_lean = np.argsort(-(vectors @ (centres[0] - centres[1])), kind="stable")
        parts = by_lean[:half], by_lean[half:]
        centres = normalise_rows(np.stack([vectors[part].sum(axis=0) for part in parts]))
    return [piece for part in parts for piece in _halve_labels(vectors[part], labels[part], size, rng)]
