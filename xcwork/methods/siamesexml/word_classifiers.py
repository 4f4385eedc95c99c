"""Classifiers over the words themselves: what a label must know that a few hundred numbers cannot hold.

    score(x, l) = w_l · x + b_l,   min over w, b of  ½‖w‖² + ½b² + C Σ_i max(0, 1 - y_i (w·x_i + b))²

over the documents that have the label and those for which the searches of module II take it to be near: the same hard
negatives that teach the dense classifiers, the same solver as ZestXML's own weights (`methods.common.pair_svm`). A
dense classifier generalises from similar words, a sparse one is exact about each of them; their errors differ, and
`fusion` learns how far to trust either. A label without documents, or one that was added later, has margin -1.

Cost: O(passes * pairs * words of a document); weights below `MIN_WEIGHT` are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.kernels import use_cores_for
from xcwork.kernels.pair_scores import compute_pair_products
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.pair_svm import PairSVM, PairSvmSettings
from xcwork.methods.common.training_pairs import collect_training_pairs
from xcwork.methods.model import Params
from xcwork.sparse import enlarge, keep_entries

PRIOR_MARGIN = -1.0  # the margin of a label without any evidence
MIN_WEIGHT = 0.03  # smaller ones are dropped
MAX_WEIGHTS = 30_000  # of a label
MAX_PASSES = 16  # over the pairs of a label
PAIR_TOLERANCE = 0.02  # largest change of a pair at which a label is solved


@dataclass(frozen=True, eq=False)
class WordClassifiers:
    """A linear classifier over tokens for every label."""

    weights: sparse.csr_array  # (n_tokens, n_labels)
    bias: np.ndarray  # (n_labels,) float32

    @classmethod
    def make_empty(cls, n_labels: int, n_tokens: int) -> WordClassifiers:
        """Return no classifier for any label."""
        return cls(
            sparse.csr_array((n_tokens, n_labels), dtype=np.float32), np.full(n_labels, PRIOR_MARGIN, np.float32)
        )

    def extend(self, n_new: int) -> WordClassifiers:
        """Return the classifiers with new labels, which have none."""
        n_tokens, n_labels = self.weights.shape
        weights = enlarge(self.weights, (n_tokens, n_labels + n_new))
        return WordClassifiers(weights, np.concatenate([self.bias, np.full(n_new, PRIOR_MARGIN, np.float32)]))

    def replace_labels(self, labels: np.ndarray, theirs: WordClassifiers) -> WordClassifiers:
        """Return these classifiers with those of `labels` from another training."""
        is_theirs = np.isin(np.arange(len(self.bias)), labels)
        kept = keep_entries(self.weights, ~is_theirs[self.weights.indices])
        taken = keep_entries(theirs.weights, is_theirs[theirs.weights.indices])
        return WordClassifiers(sparse.csr_array(kept + taken), np.where(is_theirs, theirs.bias, self.bias))

    def compute_margins(self, x: sparse.csr_array, ids: np.ndarray) -> np.ndarray:
        """Return the scores of rows `x` (n, n_tokens) and labels `ids` (n, k), -1 for none."""
        w = self.weights
        margins = np.empty(ids.shape, np.float32)
        with use_cores_for(x.nnz * ids.shape[1]):
            compute_pair_products(x.data, x.indices, x.indptr, w.data, w.indices, w.indptr, w.shape[1], ids, margins)
        return margins + self.bias[ids]


def train_word_classifiers(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    near: np.ndarray,
    params: Params,
    progress: TrainingProgress,
    name: str,
    labels: np.ndarray | None = None,
) -> WordClassifiers:
    """Return classifiers from documents X (n_documents, n_tokens), their labels Y and labels `near` them, -1 for none.

    They are those of `labels`, or of all that have documents. `progress` remembers what is done under `name`.
    """
    pairs = collect_training_pairs(TopK(near, np.zeros(near.shape, np.float32)), Y, add_missed=True)
    settings = PairSvmSettings(
        C=params.C,
        max_passes=MAX_PASSES,
        tolerance=PAIR_TOLERANCE,
        prune=MIN_WEIGHT,
        max_weights=MAX_WEIGHTS,
        seed=params.seed,
    )
    machines = PairSVM(X, pairs, np.full(pairs.nnz, PRIOR_MARGIN, np.float32), settings, params.device)
    if labels is None:
        labels = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    weights, bias = machines.solve(labels, progress, name)
    return WordClassifiers(weights, (bias + PRIOR_MARGIN).astype(np.float32))
