"""The alternating direction method of multipliers for the affinity problem, with its convergence on record.

    min over Z, E of  ‖Z‖₁ + α ‖E‖₂,₁        subject to  Y = Y_S Z + E

is split with a copy J of Z, so that the ℓ1 norm and the least squares meet only through the constraint Z = J. With
multipliers Λ₁ (documents × labels) and Λ₂ (candidates × labels) and penalty σ, one round is

    Z  ←  (Y_Sᵀ Y_S + I)⁻¹ ( Y_Sᵀ (Y - E + Λ₁/σ) + J - Λ₂/σ )
    J  ←  soft threshold of Z + Λ₂/σ at 1/σ                              (with a zero diagonal when S = all)
    E  ←  every column of Q = Y - Y_S Z + Λ₁/σ shortened by α/σ:  q max(0, 1 - α / (σ ‖q‖))
    Λ₁ ←  Λ₁ + σ (Y - Y_S Z - E),     Λ₂ ← Λ₂ + σ (Z - J)
    σ  ←  min(growth σ, ceiling)

J and E do not meet, so they form one block and Z the other: this is two-block ADMM, which converges for every fixed σ.

Corrections to the supplement's equation 16: the copy J makes the matrix that is inverted regular even when label
columns repeat or are empty, and turns the ℓ1 step into an exact one; the multiplier enters as Y_Sᵀ Λ₁; the threshold of
E is α/σ; E sees the new Z. The supplement lets σ grow by 1.1 for ever. That forces the constraint to hold before the
objective is optimal (Z off by some 10⁻²); with a ceiling both residuals vanish and Z agrees with the square-root lasso
to machine precision. `ceiling=None` gives the supplement's schedule.

Made for teaching and for accelerators: everything is dense, O(n_documents · n_candidates) a label and round, and the
labels are processed in blocks that fit in memory. The square-root lasso of `affinity` is what runs at scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve
from xcwork.errors import ConfigError
from xcwork.methods.landmarks.affinity import Combination, with_landmarks
from xcwork.progress import report, track

if TYPE_CHECKING:
    import pandas as pd
    import torch

MOST_ENTRIES = 2**28  # of the dense candidate matrix, 2 GB
BLOCK_ENTRIES = 2**24  # of one of the seven matrices of a block
DUST = 1e-30  # what decays towards zero ends here: processors are slow with numbers near the smallest they can hold


@dataclass
class History:
    """One entry a round, over all labels: what to plot to see ADMM converge."""

    objective: list[float] = field(default_factory=list)  # of J, with E = Y - Y_S J: always attainable
    primal: list[float] = field(default_factory=list)  # largest violation of the two constraints
    dual: list[float] = field(default_factory=list)  # σ times the largest change of Z
    sigma: list[float] = field(default_factory=list)

    def add(self, objective: float, primal: float, dual: float, sigma: float) -> None:
        for series, value in zip(vars(self).values(), (objective, primal, dual, sigma), strict=True):
            series.append(value)

    @classmethod
    def merged(cls, parts: list[History]) -> History:
        """Of blocks of labels: objectives add up, residuals are the largest; a finished block keeps its last value."""
        whole = cls()
        for at in range(max((len(part.sigma) for part in parts), default=0)):
            rows = [[series[min(at, len(series) - 1)] for series in vars(part).values()] for part in parts]
            objective, primal, dual, sigma = zip(*rows, strict=True)
            whole.add(sum(objective), max(primal), max(dual), max(sigma))
        return whole

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({"round": np.arange(1, len(self.sigma) + 1)} | vars(self))


def admm_affinity(
    Y: sparse.csr_array,
    alpha: float,
    *,
    landmarks: np.ndarray | None = None,
    sigma: float = 0.01,
    growth: float = 1.1,
    ceiling: float | None = 3.0,
    tolerance: float = 1e-6,
    max_rounds: int = 3000,
    device: str = "cpu",
) -> tuple[Combination, History]:
    """Every label as a combination of the landmarks, or of all other labels when there are none given."""
    import torch

    n_documents, n_labels = Y.shape
    candidates = np.arange(n_labels) if landmarks is None else np.asarray(landmarks)
    if max(n_documents, len(candidates)) * len(candidates) > MOST_ENTRIES:
        raise ConfigError(
            f"ADMM needs dense matrices of {n_documents} documents and {len(candidates)} labels, which is too large; "
            "use solver=square_root_lasso, which gives the same answer"
        )
    place = resolve(device)
    kind = torch.float32 if place.type == "mps" else torch.float64
    A = torch.as_tensor(Y[:, candidates].toarray(), dtype=kind, device=place)  # (n_documents, n_candidates)
    factor = torch.linalg.cholesky(A.T @ A + torch.eye(len(candidates), dtype=kind, device=place))
    width = max(1, BLOCK_ENTRIES // max(n_documents, len(candidates)))
    solutions, histories = [], []
    for start in track(range(0, n_labels, width), "relating labels (ADMM)"):
        block = torch.as_tensor(Y[:, start : start + width].toarray(), dtype=kind, device=place)
        free = torch.ones(len(candidates), block.shape[1], dtype=kind, device=place)
        if landmarks is None:
            free[torch.arange(start, start + block.shape[1]), torch.arange(block.shape[1])] = 0
        history = History()
        J = _rounds(A, factor, block, free, alpha, history, sigma, growth, ceiling, tolerance, max_rounds)
        solutions.append((sparse.csc_array(J.cpu().numpy().astype(np.float64)), _lengths(block - A @ J)))
        histories.append(history)
    return _combined(Y, solutions, landmarks), History.merged(histories)


def _rounds(
    A: torch.Tensor,
    factor: torch.Tensor,
    Y: torch.Tensor,
    free: torch.Tensor,
    alpha: float,
    history: History,
    sigma: float,
    growth: float,
    ceiling: float | None,
    tolerance: float,
    max_rounds: int,
) -> torch.Tensor:
    """The J at which both residuals are within the tolerance, or the last one."""
    import torch

    Z = torch.zeros_like(free)  # (n_candidates, n_labels)
    J, multiplier_2 = Z.clone(), Z.clone()
    E, multiplier_1 = torch.zeros_like(Y), torch.zeros_like(Y)  # (n_documents, n_labels)
    for _ in range(max_rounds):
        before = Z
        right = A.T @ (Y - E + multiplier_1 / sigma) + J - multiplier_2 / sigma
        Z = _without_dust(torch.cholesky_solve(right, factor))
        shifted = _without_dust(Z + multiplier_2 / sigma)
        J = shifted.sign() * (shifted.abs() - 1 / sigma).clamp_min(0) * free
        left = Y - A @ Z
        Q = _without_dust(left + multiplier_1 / sigma)
        length = torch.linalg.vector_norm(Q, dim=0).clamp_min(torch.finfo(Q.dtype).tiny)
        E = Q * (1 - alpha / (sigma * length)).clamp_min(0)
        multiplier_1, multiplier_2 = sigma * (Q - E), sigma * (shifted - J)
        primal = max(float((left - E).abs().max()), float((Z - J).abs().max()))
        dual = sigma * float((Z - before).abs().max())
        objective = float(J.abs().sum() + alpha * torch.linalg.vector_norm(Y - A @ J, dim=0).sum())
        history.add(objective, primal, dual, sigma)
        report("relating labels (ADMM)", objective=objective, primal=primal, dual=dual)
        # Without a ceiling the penalty freezes Z, so that its change says nothing.
        if primal < tolerance and (ceiling is None or dual < 10 * tolerance):
            break
        sigma = sigma * growth if ceiling is None else min(sigma * growth, max(sigma, ceiling))
    return J


def _without_dust(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.masked_fill(matrix.abs() < DUST, 0.0)


def _lengths(columns: torch.Tensor) -> np.ndarray:
    import torch

    return torch.linalg.vector_norm(columns, dim=0).cpu().numpy().astype(np.float64)


def _combined(
    Y: sparse.csr_array, solutions: list[tuple[sparse.csc_array, np.ndarray]], landmarks: np.ndarray | None
) -> Combination:
    lengths = np.sqrt(np.bincount(Y.indices, minlength=Y.shape[1]))
    Z = sparse.csc_array(sparse.hstack([part for part, _ in solutions]))
    norms = np.concatenate([norms for _, norms in solutions])
    whole = Combination(Z, norms, lengths, np.full(Y.shape[1], np.nan))
    return whole if landmarks is None else with_landmarks(whole, landmarks)
