"""Refinement of pairs of a document feature and a label feature, on the support that XHTP chose.

Minimises, over the weights W of the pairs and, where there is no prior, one bias b for all labels,

    (‖W‖² + b²) / 2C + Σ loss(y (xᵀ W z_l + b + o)),     loss = squared hinge or logistic

summed over the shortlisted labels l of every document x, with Adagrad over batches of documents. With `refined=pairs`
this is the paper's problem: all pairs of the support, identities included, o = 0. With `refined=own` it is a step
before the own weights: the pairs of terms alone, o = prior and exact matches, no L2 term. Nothing of the size
(pairs × support) ever exists: a document is projected once and its gradient is an outer product (see
`xcwork.kernels.bilinear_training`). Each document with a feature c carries its share of the L2 term of row c, so that
an epoch has the whole of it. The loss on validation documents decides when to stop and which epoch counts
(`xcwork.methods.common.epochs`); without an L2 term that is what keeps the weights small.

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
    decay: np.ndarray  # (n_features,) float32: slope of the L2 term that one document with a feature carries
    bias_decay: float | None  # the same for the bias and every document; None: there is no bias
    logistic: bool
    learning_rate: float
    batch_size: int
    seed: int

    def refine(
        self, start: sparse.csr_array, epochs: int, patience: int, progress: TrainingProgress
    ) -> tuple[sparse.csr_array, float]:
        """Return `start` (n_features, n_label_features) after up to `epochs` epochs on its support, and the bias."""
        training = SharedTraining(self, start)
        train_epochs(training, REFINEMENT_PHASE, progress, epochs=epochs, patience=patience, smaller_is_better=True)
        return replace_values(start, training.values), float(training.bias[0])

    def take_epoch(self, training: SharedTraining, epoch: int) -> float:
        """Learn from every document once; return their mean loss, each just before it is learned from."""
        order = np.random.default_rng([self.seed, epoch]).permutation(self.learn_from)
        slopes = np.zeros(len(self.pairs.offsets), np.float32)
        total = 0.0
        for at in range(0, len(order), self.batch_size):
            some = order[at : at + self.batch_size]
            total += self._compute_slopes(training, some, slopes)
            run_on_all_threads(
                take_shared_step,
                some,
                self.documents,
                training.shared,
                self.decay,
                self.labels,
                self.n_label_features,
                self.pairs,
                slopes,
                np.float32(self.learning_rate),
            )
            if self.bias_decay is not None:
                first, last = self.pairs.others.indptr[some], self.pairs.others.indptr[some + 1]
                slope = sum(float(slopes[a:b].sum()) for a, b in zip(first, last, strict=True))
                training.step_bias(slope + self.bias_decay * len(some) * float(training.bias[0]), self.learning_rate)
        return total / max(1, len(order))

    def measure_validation_loss(self, training: SharedTraining) -> float:
        """Return the mean loss of the documents to stop by."""
        slopes = np.zeros(len(self.pairs.offsets), np.float32)
        return self._compute_slopes(training, self.stop_by, slopes) / len(self.stop_by)

    def _compute_slopes(self, training: SharedTraining, rows: np.ndarray, slopes: np.ndarray) -> float:
        """Fill in the slopes of the pairs of `rows`; return the sum of their losses."""
        losses = np.zeros(len(rows))
        run_on_all_threads(
            compute_shared_slopes,
            rows,
            self.documents,
            training.shared,
            np.float32(training.bias[0]),
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
        self.bias = np.zeros(2)  # the bias and the sum of its squared slopes
        weights = to_rows(start)._replace(data=self.values)
        self.shared = SharedWeights(weights, np.zeros(start.nnz, np.float32), np.zeros(start.nnz, np.float32))

    def begin(self, epoch: int) -> None:
        self.epoch = epoch

    def step(self, number: int) -> float:
        return self.problem.take_epoch(self, self.epoch)

    def step_bias(self, slope: float, rate: float) -> None:
        """Take one Adagrad step of the bias."""
        self.bias[1] += slope**2
        self.bias[0] -= rate * slope / np.sqrt(self.bias[1] + 1e-12)

    def measure(self) -> dict[str, float]:
        return {"held-out loss": self.problem.measure_validation_loss(self)} if len(self.problem.stop_by) else {}

    def get_weights(self) -> dict[str, Any]:
        return {"weights": self.values.copy(), "bias": self.bias[:1].copy()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self.values[:] = weights["weights"]
        self.bias[:1] = weights["bias"]

    def get_momentum(self) -> dict[str, Any]:
        return {"squares": self.shared.squares.copy(), "bias_squares": self.bias[1:].copy()}

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        self.shared.squares[:] = momentum["squares"]
        self.bias[1:] = momentum["bias_squares"]
