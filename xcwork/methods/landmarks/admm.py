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
E is α/σ; E sees the new Z. The supplement lets σ grow by 1.1 without end. That forces the constraint to hold before the
objective is optimal (Z off by some 10⁻²); with a ceiling both residuals vanish and Z agrees with the square-root lasso
to machine precision. `ceiling=None` gives the supplement's schedule.

Made for teaching and for accelerators: everything is dense, O(n_documents · n_candidates) per label and round, and the
labels are processed in blocks that fit in memory. The square-root lasso of `affinity` is what runs at scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import has_float64, resolve_device
from xcwork.compute.device_memory import run_in_parts
from xcwork.errors import ConfigError
from xcwork.methods.landmarks.affinity import Combination, fix_landmarks
from xcwork.progress import report, track

if TYPE_CHECKING:
    import pandas as pd
    import torch

MAX_DENSE_ENTRIES = 2**28  # of the dense candidate matrix, 2 GB
ENTRIES_PER_BLOCK = 2**24  # of one of the seven matrices of a block
MATRICES_OF_BLOCK = 7  # of all pairs of documents and labels, and as many of candidates and labels
# What decays towards zero ends here: processors are slow with numbers near the smallest they can hold.
MIN_MAGNITUDE = 1e-30


@dataclass(frozen=True)
class AdmmSettings:
    """The penalty σ over the rounds, and when they end."""

    sigma: float = 0.01  # of the first round
    growth: float = 1.1  # factor per round
    ceiling: float | None = 3.0  # None: σ grows without end, as in the supplement
    tolerance: float = 1e-6  # largest violation of the constraints that may remain
    max_rounds: int = 3000


@dataclass
class AdmmHistory:
    """One entry per round, over all labels: what to plot to see ADMM converge."""

    objective: list[float] = field(default_factory=list)  # of J, with E = Y - Y_S J: always attainable
    primal: list[float] = field(default_factory=list)  # largest violation of the two constraints
    dual: list[float] = field(default_factory=list)  # σ times the largest change of Z
    sigma: list[float] = field(default_factory=list)

    @classmethod
    def from_blocks(cls, parts: list[AdmmHistory]) -> AdmmHistory:
        """Merge blocks of labels: objectives add up, residuals are the largest; a finished block keeps its last row."""
        whole = cls()
        for at in range(max((len(part.sigma) for part in parts), default=0)):
            rows = [[series[min(at, len(series) - 1)] for series in vars(part).values()] for part in parts]
            objective, primal, dual, sigma = zip(*rows, strict=True)
            whole.add(sum(objective), max(primal), max(dual), max(sigma))
        return whole

    def add(self, objective: float, primal: float, dual: float, sigma: float) -> None:
        """Add a round."""
        for series, value in zip(vars(self).values(), (objective, primal, dual, sigma), strict=True):
            series.append(value)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per round."""
        import pandas as pd

        return pd.DataFrame({"round": np.arange(1, len(self.sigma) + 1)} | vars(self))


def relate_labels_by_admm(
    Y: sparse.csr_array,
    alpha: float,
    *,
    landmarks: np.ndarray | None = None,
    device: str = "cpu",
    settings: AdmmSettings | None = None,
) -> tuple[Combination, AdmmHistory]:
    """Return every label as a combination of the landmarks, or of all other labels when there are none given."""
    import torch

    n_documents, n_labels = Y.shape
    candidates = np.arange(n_labels) if landmarks is None else np.asarray(landmarks)
    if max(n_documents, len(candidates)) * len(candidates) > MAX_DENSE_ENTRIES:
        raise ConfigError(
            f"ADMM needs dense matrices of {n_documents} documents and {len(candidates)} labels, which is too large; "
            "use solver=square_root_lasso, which gives the same answer"
        )
    place = resolve_device(device)
    kind = torch.float64 if has_float64(place) else torch.float32
    A = torch.as_tensor(Y[:, candidates].toarray(), dtype=kind, device=place)  # (n_documents, n_candidates)
    factor = torch.linalg.cholesky(A.T @ A + torch.eye(len(candidates), dtype=kind, device=place))
    width = count_block_labels(n_documents, len(candidates))

    def relate_part(first: int, part: slice) -> tuple[sparse.csc_array, np.ndarray, AdmmHistory]:
        start, stop = first + part.start, first + part.stop
        block = torch.as_tensor(Y[:, start:stop].toarray(), dtype=kind, device=place)
        free = torch.ones(len(candidates), block.shape[1], dtype=kind, device=place)
        if landmarks is None:
            free[start:stop].fill_diagonal_(0)
        J, history = run_rounds(A, factor, block, free, alpha, settings or AdmmSettings())
        norms = torch.linalg.vector_norm(block - A @ J, dim=0).cpu().numpy().astype(np.float64)
        return sparse.csc_array(J.cpu().numpy().astype(np.float64)), norms, history

    found = []
    for first in track(range(0, n_labels, width), "relating labels (ADMM)"):
        n_here = min(width, n_labels - first)
        found += run_in_parts(n_here, partial(relate_part, first), place.type, "labels")
    solutions, norms, histories = (list(part) for part in zip(*found, strict=True))
    lengths = np.sqrt(np.bincount(Y.indices, minlength=n_labels))
    Z = sparse.csc_array(sparse.hstack(solutions))
    whole = Combination(Z, np.concatenate(norms), lengths, np.full(n_labels, np.nan))
    return whole if landmarks is None else fix_landmarks(whole, landmarks), AdmmHistory.from_blocks(histories)


def count_block_labels(n_documents: int, n_candidates: int) -> int:
    """Return how many labels are related together."""
    return max(1, ENTRIES_PER_BLOCK // max(n_documents, n_candidates))


def estimate_admm_bytes(n_documents: int, n_labels: int) -> int:
    """Return about how much memory of a device it takes to relate all labels to each other."""
    width = min(n_labels, count_block_labels(n_documents, n_labels))
    once = n_labels * (n_documents + 2 * n_labels)
    return 8 * (once + MATRICES_OF_BLOCK * width * (n_documents + n_labels))


def run_rounds(
    A: torch.Tensor, factor: torch.Tensor, Y: torch.Tensor, free: torch.Tensor, alpha: float, settings: AdmmSettings
) -> tuple[torch.Tensor, AdmmHistory]:
    """Return the J at which both residuals are within the tolerance, or the last one, and what happened until then."""
    import torch

    history = AdmmHistory()
    sigma = settings.sigma
    ceiling = settings.ceiling
    Z = torch.zeros_like(free)  # (n_candidates, n_labels)
    J = Z.clone()
    multiplier_2 = Z.clone()
    E = torch.zeros_like(Y)  # (n_documents, n_labels)
    multiplier_1 = torch.zeros_like(Y)
    for _ in range(settings.max_rounds):
        before = Z
        right = A.T @ (Y - E + multiplier_1 / sigma) + J - multiplier_2 / sigma
        Z = remove_dust(torch.cholesky_solve(right, factor))
        shifted = remove_dust(Z + multiplier_2 / sigma)
        J = shifted.sign() * (shifted.abs() - 1 / sigma).clamp_min(0) * free
        left = Y - A @ Z
        Q = remove_dust(left + multiplier_1 / sigma)
        length = torch.linalg.vector_norm(Q, dim=0).clamp_min(torch.finfo(Q.dtype).tiny)
        E = Q * (1 - alpha / (sigma * length)).clamp_min(0)
        multiplier_1 = sigma * (Q - E)
        multiplier_2 = sigma * (shifted - J)
        first, second, change, objective = torch.stack(
            [
                (left - E).abs().max(),
                (Z - J).abs().max(),
                (Z - before).abs().max(),
                J.abs().sum() + alpha * torch.linalg.vector_norm(Y - A @ J, dim=0).sum(),
            ]
        ).tolist()  # read together
        primal, dual = max(first, second), sigma * change
        history.add(objective, primal, dual, sigma)
        report("relating labels (ADMM)", objective=objective, primal=primal, dual=dual)
        # Without a ceiling the penalty freezes Z, so that its change says nothing.
        if primal < settings.tolerance and (ceiling is None or dual < 10 * settings.tolerance):
            break
        sigma = sigma * settings.growth if ceiling is None else min(sigma * settings.growth, max(sigma, ceiling))
    return J, history


def remove_dust(matrix: torch.Tensor) -> torch.Tensor:
    """Return `matrix` with zeros instead of its tiniest numbers."""
    return matrix.masked_fill(matrix.abs() < MIN_MAGNITUDE, 0.0)
