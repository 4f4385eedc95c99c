"""Refinement of the pairs that labels share, on the support that XHTP chose.

Minimises, over the weights W of (document feature, label term) pairs,

    Σ loss(y (xᵀ W z_l + o)),     loss = squared hinge or logistic, o = prior and exact matches

summed over the shortlisted labels l of every document x, with Adagrad over batches of documents. Nothing of the size
(pairs × support) ever exists: a document is projected once and its gradient is an outer product (see
`xcwork.kernels.bilinear_training`). After each epoch the loss on held-out documents decides whether to go on, and the
best epoch counts, which is what keeps the weights small. Each epoch ends with a checkpoint.

Cost: O(nnz(x) * K) a document and epoch. Memory: four numbers for each support entry. The reference program solves the
same problem by dual coordinate descent over pair features that it writes out: 16 GB on EURLEX.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.kernels.bilinear_training import Pairs, Shared, shared_slopes, shared_step
from xcwork.kernels.linear import Rows
from xcwork.methods.resume import Progress
from xcwork.methods.zestxml.arrays import on_all_threads, rows_of
from xcwork.progress import report, track

PHASE = "refining shared pairs"


@dataclass(frozen=True, eq=False)
class SharedProblem:
    """What the refinement of shared weights looks at, and how it goes about it."""

    documents: Rows  # (n_documents, n_features)
    labels: Rows  # (n_labels, n_label_features)
    n_label_features: int
    pairs: Pairs  # by document
    learn_from: np.ndarray  # rows of documents
    stop_by: np.ndarray  # other rows; may be empty
    logistic: bool
    rate: float
    batch: int
    seed: int

    def refine(self, start: sparse.csr_array, epochs: int, patience: int, progress: Progress) -> sparse.csr_array:
        """The weights `start` (n_features, n_label_features) after up to `epochs` passes, on the same support."""
        weights = rows_of(sparse.csr_array(start, copy=True))
        shared = Shared(weights, np.zeros(start.nnz, np.float32), np.zeros(start.nnz, np.float32))
        state = progress.state("shared")
        if state is None:
            state = {"epoch": 0, "best_epoch": 0, "best": self._loss(shared), "best_weights": weights.data.copy()}
        else:
            weights.data[:], shared.squares[:] = state["weights"], state["squares"]
        for epoch in track(range(epochs), PHASE):
            if epoch < state["epoch"] or state["epoch"] - state["best_epoch"] >= patience:
                continue
            loss = self._pass(shared, epoch)
            value = self._loss(shared)
            report(PHASE, loss=loss, **({} if np.isnan(value) else {"held-out loss": value}))
            state = state | {"epoch": epoch + 1, "weights": weights.data.copy(), "squares": shared.squares.copy()}
            if not value >= state["best"]:  # also where there is nothing to stop by
                state |= {"best": value, "best_epoch": epoch + 1, "best_weights": state["weights"]}
            progress.update("shared", lambda state=state: state)
        return sparse.csr_array((state["best_weights"], start.indices, start.indptr), shape=start.shape)

    def _pass(self, shared: Shared, epoch: int) -> float:
        """One epoch; the mean loss of a document just before it is learned from."""
        order = np.random.default_rng([self.seed, epoch]).permutation(self.learn_from)
        slopes, total = np.zeros(len(self.pairs.offsets), np.float32), 0.0
        for at in range(0, len(order), self.batch):
            some = order[at : at + self.batch]
            total += self._slopes(shared, some, slopes)
            on_all_threads(
                shared_step, some, self.documents, shared, self.labels, self.n_label_features, self.pairs, slopes,
                np.float32(self.rate),
            )  # fmt: skip
        return total / max(1, len(order))

    def _loss(self, shared: Shared) -> float:
        """The mean loss of the documents to stop by; NaN without any."""
        slopes = np.zeros(len(self.pairs.offsets), np.float32)
        return self._slopes(shared, self.stop_by, slopes) / len(self.stop_by) if len(self.stop_by) else float("nan")

    def _slopes(self, shared: Shared, rows: np.ndarray, slopes: np.ndarray) -> float:
        losses = np.zeros(len(rows))
        on_all_threads(
            shared_slopes, rows, self.documents, shared, self.labels, self.n_label_features, self.pairs, self.logistic,
            slopes, losses,
        )  # fmt: skip
        return float(losses.sum())
