"""Ridge regression for many labels together: one system, thousands of right-hand sides.

    B = argmin ‖X B - Y‖² + γ ‖B‖²  =  (XᵀX + γI)⁻¹ Xᵀ Y  =  Xᵀ (XXᵀ + γI)⁻¹ Y

The first form (primal) has as many unknowns per label as there are features, the second (dual) as many as documents;
the smaller one is solved. Write A = Xᵀ or A = X for it, M = AAᵀ + γI, and C = XᵀY or C = Y. Two ways to M⁻¹C:

- *Cholesky*: M as a dense matrix. Exact; O(size³) once. With more labels than unknowns M⁻¹ itself is worth forming,
  since a sparse C then costs only O(size · nnz(C)): the dual form profits most, there C is the label matrix.
- *Conjugate gradients*: M only as a product with sparse A. The largest r eigenvalues of AAᵀ make it slow, so their
  space U (from a randomised subspace iteration) is taken out: the start solves it exactly and the preconditioner
  I + U ((λ_r + γ) / (Λ + γ) - 1) Uᵀ levels it; the rest has a condition number below λ_r/γ + 1. A label is done when
  its residual is below the tolerance relative to the part of its right-hand side outside U.

`auto` takes Cholesky when M fits (MAX_DENSE_UNKNOWNS) and the estimated work is less. Because ridge is linear in its
target, P(Y_S z + e) = P y: predicting a combination of landmarks plus a predicted remainder is predicting the label.

The residual sums of squares that R² needs cost nothing more: y - Xb = γ·(dual solution) + its residual, and in the
primal ‖y - Xb‖² = ‖y‖² - b·(c + γ b + residual).

Dense algebra runs in torch on the chosen device. Sparse products use a numba kernel on the CPU and torch elsewhere; the
torch products also run on the CPU, where tests compare the two.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.kernels import one_at_a_time
from xcwork.kernels.dense_products import compute_sparse_gram
from xcwork.methods.common.sparse_torch import SparseProduct, find_accelerator

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

RIDGE_SOLVERS = ("auto", "cholesky", "cg")
MAX_DENSE_UNKNOWNS = 15_000  # M is then 1.8 GB, and there are two of that size for a moment
COLUMNS_PER_BLOCK = 1024  # of M⁻¹, found together
MAX_DEFLATED_EIGENVALUES = 400  # eigenvalues taken out before conjugate gradients
SPARSE_TO_DENSE_COST = 15  # a multiplication in a sparse product costs about as much as this many in a dense one
EXPECTED_ROUNDS = 12  # of conjugate gradients, for the estimate
MAX_ROUNDS = 500  # of conjugate gradients
COPIES_OF_BLOCK = 6  # of the size of its weights, while a block of labels is solved
MAX_SPARSE_SHARE = 0.05  # of entries, up to which a right-hand side is multiplied as a sparse one


class Ridge:
    """The system of one feature matrix, ready to be solved for any labels."""

    def __init__(
        self,
        X: sparse.csr_array,
        strength: float,
        n_labels: int,
        *,
        solver: str = "auto",
        device: str = "cpu",
        tolerance: float = 0.1,
        seed: int = 0,
        kernel: bool | None = None,
    ) -> None:
        """Prepare the system for `n_labels` labels; `kernel=False` uses torch's sparse products on the CPU too."""
        import torch

        self.strength = strength
        self.tolerance = tolerance
        # Frequent features first while training: what is used most then shares the processor's cache.
        self._rank = np.empty(X.shape[1], np.int64)
        self._rank[np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")] = np.arange(X.shape[1])
        X = sparse.csr_array((X.data, self._rank[X.indices].astype(np.int32), X.indptr), shape=X.shape)
        self.shape = X.shape
        self.dual = X.shape[0] < X.shape[1]
        self.size = min(X.shape)
        self.solver = choose_solver(X.shape, X.nnz, n_labels) if solver == "auto" else solver
        place = find_accelerator(device)
        self.device = place or torch.device("cpu")
        self.kernel = place is None if kernel is None else kernel
        self.dtype = torch.float64 if needs_float64(self.solver, tolerance) else torch.float32
        self._A = self._make_product(X if self.dual else X.T)  # (size, the other side)
        self._At = self._make_product(X.T if self.dual else X)
        if self.solver == "cholesky":
            self._factorise(explicit=n_labels > self.size)
        else:
            self._deflate(count_deflated(self.size, n_labels), seed)

    @property
    def block_size(self) -> int:
        """The number of labels that are best solved for together."""
        return count_block_labels(self.shape)

    def solve(self, Y: sparse.csc_array) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (n_features, n_labels) and residual sums of squares (n_labels,) for the columns of `Y`."""
        C = sparse.csc_array(Y if self.dual else self._A.matrix @ Y)
        if self.solver == "cholesky":
            solution = self._apply_inverse(C)
            left: torch.Tensor | float = 0.0
        else:
            solution, left = self._run_conjugate_gradients(self._make_dense(C))
        if self.dual:
            weights = self._At @ solution
            errors = (self.strength * solution + left).square().sum(dim=0)
        else:
            weights = solution
            explained = (weights * (self._make_dense(C) + self.strength * weights + left)).sum(dim=0)
            errors = self._make_dense(Y).square().sum(dim=0) - explained
        return weights.cpu().numpy()[self._rank], errors.cpu().numpy().astype(np.float64)

    def _make_product(self, matrix: sparse.sparray) -> SparseProduct:
        return SparseProduct(matrix, self.dtype, self.device, kernel=self.kernel)

    def _make_dense(self, matrix: sparse.sparray) -> torch.Tensor:
        import torch

        return torch.as_tensor(matrix.toarray(), dtype=self.dtype, device=self.device)

    def _factorise(self, *, explicit: bool) -> None:
        """Prepare the Cholesky factor of M, or M⁻¹."""
        import torch

        M = self._compute_gram()
        M.diagonal().add_(self.strength)
        self._factor = torch.linalg.cholesky(M)
        del M
        if explicit:
            # Its columns, found a block at a time, are stored as its rows, which are the same.
            self._inverse = torch.empty((self.size, self.size), dtype=self.dtype, device=self.device)
            for start in range(0, self.size, COLUMNS_PER_BLOCK):
                unit = torch.zeros(
                    self.size, min(COLUMNS_PER_BLOCK, self.size - start), dtype=self.dtype, device=self.device
                )
                unit[start : start + COLUMNS_PER_BLOCK].fill_diagonal_(1)
                self._inverse[start : start + COLUMNS_PER_BLOCK] = torch.cholesky_solve(unit, self._factor).T
            self._factor = None

    def _compute_gram(self) -> torch.Tensor:
        """Return AAᵀ, (size, size)."""
        import torch

        if self.kernel:
            out = np.empty((self.size, self.size))
            A, At = self._A.matrix, self._At.matrix
            with one_at_a_time:
                compute_sparse_gram(A.data, A.indices, A.indptr, At.data, At.indices, At.indptr, out)
            return torch.from_numpy(out)
        rows = range(0, self.size, self.block_size)
        return torch.hstack([self._A @ self._make_dense(self._A.matrix[i : i + self.block_size].T) for i in rows])

    def _apply_inverse(self, C: sparse.csc_array) -> torch.Tensor:
        import torch

        if self._factor is not None:
            return torch.cholesky_solve(self._make_dense(C), self._factor)
        if C.nnz < MAX_SPARSE_SHARE * C.shape[0] * C.shape[1]:
            return (self._make_product(C.T) @ self._inverse).T
        return self._inverse @ self._make_dense(C)

    def _apply_M(self, P: torch.Tensor) -> torch.Tensor:
        return (self._A @ (self._At @ P)).add_(P, alpha=self.strength)

    def _deflate(self, rank: int, seed: int) -> None:
        """Find the space of the largest eigenvalues of AAᵀ, by two rounds of subspace iteration."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        start = torch.randn(self.size, rank + rank // 10, generator=generator, dtype=self.dtype)
        basis, _ = torch.linalg.qr(start.to(self.device))
        for _ in range(2):
            basis, _ = torch.linalg.qr(self._A @ (self._At @ basis))
        images = self._At @ basis
        values, vectors = torch.linalg.eigh(images.T @ images)
        self._space = basis @ vectors[:, len(values) - rank :]  # (size, rank)
        self._values = values[len(values) - rank :].clamp_min(0)[:, None] + self.strength  # (rank, 1), ascending

    def _precondition(self, residual: torch.Tensor) -> torch.Tensor:
        if len(self._values) == 0:
            return residual.clone()
        levelled = (self._values[0] / self._values - 1) * (self._space.T @ residual)
        return residual + self._space @ levelled

    def _run_conjugate_gradients(self, C: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (solution, C - M solution), both (size, n_labels)."""
        import torch

        inside = self._space.T @ C
        solution = self._space @ (inside / self._values)
        residual = C - self._apply_M(solution)
        # The largest eigenvalues make up most of C and are solved exactly, so it is the rest that must become small.
        rest = (C.square().sum(dim=0) - inside.square().sum(dim=0)).clamp_min(0)
        enough = self.tolerance**2 * rest + torch.finfo(self.dtype).eps ** 1.5 * C.square().sum(dim=0)
        direction = self._precondition(residual)
        slope = (residual * direction).sum(dim=0)
        for _ in range(MAX_ROUNDS):
            live = residual.square().sum(dim=0) > enough
            if not bool(live.any()):
                break
            image = self._apply_M(direction)
            # A column that is done stays as it is; its step would be 0/0 once the residual is exactly zero.
            step = (slope / (direction * image).sum(dim=0)).where(live, 0.0)
            solution.addcmul_(direction, step)
            residual.addcmul_(image, step, value=-1)
            better = self._precondition(residual)
            renewed = (residual * better).sum(dim=0)
            direction.mul_((renewed / slope).where(live, 0.0)).add_(better)
            slope = renewed
        else:
            log.warning("conjugate gradients stopped after %d rounds; raise the tolerance or gamma", MAX_ROUNDS)
        return solution, residual


def count_block_labels(shape: tuple[int, int]) -> int:
    """Return the number of labels that are best solved for together."""
    # More columns would no longer fit into the processor's cache together with the sparse matrix.
    return int(np.clip(2**24 // max(shape), 16, 64))


def count_deflated(size: int, n_labels: int) -> int:
    """Return how many eigenvalues are taken out before conjugate gradients."""
    return min(MAX_DEFLATED_EIGENVALUES, size // 10, n_labels)


def needs_float64(solver: str, tolerance: float) -> bool:
    """Return whether a solver computes in double precision."""
    return solver == "cholesky" or tolerance < 1e-4


def choose_solver(shape: tuple[int, int], n_entries: int, n_labels: int) -> str:
    """Return the solver with the smaller estimate of multiplications, among those that fit in memory."""
    size = min(shape)
    if size > MAX_DENSE_UNKNOWNS:
        return "cg"
    dense = size**3 + 2 * size**2 * n_labels
    return "cholesky" if dense <= SPARSE_TO_DENSE_COST * EXPECTED_ROUNDS * 4 * n_entries * n_labels + 10**10 else "cg"


def estimate_ridge_bytes(
    shape: tuple[int, int], n_entries: int, n_labels: int, solver: str = "auto", tolerance: float = 0.1
) -> int:
    """Return about how much memory of a device a system with its solutions takes."""
    solver = choose_solver(shape, n_entries, n_labels) if solver == "auto" else solver
    number = 8 if needs_float64(solver, tolerance) else 4
    size, other = min(shape), max(shape)
    stored = 2 * n_entries * (number + 8) + 8 * (size + other)  # values and columns of both products
    block = COPIES_OF_BLOCK * other * min(count_block_labels(shape), n_labels)
    if solver == "cholesky":
        columns = min(COLUMNS_PER_BLOCK, size) if n_labels > size else 0
        return stored + number * max(2 * size**2 + 3 * size * columns, size**2 + block)
    rank = count_deflated(size, n_labels)
    return stored + number * max((4 * size + 2 * other) * (rank + rank // 10), size * rank + block)
