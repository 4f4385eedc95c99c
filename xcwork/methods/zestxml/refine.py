"""Refinement of the pairs that labels share, on the support that XHTP chose.

Minimises, over the weights W of (document feature, label term) pairs,

    Σ loss(y (xᵀ W z_l + o)),     loss = squared hinge or logistic, o = prior and exact matches

summed over the shortlisted labels l of every document x, with Adagrad over batches of documents. Nothing of the size
(pairs × support) ever exists: a document is projected once and its gradient is an outer product (see
`xcwork.kernels.bilinear_training`). The loss on validation documents decides when to stop and which epoch counts
(`xcwork.methods.common.epochs`), which is what keeps the weights small.

Cost: O(nnz(x) * K) per document and epoch. Memory: four numbers for each support entry. The reference program
solves the same problem by dual coordinate descent over pair features that it writes out: 16 GB on EURLEX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import run_on_all_threads
from xcwork.kernels.bilinear_training import LabelledPairs, SharedWeights, compute_shared_slopes, take_shared_step
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import train_epochs
from xcwork.sparse import Rows, replace_values, to_rows

REFINEMENT_PHASE = "refining shared pairs"


@dataclass(frozen=True, eq=False)
class SharedProblem:
    """What the refinement of shared weights looks at, and how it goes about it."""

    documents: Rows  # (n_documents, n_features)
    labels: Rows  # (n_labels, n_label_features)
    n_label_features: int
    pairs: LabelledPairs  # by document
    learn_from: np.ndarray  # rows of documents
    stop_by: np.ndarray  # other rows; may be empty
    logistic: bool
    learning_rate: float
    batch_size: int
    seed: int

    def refine(
        self, start: sparse.csr_array, epochs: int, patience: int, progress: TrainingProgress
    ) -> sparse.csr_array:
        """Return `start` (n_features, n_label_features) after up to `epochs` epochs, on the same support."""
        training = SharedTraining(self, start)
        train_epochs(training, REFINEMENT_PHASE, progress, epochs=epochs, patience=patience, smaller_is_better=True)
        return replace_values(start, training.values)

    def take_epoch(self, shared: SharedWeights, epoch: int) -> float:
        """Learn from every document once; return their mean loss, each just before it is learned from."""
        order = np.random.default_rng([self.seed, epoch]).permutation(self.learn_from)
        slopes = np.zeros(len(self.pairs.offsets), np.float32)
        total = 0.0
        for at in range(0, len(order), self.batch_size):
            some = order[at : at + self.batch_size]
            total += self._compute_slopes(shared, some, slopes)
            run_on_all_threads(
                take_shared_step,
                some,
                self.documents,
                shared,
                self.labels,
                self.n_label_features,
                self.pairs,
                slopes,
                np.float32(self.learning_rate),
            )
        return total / max(1, len(order))

    def measure_validation_loss(self, shared: SharedWeights) -> float:
        """Return the mean loss of the documents to stop by."""
        slopes = np.zeros(len(self.pairs.offsets), np.float32)
        return self._compute_slopes(shared, self.stop_by, slopes) / len(self.stop_by)

    def _compute_slopes(self, shared: SharedWeights, rows: np.ndarray, slopes: np.ndarray) -> float:
        """Fill in the slopes of the pairs of `rows`; return the sum of their losses."""
        losses = np.zeros(len(rows))
        run_on_all_threads(
            compute_shared_slopes,
            rows,
            self.documents,
            shared,
            self.labels,
            self.n_label_features,
            self.pairs,
            self.logistic,
            slopes,
            losses,
        )
        return float(losses.sum())


class SharedTraining:
    """Epochs over the documents of a `SharedProblem`; a `xcwork.methods.common.epochs.EpochTrainer`."""

    steps = 1

    def __init__(self, problem: SharedProblem, start: sparse.csr_array) -> None:
        self.problem = problem
        self.values = start.data.astype(np.float32)  # a copy, because the kernel changes it
        weights = to_rows(start)._replace(data=self.values)
        self.shared = SharedWeights(weights, np.zeros(start.nnz, np.float32), np.zeros(start.nnz, np.float32))

    def begin(self, epoch: int) -> None:
        self.epoch = epoch

    def step(self, number: int) -> float:
        return self.problem.take_epoch(self.shared, self.epoch)

    def measure(self) -> dict[str, float]:
        return {"held-out loss": self.problem.measure_validation_loss(self.shared)} if len(self.problem.stop_by) else {}

    def get_weights(self) -> dict[str, Any]:
        return {"weights": self.values.copy()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.values[:] = weights["weights"]

    def get_momentum(self) -> dict[str, Any]:
        return {"squares": self.shared.squares.copy()}

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        self.shared.squares[:] = momentum["squares"]
