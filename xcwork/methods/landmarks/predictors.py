"""Linear predictors from documents to labels: ridge regression or one support vector machine per label.

Both end up as rows of weights over the features plus a constant, so that a document x (unit length) has

    p_l(x) = Σ_t x_t B[t, l] + B[bias, l]      ≈ 1 when it has label l, ≈ 0 when it does not.

Ridge regresses on 0 and 1 directly. A support vector machine separates with margins m ≈ -1 and +1, so p = (m + 1) / 2:
the same scale, still linear, and therefore still decodable and exactly explainable.

How well a label is learned is its training R² = 1 - Σ(y - p)² / Σ(y - ȳ)².

Memory: labels are trained in blocks. All weights stay while there are at most MAX_TOTAL_WEIGHTS, which covers data of
moderate size exactly. Beyond that a label keeps its share of the room at most, and no weight below MIN_WEIGHT: a
document of unit length is hardly moved by those, and they are nearly all of a ridge solution. What is explained is what
was kept, so explanations stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from xcwork.compute.device_memory import run_in_parts
from xcwork.compute.parallel import block_map
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.kernels import one_at_a_time
from xcwork.kernels.dense_products import keep_largest_of_columns
from xcwork.methods.common.checkpoints import Checkpoint, TrainedBlocks, TrainingProgress
from xcwork.methods.common.one_vs_all_svm import SvmSettings, train_one_vs_all
from xcwork.methods.landmarks.ridge import Ridge
from xcwork.methods.model import Params
from xcwork.progress import track
from xcwork.sparse import normalise_rows

MAX_TOTAL_WEIGHTS = 16_000_000  # about 128 MB
MIN_WEIGHT = 0.005  # smaller ones are dropped where not all weights fit
LABELS_PER_BLOCK = 128  # rated together


@dataclass(frozen=True, eq=False)
class Regressors:
    """One linear predictor for each of some labels."""

    labels: np.ndarray  # (n,) label ids, ascending
    weights: sparse.csr_array  # (n, n_features + 1), the constant last
    errors: np.ndarray  # (n,): Σ(y - p)² over the training documents

    def select_weights(self, labels: np.ndarray) -> sparse.csr_array:
        """Return the weights of `labels` by feature, (n_features + 1, len(labels))."""
        return sparse.csr_array(self.weights[np.searchsorted(self.labels, labels)].T)

    def compute_r2(self, documents: np.ndarray, n_documents: int) -> np.ndarray:
        """Return the training R² of all labels, (n_labels,): 0 for those without a regressor or without variance."""
        scores = np.zeros(len(documents))
        variance = (documents - documents**2 / n_documents)[self.labels]
        unexplained = np.divide(self.errors, variance, out=np.ones_like(self.errors), where=variance > 0)
        scores[self.labels] = 1 - unexplained
        return scores


def append_bias(X: sparse.csr_array) -> sparse.csr_array:
    """Return unit rows with a column of ones behind them, (n_documents, n_features + 1)."""
    rows = normalise_rows(X)
    return sparse.csr_array(sparse.hstack([rows, np.ones((rows.shape[0], 1), np.float32)]))


def keep_largest(columns: np.ndarray, keep: int, smallest: float = 0.0) -> sparse.csr_array:
    """Return the `keep` entries of largest size of every column of a dense matrix, as sparse rows.

    When all are kept they keep their precision too; otherwise they become float32, and none is below `smallest`.
    """
    n_rows, n_columns = columns.shape
    if keep >= n_rows:
        return sparse.csr_array(columns.T)
    ids = np.empty((n_columns, keep), np.int32)
    values = np.empty((n_columns, keep), np.float32)
    with one_at_a_time:
        keep_largest_of_columns(np.ascontiguousarray(columns, np.float32), ids, values)
    stay = (np.abs(values) >= smallest) & (values != 0)  # (n_columns, keep)
    starts = np.concatenate([[0], np.cumsum(stay.sum(axis=1))]).astype(np.int32)  # as narrow as the ids: it is stored
    return sparse.csr_array((values[stay], ids[stay], starts), shape=(n_columns, n_rows))


def count_kept_weights(n_features: int, n_labels: int, wanted: int | None) -> int:
    """Return how many weights a label may keep: what is wanted, or what fits."""
    return min(n_features, wanted or max(1, MAX_TOTAL_WEIGHTS // max(1, n_labels)))


@dataclass(frozen=True)
class RidgeSettings:
    """How ridge regression is solved."""

    strength: float  # γ
    solver: str  # one of RIDGE_SOLVERS
    tolerance: float  # relative residual of conjugate gradients
    device: str
    seed: int

    @classmethod
    def from_params(cls, params: Params) -> RidgeSettings:
        return cls(params.gamma, params.ridge_solver, params.tolerance, params.device, params.seed)


@dataclass(frozen=True, eq=False)
class RidgeBlockSolver:
    """Solves blocks of labels and keeps the largest weights."""

    ridge: Ridge
    keep: int

    def solve(self, Y: sparse.csc_array) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the weights (n_labels, n_features) and errors (n_labels,) for the columns of `Y`."""
        parts = run_in_parts(Y.shape[1], partial(self._solve_part, Y), self.ridge.device.type, "labels")
        rows, errors = zip(*parts, strict=True)
        return sparse.csr_array(sparse.vstack(rows)), np.concatenate(errors)

    def _solve_part(self, Y: sparse.csc_array, part: slice) -> tuple[sparse.csr_array, np.ndarray]:
        weights, errors = self.ridge.solve(sparse.csc_array(Y[:, part]))
        return keep_largest(weights, self.keep, MIN_WEIGHT), errors


def train_ridge(
    train: Split, labels: np.ndarray, settings: RidgeSettings, keep: int, progress: TrainingProgress
) -> Regressors:
    """Return ridge regressors of `labels` with at most `keep` weights each, resuming from what `progress` remembers."""
    ridge = Ridge(
        append_bias(train.X),
        settings.strength,
        len(labels),
        solver=settings.solver,
        device=settings.device,
        tolerance=settings.tolerance,
        seed=settings.seed,
    )
    columns = sparse.csc_array(train.Y, dtype=np.float64)
    trained = TrainedBlocks(progress, "predictors")
    starts = range(0, len(labels), ridge.block_size)
    left = [columns[:, labels[start : start + ridge.block_size]] for start in starts if start >= len(trained)]
    blocks = block_map(
        RidgeBlockSolver.solve,
        RidgeBlockSolver(ridge, keep),
        left,
        "training predictors",
        n_jobs=1,
        done=len(starts) - len(left),
        here=ridge.device.type != "cpu",
    )
    for rows, errors in blocks:
        trained.add(rows, errors)
    return Regressors(labels, *trained.join())


def train_svm(
    train: Split,
    labels: np.ndarray,
    *,
    C: float,
    keep: int,
    seed: int,
    checkpoint: Checkpoint | None,
    device: str = "cpu",
) -> Regressors:
    """Return support vector machines of `labels`, rescaled to predict 0 and 1."""
    names = LabelSpace([train.labels.names[label] for label in labels])
    part = replace(train, Y=sparse.csr_array(train.Y[:, labels]), labels=names, filter_pairs=None)
    prune = 0.0 if keep > train.X.shape[1] else MIN_WEIGHT
    weights, bias = train_one_vs_all(part, SvmSettings(C=C, prune=prune, seed=seed), checkpoint, device)
    X = append_bias(train.X)
    Y = sparse.csc_array(part.Y)
    rows = []
    errors = []
    for start in track(range(0, len(labels), LABELS_PER_BLOCK), "rating predictors"):
        block = slice(start, start + LABELS_PER_BLOCK)
        margins = np.vstack([weights[:, block].toarray(), bias[None, block] + 1]) / 2
        rows.append(keep_largest(margins, keep, MIN_WEIGHT))
        errors.append(np.square(Y[:, block].toarray() - X @ margins).sum(axis=0))
    return Regressors(labels, sparse.csr_array(sparse.vstack(rows)), np.concatenate(errors))
