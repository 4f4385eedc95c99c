"""EAGLE's toy example, its simulations and theorems 3 and 4, with numbers.

- The toy example (figure 1): both labels belong to the same groups, so any estimator that looks at the groups of a
  label alone gives both the same embedding. Objective (2) cannot tell them apart.
- Algorithm 1 in groups of one gives Parabel's label vectors.
- Figures 3 and 6 (theorem 1): the simulations of `xcwork.studies.eagle`, in one sentence.
- Theorem 3 bounds how far the estimator of (2) is from the truth. With groups of two the estimator can be found by
  trying every choice of members: for a choice the best unit vector is the normalised sum, its value the length of it.
- Theorem 4 bounds one step. Its proof lets the step size grow without end; algorithm 1 takes steps of λ = 0.1. And the
  printed condition for contraction has the wrong sign.

Reference: Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020, sections 3 and 5.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.data.groups import Groups
from xcwork.methods.common.grlr import assign_labels
from xcwork.studies.eagle import simulate_classification, simulate_regression
from xcwork.studies.study_outcome import StudyOutcome

N_TOY_GROUPS = 20
N_TOY_SEEDS = 20
N_GROUPS = 8  # 2⁸ choices of one member each
DIMENSION = 6
N_TRIALS = 60
STEP = 0.1  # λ of the paper
ROUNDING = 1e-9


def check_toy_example(seed: int = 0) -> StudyOutcome:
    """Run the example of figure 1 with several seeds: groups {x, -x}, and each group has both labels."""
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    X = sparse.csr_array(np.tile(x, (N_TOY_GROUPS, 1)))
    members = sparse.csr_array(np.kron(np.eye(N_TOY_GROUPS), np.ones((1, 2))))
    labels = sparse.csr_array(np.ones((N_TOY_GROUPS, 2)))
    groups = Groups([f"group {at}" for at in range(N_TOY_GROUPS)], members, labels)
    embedding_of_baseline = (labels.T @ members @ X).toarray()
    rows: list[dict[str, Any]] = []
    for start in range(seed, seed + N_TOY_SEEDS):
        found = assign_labels(X, groups, assign="one", centre=False, careful=False, keep=None, seed=start)
        embeddings = found.embeddings.toarray()
        rows.append(
            {
                "seed": start,
                "baseline, label 1": str(embedding_of_baseline[0]),
                "EAGLE, label 1": str(embeddings[0]),
                "EAGLE, label 2": str(embeddings[1]),
                "told apart": bool(embeddings[0] @ embeddings[1] < 0),
            }
        )
    n_apart = sum(row["told apart"] for row in rows)
    return StudyOutcome(
        n_apart == N_TOY_SEEDS,
        "The baseline's embeddings are zero, as the paper says; so is the start of algorithm 1, which has to begin at "
        f"a random member instead. It then tells the two labels apart with {n_apart} of {N_TOY_SEEDS} seeds: both have "
        "the same groups, so objective (2) has the same maximisers for both, and chance decides.",
        rows,
    )


def check_groups_of_one(seed: int = 0) -> StudyOutcome:
    """Compare the embeddings of algorithm 1 in groups of one with the normalised sums that Parabel starts from."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(normalise_vectors(rng.random((60, 8)) * (rng.random((60, 8)) < 0.5) + 1e-3))
    Y = sparse.csr_array((rng.random((60, 5)) < 0.3).astype(float))
    groups = Groups([str(row) for row in range(60)], sparse.csr_array(np.eye(60)), Y)
    found = assign_labels(X, groups, assign="one", centre=False, careful=False, keep=None, seed=seed)
    expected = normalise_vectors((Y.T @ X).toarray())
    difference = float(np.abs(found.embeddings.toarray() - expected).max())
    n_changed = int((found.Y != Y).nnz)
    rows = [{"labels": 5, "largest difference of an entry": difference, "labels given to others": n_changed}]
    return StudyOutcome(
        difference < 1e-5 and n_changed == 0,
        f"The embeddings differ from Parabel's by at most {difference:.0e}, and {n_changed} labels change hands.",
        rows,
    )


def check_regression(seed: int = 0) -> StudyOutcome:
    """Run the simulation of figure 3: assigned outputs (AS) against sums of groups (NoAS), relative to the oracle."""
    frame = simulate_regression(seed=seed)
    error = {(row.sigma_2, row.estimator): row.relative_error for row in frame.itertuples()}
    return StudyOutcome(
        error[10.0, "AS"] < 1.2 and error[10.0, "NoAS"] > 2 and error[0.1, "NoAS"] < 1.1,
        f"At sigma_2 = 10 assignment has {error[10.0, 'AS']:.2f} times the oracle's error and sums "
        f"{error[10.0, 'NoAS']:.2f} times (theorem 1: {math.sqrt(10 * 101 / 110):.2f}); at 1 they have "
        f"{error[1.0, 'AS']:.2f} and {error[1.0, 'NoAS']:.2f}, at 0.1 {error[0.1, 'AS']:.2f} and "
        f"{error[0.1, 'NoAS']:.2f}.",
        frame.to_dict("records"),
    )


def check_classification(seed: int = 0) -> StudyOutcome:
    """Run the simulation of figure 6 with the printed noise of 0.1, and with one at which errors occur."""
    rows: list[dict[str, Any]] = []
    for noise in (0.1, 0.3):
        frame = simulate_classification(sigma_1=noise, seed=seed)
        rows += [{"sigma_1": noise, **row} for row in frame.to_dict("records")]
    error = {(row["sigma_1"], row["sigma_2"], row["estimator"]): row["relative_error"] for row in rows}
    return StudyOutcome(
        error[0.3, 0.0, "AS"] < error[0.3, 0.0, "NoAS"],
        f"In mixed groups (sigma_2 = 0) assignment has {error[0.3, 0.0, 'AS']:.2f} times the oracle's error and sums "
        f"{error[0.3, 0.0, 'NoAS']:.2f} times; in groups of one label {error[0.3, 10.0, 'AS']:.2f} and "
        f"{error[0.3, 10.0, 'NoAS']:.2f}. With the printed sigma_1 = 0.1 they have {error[0.1, 0.0, 'AS']:.2f} and "
        f"{error[0.1, 0.0, 'NoAS']:.2f} in mixed groups.",
        rows,
    )


def check_theorem_3(seed: int = 0) -> StudyOutcome:
    """Compare the bound of theorem 3 with the exact estimator on random groups of two."""
    rows: list[dict[str, Any]] = []
    broken = informative = 0
    for noise in (0.01, 0.03, 0.1, 0.3):
        slack: list[float] = []
        n_informative = 0
        for trial in range(N_TRIALS):
            rng = np.random.default_rng((seed, trial, int(1000 * noise)))
            cosine, bound = _solve_groups_of_two(rng, noise)
            broken += cosine < bound - ROUNDING
            if bound > 0:
                n_informative += 1
                slack.append(cosine - bound)
        informative += n_informative
        rows.append(
            {
                "noise": noise,
                "cases": N_TRIALS,
                "bound above zero": n_informative,
                "smallest cosine minus bound": min(slack, default=None),
            }
        )
    n_cases = N_TRIALS * len(rows)
    return StudyOutcome(
        bool(broken == 0),
        f"{broken} of {n_cases} cases break the bound; it says anything (is above zero) in {informative} of them.",
        rows,
    )


def _solve_groups_of_two(rng: np.random.Generator, noise: float) -> tuple[float, float]:
    """Return (cosine of the true embedding and the exact estimator, bound of theorem 3)."""
    true = normalise_vectors(rng.normal(size=(5, DIMENSION)))
    other = rng.integers(1, 5, size=N_GROUPS)
    own = normalise_vectors(true[0] + noise * rng.normal(size=(N_GROUPS, DIMENSION)))
    others = normalise_vectors(true[other] + noise * rng.normal(size=(N_GROUPS, DIMENSION)))
    pairs = np.stack([own, others], axis=1)  # (groups, 2, d)
    sums = np.array([pairs[np.arange(N_GROUPS), choice].sum(0) for choice in product((0, 1), repeat=N_GROUPS)])
    estimate = normalise_vectors(sums[[np.linalg.norm(sums, axis=1).argmax()]])[0]
    deltas = [np.linalg.norm(true[i] - true[j]) for i in range(5) for j in range(i)]
    errors = np.vstack([own - true[0], others - true[other]])
    f = float(np.linalg.norm(errors, axis=1).max())  # over all subsets, the largest mean is that of one sample
    q = max(float((other == label).sum()) / N_GROUPS for label in range(1, 5))
    left = 1 - q - 2 * f / min(deltas)
    r = 1 / left - 1 if left > 0 else math.inf
    return float(true[0] @ estimate), float(1 - r * f - (math.sqrt(2) * r + 2) * f * f)


def check_theorem_4(seed: int = 0) -> StudyOutcome:
    """Find where theorem 4 fails: its condition for contraction, and algorithm 1's step size."""
    alpha, f, distance = 0.9, 0.1, 0.2
    cosine = 1 - distance**2 / 2
    next_bound = alpha + (1 - alpha) * (cosine - distance) - f
    condition = 1 - 2 * ((1 - f / 2) / alpha - 1) ** 2
    # One group whose sample is the truth itself; the embedding is at a right angle to it. Then α = 1 and f = 0.
    e_true, e = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    after = normalise_vectors((e + STEP * e_true)[None])[0]
    rows = [
        {
            "claim": "contraction if <e*, e> is at most " + f"{condition:.3f}",
            "before": cosine,
            "bound for after": next_bound,
            "found": "",
        },
        {"claim": "one step, alpha 1, f 0", "before": 0.0, "bound for after": 1.0, "found": float(after @ e_true)},
    ]
    needed = ((1 - alpha) + math.sqrt((1 - alpha) ** 2 + 2 * alpha * f)) / alpha
    return StudyOutcome(
        False,
        f"At alpha 0.9, f 0.1 and distance 0.2 the condition holds ({cosine:.3f} <= {condition:.3f}), but the bound "
        f"falls from {cosine:.3f} to {next_bound:.3f}; contraction needs a distance of at least {needed:.3f}. And a "
        f"step of lambda 0.1 from a right angle reaches a cosine of {float(after @ e_true):.3f} where the theorem "
        "promises 1: it is proved for infinite steps.",
        rows,
    )


def normalise_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return every row with length one."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
