"""One support vector machine per label, trained on given (document, label) pairs from a given starting score.

For each label, over the documents it is paired with,

    min over w, b of  ½‖w‖² + ½b² + C Σ_i loss(y_i (w·x_i + b + o_i))

where o_i is what other scores already say about the pair. Starting from them rather than from nothing is what makes
rare labels better than plain one-vs-all, and negatives from a shortlist are what makes it cheap: a label meets the
documents that resemble its own instead of all of them. Weights below `prune` are dropped afterwards, and at most
`max_weights` stay: hard thresholding. On an accelerator `xcwork.kernels.tensor_machines` solves the same problems.

Cost: O(passes * pairs * nnz(x)), most pairs being looked at only once. Blocks of labels are independent; each block
that is done goes into the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.compute.parallel import Share, block_map, count_parallel_blocks, run_on_all_threads
from xcwork.core.bit_mixing import GOLDEN_GAMMA, mix_bits
from xcwork.kernels.bilinear_training import LabelledPairs, fit_own_weights
from xcwork.methods.common.checkpoints import TrainedBlocks, TrainingProgress
from xcwork.sparse import Rows, gather_filled, order_by_frequency, renumber_columns, replace_values, take_rows, to_rows

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    from xcwork.methods.common.linear_machines import TensorPairSolver

BLOCK_BYTES = 2**26
SHARDS_PER_CORE = 8
MIN_LABELS_PER_BLOCK = 64  # enough for all threads
MAX_LABELS_PER_BLOCK = 16_384  # progress still shows


@dataclass(frozen=True)
class PairSvmSettings:
    """How the machines are trained."""

    C: float  # weight of the errors against the size of the weights
    max_passes: int  # over the pairs of a label
    tolerance: float  # largest change of a pair at which a label is solved
    prune: float  # smaller weights are dropped
    max_weights: int  # of a label
    seed: int
    logistic: bool = False  # the loss; squared hinge otherwise


@dataclass(frozen=True, eq=False)
class PairSVM:
    """What the machines are trained on, and how."""

    X: sparse.csr_array  # (n_documents, n_features)
    pairs: sparse.csr_array  # (n_documents, n_labels): +1 and -1
    offsets: np.ndarray  # (n_pairs,)
    settings: PairSvmSettings
    device: str = "cpu"

    def solve(self, labels: np.ndarray, progress: TrainingProgress, name: str) -> tuple[sparse.csr_array, np.ndarray]:
        """Return weights (n_features, n_labels) and biases (n_labels,); labels that are not in `labels` stay empty.

        `progress` remembers under `name` what is done.
        """
        X, columns = order_by_frequency(self.X)
        n_labels = self.pairs.shape[1]
        signs = sparse.csr_array(self.pairs.T)
        offsets = sparse.csr_array(replace_values(self.pairs, self.offsets).T).data
        # The most costly labels come first, so that no thread is left with one at the end.
        order = labels[np.argsort(-np.diff(signs.indptr)[labels], kind="stable")]
        pairs = LabelledPairs(to_rows(signs, None), offsets)
        place = find_tensor_device(self.device)
        solver: PairBlockSolver | TensorPairSolver
        if place is None:
            curvature = (np.asarray(self.X.multiply(self.X).sum(axis=1)) + 1).astype(np.float32)
            solver = PairBlockSolver(to_rows(X), X.shape[1], curvature, pairs, self.settings)
        else:
            from xcwork.kernels.tensor_machines import MachineSettings
            from xcwork.methods.common.linear_machines import TensorPairSolver

            given = self.settings
            machines = MachineSettings(given.C, given.tolerance * given.C, given.logistic)
            solver = TensorPairSolver.from_pairs(
                X, pairs, machines, place, prune=given.prune, max_weights=given.max_weights
            )
        size = int(np.clip(BLOCK_BYTES // (8 * solver.width), MIN_LABELS_PER_BLOCK, MAX_LABELS_PER_BLOCK))
        if count_parallel_blocks() > 1:  # on a cluster every worker should get some
            size = int(np.clip(len(order) // (4 * count_parallel_blocks()), MIN_LABELS_PER_BLOCK, size))
        solved = TrainedBlocks(progress, name)
        left = order[len(solved) :]  # less than all, where a checkpoint already has some
        blocks = [left[start : start + size] for start in range(0, len(left), size)]
        done = max(0, -(-len(order) // size) - len(blocks))
        phase = "training own weights"
        here = place is not None
        for block in block_map(solve_block, solver, blocks, phase, n_jobs=1, done=done, here=here, cut=cut_block):
            solved.add(*block)
        del X, signs, offsets, pairs, solver
        rows, numbers = solved.join()
        # From rows in training order over renumbered features to features and labels by their own numbers. The weights
        # are the largest thing here, so each copy goes as soon as there is the next.
        weights = sparse.csr_array(rows.T)
        del rows, solved
        weights = weights[np.argsort(columns)]
        bias = np.zeros(n_labels, np.float32)
        bias[order] = numbers
        return renumber_columns(weights, order.astype(np.int32), n_labels), bias


def solve_block(solver: PairBlockSolver | TensorPairSolver, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the weights and biases of `labels`, from whichever solver."""
    return solver.solve(labels)


def cut_block(solver: PairBlockSolver | TensorPairSolver, labels: np.ndarray) -> Share:
    """Return a block of labels with the documents of their pairs alone."""
    assert isinstance(solver, PairBlockSolver)  # tensors stay here
    part = solver.restrict_to(labels)
    return Share(part, np.arange(len(labels), dtype=labels.dtype), len(part.rows.data) / max(1, len(solver.rows.data)))


@dataclass(frozen=True, eq=False)
class PairBlockSolver:
    """Solves blocks of labels over the same documents, which are in the form that the kernel takes."""

    rows: Rows  # (n_documents, n_features)
    n_features: int
    curvature: np.ndarray  # (n_documents,)
    pairs: LabelledPairs  # by label
    settings: PairSvmSettings
    names: np.ndarray | None = None  # (n_labels,): the labels' own numbers, where they were renumbered

    def restrict_to(self, labels: np.ndarray) -> PairBlockSolver:
        """Return what solves `labels` alone, which it counts from zero, with the documents of their pairs."""
        signs = take_rows(self.pairs.others, labels)
        offsets = take_rows(self.pairs.others._replace(data=self.pairs.offsets), labels).data
        documents, places = np.unique(signs.indices, return_inverse=True)
        pairs = LabelledPairs(signs._replace(indices=places.astype(np.int32)), offsets)
        rows = take_rows(self.rows, documents)
        return replace(self, rows=rows, curvature=self.curvature[documents], pairs=pairs, names=labels)

    @property
    def width(self) -> int:
        """Weights that a label can have."""
        return min(self.settings.max_weights, self.n_features)

    def solve(self, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the weights (n_labels, n_features) and biases (n_labels,) of one block."""
        ids = np.zeros((len(labels), self.width), np.int32)
        values = np.zeros((len(labels), self.width), np.float32)
        bias = np.zeros(len(labels), np.float32)
        filled = np.zeros(len(labels), np.int64)
        run_on_all_threads(
            fit_own_weights,
            labels,
            self.rows,
            self.n_features,
            self.curvature,
            self.pairs,
            self.settings.C,
            self.settings.logistic,
            self.settings.max_passes,
            self.settings.tolerance,
            np.float32(self.settings.prune),
            seed_generators(self.settings.seed, labels if self.names is None else self.names[labels]),
            ids,
            values,
            bias,
            filled,
            shards_per_core=SHARDS_PER_CORE,
        )
        return gather_filled(ids, values, filled, self.n_features), bias


def seed_generators(seed: int, labels: np.ndarray) -> np.ndarray:
    """Return the state of one random generator per label, never zero: splitmix64 of seed and label."""
    return mix_bits(labels.astype(np.uint64) * GOLDEN_GAMMA + np.uint64(seed)) | np.uint64(1)
