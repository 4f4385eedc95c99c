"""Classifiers over the words themselves: what a label must know that a few hundred numbers cannot hold.

    score(x, l) = w_l · x + b_l,   min over w, b of  ½‖w‖² + ½b² + C Σ_i max(0, 1 - y_i (w·x_i + b))²

over the documents that carry the label and those for which the searches of module II take it to be near: the same hard
negatives that teach the dense classifiers, the same solver as ZestXML's own weights (`methods.common.pair_svm`). A
dense classifier generalises from similar words, a sparse one is exact about each of them; their errors differ, and
`fusion` learns how far to trust either. A label that no document carries, or that was added later, has margin -1.

Cost: O(passes * pairs * words of a document); weights below `SMALLEST` are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.kernels import cores_for
from xcwork.kernels.pair_scores import pair_products
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.pair_svm import OwnProblem
from xcwork.methods.common.training_pairs import training_pairs
from xcwork.sparse import enlarge

PRIOR = -1.0  # the margin of a label that nothing speaks for
SMALLEST, MOST = 0.03, 30_000  # weights of a label: by size, by number
PASSES, TOLERANCE = 16, 0.02


@dataclass(frozen=True, eq=False)
class Terms:
    """A linear classifier over tokens for every label."""

    weights: sparse.csr_array  # (n_tokens, n_labels)
    bias: np.ndarray  # (n_labels,) float32

    @classmethod
    def none(cls, n_labels: int, n_tokens: int) -> Terms:
        """No classifier for any label."""
        return cls(sparse.csr_array((n_tokens, n_labels), dtype=np.float32), np.full(n_labels, PRIOR, np.float32))

    def extended(self, n_new: int) -> Terms:
        """With labels added that have no classifier."""
        n_tokens, n_labels = self.weights.shape
        weights = enlarge(self.weights, (n_tokens, n_labels + n_new))
        return Terms(weights, np.concatenate([self.bias, np.full(n_new, PRIOR, np.float32)]))

    def margins(self, x: sparse.csr_array, ids: np.ndarray) -> np.ndarray:
        """The scores of rows `x` (n, n_tokens) and labels `ids` (n, k), -1 for none."""
        w, margins = self.weights, np.empty(ids.shape, np.float32)
        with cores_for(x.nnz * ids.shape[1]):
            pair_products(x.data, x.indices, x.indptr, w.data, w.indices, w.indptr, w.shape[1], ids, margins)
        return margins + self.bias[ids]


def learn_terms(
    X: sparse.csr_array, Y: sparse.csr_array, near: np.ndarray, settings: Any, progress: TrainingProgress, name: str
) -> Terms:
    """Classifiers from documents X (n_documents, n_tokens), their labels Y and labels `near` them, -1 for none.

    `progress` remembers what is done under `name`.
    """
    pairs = training_pairs(TopK(near, np.zeros(near.shape, np.float32)), Y, add_missed=True)
    problem = OwnProblem(
        X,
        pairs,
        np.full(pairs.nnz, PRIOR, np.float32),
        logistic=False,
        C=settings.C,
        passes=PASSES,
        tolerance=TOLERANCE,
        smallest=SMALLEST,
        keep=MOST,
        seed=settings.seed,
    )
    labels = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    weights, bias = problem.solve(labels, progress, name)
    return Terms(weights, (bias + PRIOR).astype(np.float32))
