"""Linear predictors from documents to labels: ridge regression or a support vector machine a label.

Both end up as rows of weights over the features plus a constant, so that a document x (unit length) has

    p_l(x) = Σ_t x_t B[t, l] + B[bias, l]      ≈ 1 when it carries label l, ≈ 0 when it does not.

Ridge regresses on 0 and 1 directly. A support vector machine separates with margins m ≈ -1 and +1, so p = (m + 1) / 2:
the same scale, still linear, and therefore still decodable and exactly explainable.

How well a label is learned is its training R² = 1 - Σ(y - p)² / Σ(y - ȳ)².

Memory: labels are trained in blocks. All weights stay while there is room for MOST_WEIGHTS in total, which covers data
of moderate size exactly. Beyond that a label keeps its share of the room at most, and no weight below SMALL_WEIGHT: a
document of unit length is hardly moved by those, and they are nearly all of a ridge solution. What is explained is what
was kept, so explanations stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import block_map
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.kernels import one_at_a_time
from xcwork.kernels.sqrt_lasso import largest_of_columns
from xcwork.methods.common.checkpoints import Blocks, Progress
from xcwork.methods.common.one_vs_all_svm import SvmSettings, train_one_vs_all
from xcwork.methods.landmarks.ridge import Ridge
from xcwork.progress import track
from xcwork.sparse import normalise_rows

if TYPE_CHECKING:
    from xcwork.methods.common.checkpoints import Checkpoint

MOST_WEIGHTS = 16_000_000  # about 128 MB
SMALL_WEIGHT = 0.005  # dropped where not all weights fit


@dataclass(frozen=True, eq=False)
class Regressors:
    """One linear predictor for each of some labels."""

    labels: np.ndarray  # (n,) label ids, ascending
    weights: sparse.csr_array  # (n, n_features + 1), the constant last
    errors: np.ndarray  # (n,): Σ(y - p)² over the training documents

    def of(self, labels: np.ndarray) -> sparse.csr_array:
        """The weights of `labels` by feature, (n_features + 1, len(labels))."""
        return sparse.csr_array(self.weights[np.searchsorted(self.labels, labels)].T)

    def r2(self, documents: np.ndarray, n_documents: int) -> np.ndarray:
        """Training R² of all labels, (n_labels,): 0 for those without a regressor or without variance."""
        scores = np.zeros(len(documents))
        variance = (documents - documents**2 / n_documents)[self.labels]
        unexplained = np.divide(self.errors, variance, out=np.ones_like(self.errors), where=variance > 0)
        scores[self.labels] = 1 - unexplained
        return scores


def with_bias(X: sparse.csr_array) -> sparse.csr_array:
    """Unit rows with a column of ones behind them, (n_documents, n_features + 1)."""
    rows = normalise_rows(X)
    return sparse.csr_array(sparse.hstack([rows, np.ones((rows.shape[0], 1), np.float32)]))


def largest(columns: np.ndarray, keep: int, smallest: float = 0.0) -> sparse.csr_array:
    """The `keep` entries of largest size of every column of a dense matrix, as sparse rows.

    When all are kept they keep their precision too; otherwise they become float32, and none is below `smallest`.
    """
    n_rows, n_columns = columns.shape
    if keep >= n_rows:
        return sparse.csr_array(columns.T)
    ids, values = np.empty((n_columns, keep), np.int32), np.empty((n_columns, keep), np.float32)
    with one_at_a_time:
        largest_of_columns(np.ascontiguousarray(columns, np.float32), ids, values)
    stay = (np.abs(values) >= smallest) & (values != 0)  # (n_columns, keep)
    starts = np.concatenate([[0], np.cumsum(stay.sum(axis=1))]).astype(np.int32)  # as narrow as the ids: it is stored
    return sparse.csr_array((values[stay], ids[stay], starts), shape=(n_columns, n_rows))


def weights_kept(n_features: int, n_labels: int, wanted: int | None) -> int:
    """Weights a label may keep: what is wanted, or what fits."""
    return min(n_features, wanted or max(1, MOST_WEIGHTS // max(1, n_labels)))


def train_ridge(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    labels: np.ndarray,
    *,
    strength: float,
    solver: str,
    tolerance: float,
    keep: int,
    device: str,
    seed: int,
    progress: Progress,
) -> Regressors:
    """Ridge regressors of `labels` on `X` (with its bias column), going on from what `progress` remembers."""
    ridge = Ridge(X, strength, len(labels), solver=solver, device=device, tolerance=tolerance, seed=seed)
    columns, trained = sparse.csc_array(Y, dtype=np.float64), Blocks(progress, "predictors")
    starts = range(0, len(labels), ridge.block)
    left = [columns[:, labels[start : start + ridge.block]] for start in starts if start >= len(trained)]
    blocks = block_map(
        _solve_block,
        _RidgeWork(ridge, keep),
        left,
        "training predictors",
        n_jobs=1,
        done=len(starts) - len(left),
        here=ridge.device.type != "cpu",
    )
    for rows, errors in blocks:
        trained.add(rows, errors)
    return Regressors(labels, *trained.joined())


@dataclass(frozen=True, eq=False)
class _RidgeWork:
    """What all blocks of labels share."""

    ridge: Ridge
    keep: int


def _solve_block(work: _RidgeWork, Y: sparse.csc_array) -> tuple[sparse.csr_array, np.ndarray]:
    weights, errors = work.ridge.solve(Y)
    return largest(weights, work.keep, SMALL_WEIGHT), errors


def train_svm(
    train: Split, labels: np.ndarray, *, C: float, keep: int, seed: int, checkpoint: Checkpoint | None
) -> Regressors:
    """Support vector machines of `labels`, rescaled to predict 0 and 1."""
    names = LabelSpace([train.labels.names[label] for label in labels])
    part = replace(train, Y=sparse.csr_array(train.Y[:, labels]), labels=names, filter_pairs=None)
    prune = 0.0 if keep > train.X.shape[1] else SMALL_WEIGHT
    weights, bias = train_one_vs_all(part, SvmSettings(C=C, prune=prune, seed=seed), checkpoint)
    X, Y = with_bias(train.X), sparse.csc_array(part.Y)
    rows, errors = [], []
    for start in track(range(0, len(labels), 128), "rating predictors"):
        block = slice(start, start + 128)
        margins = np.vstack([weights[:, block].toarray(), bias[None, block] + 1]) / 2
        rows.append(largest(margins, keep, SMALL_WEIGHT))
        errors.append(np.square(Y[:, block].toarray() - X @ margins).sum(axis=0))
    return Regressors(labels, sparse.csr_array(sparse.vstack(rows)), np.concatenate(errors))
