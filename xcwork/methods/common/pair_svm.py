"""The weights that a seen label has to itself: the identity columns of W.

For each label, over the documents on whose shortlist it stands and those that carry it,

    min over w, b of  ½‖w‖² + ½b² + C Σ_i loss(y_i (w·x_i + b + o_i))

where o_i is what prior, exact matches and shared pairs already say. Starting from them rather than from nothing is what
makes rare labels better than plain one-vs-all, and negatives from the shortlist are what makes it cheap: a label meets
the documents that resemble its own instead of all of them. Weights below `smallest` are dropped afterwards, and at most
`keep` stay: hard thresholding once more.

Cost: O(passes * pairs * nnz(x)), most pairs being looked at only once. Blocks of labels are independent; each block
that is done goes into the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import at_once, block_map, on_all_threads
from xcwork.kernels.bilinear_training import Pairs, fit_own
from xcwork.methods.common.checkpoints import TrainedBlocks, TrainingProgress
from xcwork.sparse import Rows, gather_filled, order_by_frequency, renumber_columns, replace_values, to_rows

BLOCK_BYTES = 2**26
SHARDS_A_CORE = 8
FEWEST_LABELS, MOST_LABELS = 64, 16_384  # a block: enough for all threads, yet progress shows


@dataclass(frozen=True, eq=False)
class OwnProblem:
    """What own weights are learned from, and how."""

    X: sparse.csr_array  # (n_documents, n_features)
    pairs: sparse.csr_array  # (n_documents, n_labels): +1 and -1
    offsets: np.ndarray  # (n_pairs,)
    logistic: bool
    C: float
    passes: int
    tolerance: float
    smallest: float
    keep: int
    seed: int

    def solve(self, labels: np.ndarray, progress: TrainingProgress, name: str) -> tuple[sparse.csr_array, np.ndarray]:
        """Weights (n_features, n_labels) and biases (n_labels,) for all labels; those not in `labels` stay empty.

        `progress` remembers under `name` what is done.
        """
        X, columns = order_by_frequency(self.X)
        rows = to_rows(X)
        curvature = (np.asarray(self.X.multiply(self.X).sum(axis=1)) + 1).astype(np.float32)
        pairs = self._by_label()
        # The most costly labels come first, so that no thread is left with one at the end.
        order = labels[np.argsort(-np.diff(pairs.others.indptr)[labels], kind="stable")]
        blocks, width = TrainedBlocks(progress, name), min(self.keep, self.X.shape[1])
        size = int(np.clip(BLOCK_BYTES // (8 * width), FEWEST_LABELS, MOST_LABELS))
        if at_once() > 1:  # on a cluster every worker should get some
            size = int(np.clip(len(order) // (4 * at_once()), FEWEST_LABELS, size))
        left = order[len(blocks) :]  # less than all, where a checkpoint already has some
        parts = [left[start : start + size] for start in range(0, len(left), size)]
        shared = _Shared(
            rows,
            curvature,
            pairs,
            self.X.shape[1],
            width,
            self.C,
            self.logistic,
            self.passes,
            self.tolerance,
            self.smallest,
            self.seed,
        )
        done = max(0, -(-len(order) // size) - len(parts))
        for solved in block_map(_solve_block, shared, parts, "training own weights", n_jobs=1, done=done):
            blocks.add(*solved)
        weights, bias = blocks.join()
        del X, pairs, rows, shared
        return self._spread(order, weights, bias, columns)

    def _by_label(self) -> Pairs:
        signs = sparse.csr_array(self.pairs.T)
        offsets = replace_values(self.pairs, self.offsets)
        return Pairs(to_rows(signs, None), sparse.csr_array(offsets.T).data)

    def _spread(
        self, order: np.ndarray, weights: sparse.csr_array, bias: np.ndarray, columns: np.ndarray
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Rows in training order over renumbered features as a matrix over features and labels by their own numbers."""
        n_labels = self.pairs.shape[1]
        all_bias = np.zeros(n_labels, np.float32)
        all_bias[order] = bias
        by_feature = sparse.csr_array(weights.T)  # (n_features, n_trained), renumbered
        rank = np.argsort(columns)
        by_feature = by_feature[rank]
        return renumber_columns(by_feature, order.astype(np.int32), n_labels), all_bias


@dataclass(frozen=True, eq=False)
class _Shared:
    """What the blocks of labels have in common, as the kernel takes it."""

    rows: Rows
    curvature: np.ndarray
    pairs: Pairs
    n_features: int
    width: int
    C: float
    logistic: bool
    passes: int
    tolerance: float
    smallest: float
    seed: int


def _solve_block(shared: _Shared, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """The weights (n_labels, n_features) and biases (n_labels,) of one block."""
    ids, values = (np.zeros((len(labels), shared.width), kind) for kind in (np.int32, np.float32))
    bias, filled = np.zeros(len(labels), np.float32), np.zeros(len(labels), np.int64)
    on_all_threads(
        fit_own,
        labels,
        shared.rows,
        shared.n_features,
        shared.curvature,
        shared.pairs,
        shared.C,
        shared.logistic,
        shared.passes,
        shared.tolerance,
        np.float32(shared.smallest),
        _generators(shared.seed, labels),
        ids,
        values,
        bias,
        filled,
        shards_a_core=SHARDS_A_CORE,
    )
    return gather_filled(ids, values, filled, shared.n_features), bias


def _generators(seed: int, labels: np.ndarray) -> np.ndarray:
    """The state of one random generator a label, never zero: splitmix64 of seed and label."""
    with np.errstate(over="ignore"):
        state = (labels.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) | np.uint64(1)
