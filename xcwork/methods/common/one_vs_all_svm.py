"""One squared-hinge SVM per label, each against all other documents, solved in blocks of labels.

Blocks are independent and every label has its own random numbers, so the result does not depend on threads, on the size
of a block, or on being interrupted. `xcwork.kernels.svm` has the mathematics; on an accelerator the same problems are
solved by `xcwork.kernels.tensor_machines`.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numba import parallel_chunksize
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.compute.parallel import block_map
from xcwork.core.split import Split
from xcwork.errors import Cancelled
from xcwork.kernels import one_at_a_time, svm
from xcwork.kernels.svm_batch import compute_curvatures
from xcwork.methods.common.checkpoints import Checkpoint, TrainedBlocks, TrainingProgress
from xcwork.sparse import Rows, normalise_rows, number_by_frequency, renumber_columns, scale_to_unit, to_rows

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    from xcwork.methods.common.linear_machines import TensorBlockTrainer

log = logging.getLogger(__name__)

BLOCK_BYTES = 2**28
MAX_LABELS_PER_BLOCK = 32  # a block of more labels no longer scores faster


@dataclass(frozen=True)
class SvmSettings:
    """How the machines are trained."""

    C: float = 1.0  # weight of the errors against the size of the weights
    tolerance: float = 0.1  # largest violation of optimality that may remain
    prune: float = 0.03  # smaller weights are dropped
    max_passes: int = 30  # of descent and check
    seed: int = 0


def train_one_vs_all(
    train: Split, settings: SvmSettings, checkpoint: Checkpoint | None, device: str = "cpu"
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return weights (n_features, n_labels) and biases (n_labels,), NaN for a label without training documents."""
    frequencies = train.label_frequencies
    order = np.argsort(-frequencies, kind="stable")  # labels of similar cost share a block
    order = order[: np.count_nonzero(frequencies)]
    place = find_tensor_device(device)
    trainer: BlockTrainer | TensorBlockTrainer
    if place is None:
        trainer = BlockTrainer.from_split(train, settings)
    else:
        from xcwork.kernels.tensor_machines import MachineSettings
        from xcwork.methods.common.linear_machines import TensorBlockTrainer

        machines = MachineSettings(settings.C, settings.tolerance)
        X = normalise_rows(train.X)
        trainer = TensorBlockTrainer.from_matrices(X, train.Y, machines, settings.prune, place)
    progress = TrainingProgress(checkpoint, train, asdict(settings))
    classifiers = TrainedBlocks(progress, "classifiers")
    size = trainer.block_size
    left = order[len(classifiers) :]  # less than all, where a checkpoint already has some
    blocks = [left[start : start + size] for start in range(0, len(left), size)]
    done = -(-len(order) // size) - len(blocks)
    if blocks:
        trainer.no_positives  # noqa: B018 - solved here once, not by every worker
    try:
        # A block keeps all cores busy by itself, so here they come one after the other.
        phase = "training classifiers"
        here = place is not None
        for trained in block_map(train_block, trainer, blocks, phase, n_jobs=1, done=done, here=here):
            classifiers.add(*trained)
    except Cancelled:
        progress.save()
        raise
    rows, numbers = classifiers.join()
    bias = np.full(train.n_labels, np.nan, np.float32)
    bias[order] = numbers
    return renumber_columns(sparse.csr_array(rows.T), order.astype(np.int32), train.n_labels), bias


def train_block(trainer: BlockTrainer | TensorBlockTrainer, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the pruned weights and biases of `labels`, from whichever trainer."""
    return trainer.train(labels)


@dataclass(frozen=True)
class BlockTrainer:
    """Solves the problems of blocks of labels over the documents of one split."""

    rows: Rows  # (n_documents, n_features), unit rows
    columns: np.ndarray  # (n_features,): the original feature behind each renumbered one
    documents_of: sparse.csr_array  # (n_labels, n_documents)
    curvature: np.ndarray  # (n_documents,)
    settings: SvmSettings

    @classmethod
    def from_split(cls, train: Split, settings: SvmSettings) -> BlockTrainer:
        """Prepare the documents of a split, their most frequent features first."""
        X, columns = number_by_frequency(scale_to_unit(train.X))  # without a copy of the values
        rows = to_rows(X)
        curvature = compute_curvatures(rows, np.arange(len(train), dtype=np.int32), settings.C)
        return cls(rows, columns, sparse.csr_array(train.Y.T), curvature, settings)

    @property
    def block_size(self) -> int:
        """Labels whose weights (twice), α, margins and signs fit into the memory of a block."""
        n_labels, n_documents = self.documents_of.shape
        return int(
            np.clip(BLOCK_BYTES // (8 * len(self.columns) + 9 * n_documents), 1, min(MAX_LABELS_PER_BLOCK, n_labels))
        )

    @cached_property
    def no_positives(self) -> svm.LabelBlock:
        """The solution for a label that no document has, from which all others start."""
        n_documents = len(self.curvature)
        alpha = np.full(n_documents, 1 / n_documents, np.float32)
        X = sparse.csr_array(self.rows, shape=(n_documents, len(self.columns)))
        weights = -(X.T @ alpha)  # (n_features,)
        block = svm.LabelBlock(
            weights[None],
            np.full(1, -1, np.float32),
            alpha[None],
            np.zeros((1, n_documents), bool),
            np.zeros((1, n_documents), np.float32),
            _seed_generators(self.settings.seed, np.array([-1])),
            np.arange(n_documents, dtype=np.int32),
        )
        self._update_margins(block, np.arange(1))
        self._solve(block, max(self.settings.tolerance / svm.START_TOLERANCE_DIVISOR, svm.MIN_TOLERANCE))
        self._update_margins(block, np.arange(1))
        return block

    def train(self, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the pruned weights (n_labels, n_features) and biases (n_labels,) of `labels`."""
        common = self.no_positives._asdict()
        start = {name: np.repeat(part, len(labels), axis=0) for name, part in common.items() if name != "documents"}
        start["random"] = _seed_generators(self.settings.seed, labels)
        block = svm.LabelBlock(**start, documents=common["documents"])
        starts = self.documents_of.indptr
        for i, label in enumerate(labels):
            having = self.documents_of.indices[starts[label] : starts[label + 1]]
            svm.turn_positive(self.rows, block, i, having)
        self._solve(block, self.settings.tolerance)
        label, column = np.nonzero((np.abs(block.weights) >= self.settings.prune) & (block.weights != 0))
        entries = (block.weights[label, column], (label, self.columns[column]))
        return sparse.csr_array(entries, shape=block.weights.shape), block.bias

    def _solve(self, block: svm.LabelBlock, tolerance: float) -> None:
        """Alternate descent and a check of all documents until every label is within the tolerance."""
        live = np.arange(len(block.bias))
        for _ in range(self.settings.max_passes):
            worst = np.empty(len(live), np.float32)
            with one_at_a_time, parallel_chunksize(1):  # labels differ in cost: a free thread takes the next one
                svm.improve_labels(
                    self.rows, self.curvature, block, live, self.settings.C, tolerance, svm.PASSES_PER_ROUND, worst
                )
            live = live[worst > tolerance]
            if len(live) == 0:
                return
            self._update_margins(block, live)
        log.info("%d of %d labels are not within the tolerance %g", len(live), len(block.bias), tolerance)

    def _update_margins(self, block: svm.LabelBlock, live: np.ndarray) -> None:
        """Compute the margins of the labels `live` from their present weights."""
        by_feature = np.ascontiguousarray(block.weights[live].T)  # (n_features, n_live)
        with one_at_a_time:
            svm.compute_margins(self.rows, by_feature, block, live)


def _seed_generators(seed: int, labels: np.ndarray) -> np.ndarray:
    """Return the state of one random generator per label, never zero; -1 stands for a label that no document has."""
    states = [np.random.SeedSequence((seed, int(label) + 1)).generate_state(1, np.uint64)[0] for label in labels]
    return np.array(states, np.uint64) | np.uint64(1)
