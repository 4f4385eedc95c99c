"""The supplement of the landmark labels: is the selection submodular, and do its updates solve its own problem?

- Theorems 4 and 5: cut and penalised cut are submodular, and monotone only while few labels are chosen. On a small
  graph every pair of nested sets can be tried.
- Algorithm 4 with equation 16 as printed: the affinity problem has no zero diagonal, so every label may represent
  itself; the matrix it inverts is singular as soon as two labels occur in the same documents; and the shortening of E
  lacks 1/σ, so that the multiplier grows without end. `xcwork.methods.landmarks.admm` has the corrected updates.

Reference: Barezi et al., A submodular feature-aware framework for label subset selection, NAACL 2019, supplement.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.methods.landmarks.admm import AdmmSettings, relate_labels_by_admm
from xcwork.methods.landmarks.affinity import relate_labels
from xcwork.methods.landmarks.selection import compute_objective
from xcwork.studies.study_outcome import StudyOutcome

N_NODES = 7
N_GRAPHS = 5
PENALTY = 0.5
ROUNDING = 1e-9
N_DOCUMENTS = 60
N_LABELS = 8
N_ROUNDS = 100
GROWTH = 1.1  # ρ of the supplement
ALPHA = 1.0


def check_submodularity(seed: int = 0) -> StudyOutcome:
    """Try every pair of nested sets on small graphs: gains must fall (submodular), and may become negative."""
    rows: list[dict[str, Any]] = []
    broken = 0
    for graph in range(N_GRAPHS):
        W = _draw_graph(np.random.default_rng((seed, graph)))
        first_negative: dict[float, int] = {}
        for penalty in (0.0, PENALTY):
            value = _tabulate_objective(W, penalty)
            for small in value:
                for label in set(range(N_NODES)) - small:
                    gain = value[small | {label}] - value[small]
                    if gain < -ROUNDING:
                        first_negative[penalty] = min(first_negative.get(penalty, N_NODES), len(small))
                    for extra in set(range(N_NODES)) - small - {label}:
                        large = small | {extra}
                        broken += value[large | {label}] - value[large] > gain + ROUNDING
        rows.append(
            {
                "graph": graph,
                "labels": N_NODES,
                "cut: a gain may be negative from |S| =": first_negative.get(0.0, ""),
                "penalised: from |S| =": first_negative.get(PENALTY, ""),
            }
        )
    return StudyOutcome(
        broken == 0,
        f"{broken} pairs of nested sets break submodularity. The cut is monotone only while few labels are chosen: a "
        "further one may lower it from "
        f"{min(int(row['cut: a gain may be negative from |S| =']) for row in rows)} of {N_NODES} on.",
        rows,
    )


def _draw_graph(rng: np.random.Generator) -> sparse.csr_array:
    weights = np.triu(rng.random((N_NODES, N_NODES)) * (rng.random((N_NODES, N_NODES)) < 0.7), 1)
    return sparse.csr_array(weights + weights.T)


def _tabulate_objective(W: sparse.csr_array, penalty: float) -> dict[frozenset[int], float]:
    none = np.zeros(N_NODES)
    return {
        frozenset(chosen): compute_objective(W, none, np.array(chosen, np.int64), penalty)
        for size in range(N_NODES + 1)
        for chosen in combinations(range(N_NODES), size)
    }


def check_printed_admm(seed: int = 0) -> StudyOutcome:
    """Run equation 16 as printed and compare where it ends with the minimum of the problem it is meant to solve."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((N_DOCUMENTS, N_LABELS)) < 0.25).astype(float)
    Y[:, 1] = np.where(rng.random(N_DOCUMENTS) < 0.8, Y[:, 0], Y[:, 1])  # two labels that go together
    Z, E = _run_printed_updates(Y)
    twice = np.column_stack([Y, Y[:, 0]])  # a label that occurs in the same documents as another
    rank = int(np.linalg.matrix_rank(twice.T @ twice))
    best = relate_labels(sparse.csr_array(Y, dtype=np.float32), ALPHA)
    violation = float(np.abs(Y - Y @ Z - E).max())
    rows = [
        {"what": f"largest violation of Y = Y Z + E after {N_ROUNDS} printed rounds", "value": violation},
        {"what": "objective of Z = I, which the printed problem allows", "value": float(N_LABELS)},
        {"what": "best objective where no label represents itself", "value": best.compute_objective(ALPHA)},
        {"what": "rank of YᵀY with one label twice", "value": rank},
        {"what": "labels then", "value": twice.shape[1]},
    ]
    return StudyOutcome(
        violation < 1e-6,
        f"Equation 16 as printed diverges: Y = Y Z + E is violated by {violation:.0e} after {N_ROUNDS} rounds. The "
        f"printed problem has no zero diagonal, so Z = I (objective {N_LABELS}) beats every affinity between labels "
        f"({rows[2]['value']:.1f} at best). And with one label occurring twice YᵀY has rank {rank} of "
        f"{twice.shape[1]}, so that it cannot be inverted.",
        rows,
    )


def check_corrected_admm(seed: int = 0) -> StudyOutcome:
    """Compare the corrected ADMM, with the supplement's schedule and with a ceiling, with the square-root lasso."""
    rng = np.random.default_rng(seed)
    Y = sparse.csr_array((rng.random((N_DOCUMENTS, N_LABELS)) < 0.25).astype(np.float32))
    best = relate_labels(Y, ALPHA, tolerance=1e-9).compute_objective(ALPHA)
    rows: list[dict[str, Any]] = []
    for name, settings in (
        ("the supplement's schedule, σ × 1.1", AdmmSettings(ceiling=None)),
        ("with a ceiling", AdmmSettings()),
    ):
        combination, history = relate_labels_by_admm(Y, ALPHA, settings=settings)
        above = combination.compute_objective(ALPHA) / best - 1
        rows.append({"schedule": name, "rounds": len(history.sigma), "above the minimum, %": 100 * above})
    return StudyOutcome(
        all(abs(row["above the minimum, %"]) < 1 for row in rows),
        f"Corrected, ADMM with the supplement's schedule ends {rows[0]['above the minimum, %']:.4f} % above the "
        f"minimum after {rows[0]['rounds']} rounds, with a ceiling {rows[1]['above the minimum, %']:.4f} % after "
        f"{rows[1]['rounds']}.",
        rows,
    )


def _run_printed_updates(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Z and E after the updates of equation 16 with Y_s = Y, as printed (the multiplier as Yᵀλ)."""
    inverse = np.linalg.inv(Y.T @ Y)
    Z = np.zeros((Y.shape[1], Y.shape[1]))
    E, multiplier, sigma = np.zeros_like(Y), np.zeros_like(Y), 0.01
    for _ in range(N_ROUNDS):
        half = inverse @ (Y.T @ (Y - E) + Y.T @ multiplier / sigma)
        following = np.sign(half) * np.maximum(np.abs(half) - 1 / sigma, 0)
        Q = Y - Y @ Z + multiplier / sigma  # with the Z of the round before
        lengths = np.maximum(np.linalg.norm(Q, axis=0), 1e-12)
        E = Q * np.maximum(0, 1 - ALPHA / lengths)  # without 1/σ
        Z = following
        multiplier = multiplier + sigma * (Y - Y @ Z - E)
        sigma *= GROWTH
        if np.abs(Y - Y @ Z - E).max() < 1e-6:
            break
    return Z, E
