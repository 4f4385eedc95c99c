"""ZestXML's theorem 1.1 on a problem small enough for exact algebra, and theorem 1.2 on made-up data.

The first Newton step from w = 0 for the logistic loss over all pairs of a document feature and a label feature is

    w₁ = (I + λ/4 A Aᵀ)⁻¹ (λ/2) A b,      a_il = vec(x_i z_lᵀ),  b_il = ±1,

with one column of A for each document and label. The theorem's closed form for it is, up to constants that do not
change the order within a row, the share of relevant pairs n(c, d) / (Σ_i x_ic · Σ_l z_ld), by which
`xcwork.methods.zestxml.xhtp` ranks. It rests on independent features, so it is an approximation: what counts is
whether it picks the right pairs. The regret bound of theorem 1.2 is `xcwork.studies.regret`.

Reference: Gupta et al., Generalized zero-shot extreme multi-label learning, KDD 2021, appendix.
"""

from __future__ import annotations

import numpy as np

from xcwork.data.load import load_dataset
from xcwork.methods.zestxml.xhtp import find_pairs
from xcwork.studies.regret import compute_regret_curve
from xcwork.studies.study_outcome import StudyOutcome

N_DOCUMENTS = 300
N_LABELS = 60
N_DOCUMENT_FEATURES = 12
N_LABEL_FEATURES = 10
N_PROBLEMS = 10
REGULARISATION = 1.0  # λ
SHARE_PRESENT = 0.3  # of the features, in documents and in labels
MADE_UP_DATA = "synthetic:n_labels=400,n_documents=1500"
MIN_AGREEMENT = 0.75  # of the rows, for the approximation to count as good


def check_closed_form(seed: int = 0) -> StudyOutcome:
    """Compare the closed form with the exact Newton step: does it pick the same best partner for a feature?"""
    rows = []
    for problem in range(N_PROBLEMS):
        exact, closed, counts = _solve_problem(np.random.default_rng((seed, problem)))
        rows.append(
            {
                "problem": problem,
                "rows": N_DOCUMENT_FEATURES,
                "closed form picks the best": int((closed.argmax(1) == exact.argmax(1)).sum()),
                "raw counts pick the best": int((counts.argmax(1) == exact.argmax(1)).sum()),
                "correlation": float(np.corrcoef(exact.ravel(), closed.ravel())[0, 1]),
            }
        )
    total = N_PROBLEMS * N_DOCUMENT_FEATURES
    right = sum(row["closed form picks the best"] for row in rows)
    by_counts = sum(row["raw counts pick the best"] for row in rows)
    correlation = np.mean([row["correlation"] for row in rows])
    return StudyOutcome(
        right >= MIN_AGREEMENT * total and right > by_counts,
        f"The closed form picks the exact step's best partner in {right} of {total} rows, raw counts in {by_counts}; "
        f"mean correlation of all entries {correlation:.2f}.",
        rows,
    )


def _solve_problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the exact Newton step, the closed form and the counts, (document features, label features) each."""
    X = (rng.random((N_DOCUMENTS, N_DOCUMENT_FEATURES)) < SHARE_PRESENT).astype(float)
    Z = (rng.random((N_LABELS, N_LABEL_FEATURES)) < SHARE_PRESENT).astype(float)
    partner = rng.integers(N_LABEL_FEATURES, size=N_DOCUMENT_FEATURES)
    strength = np.zeros((N_DOCUMENT_FEATURES, N_LABEL_FEATURES))
    strength[np.arange(N_DOCUMENT_FEATURES), partner] = 3.0
    chance = 1 / (1 + np.exp(5.0 - X @ strength @ Z.T))
    Y = (rng.random(chance.shape) < chance).astype(float)
    A = np.einsum("ic,ld->ilcd", X, Z).reshape(N_DOCUMENTS * N_LABELS, -1)
    b = 2 * Y.ravel() - 1
    size = A.shape[1]
    step = np.linalg.solve(np.eye(size) + REGULARISATION / 4 * A.T @ A, REGULARISATION / 2 * A.T @ b)
    counts = X.T @ Y @ Z
    closed = counts / np.outer(X.sum(0), Z.sum(0))
    return step.reshape(counts.shape), closed, counts


def check_regret_bound(seed: int = 0) -> StudyOutcome:
    """Measure the regret of leaving out small weights, and how many labels a kept weight leads to."""
    dataset = load_dataset(f"{MADE_UP_DATA},seed={seed}")
    curve = compute_regret_curve(dataset, seed=seed)
    assert dataset.labels.Z is not None  # the regret curve refuses data without label features
    found = find_pairs(dataset.train.X, dataset.train.Y, dataset.labels.Z, keep=40, blend=0.0)
    most = int(np.diff(dataset.train.Y.indptr).max())
    longest = [
        int(found.labels_with[found.voters.indices[found.voters.data >= epsilon]].max(initial=0))
        for epsilon in curve["epsilon"]
    ]
    rows = [
        {
            "ε": epsilon,
            "largest regret": regret,
            "mean bound": bound,
            "documents that break it": int(broken),
            "labels behind a kept weight": labels,
            "at most": most / epsilon,
        }
        for epsilon, regret, bound, broken, labels in zip(
            curve["epsilon"], curve["largest_regret"], curve["mean_bound"], curve["broken"], longest, strict=True
        )
    ]
    n_broken = sum(row["documents that break it"] for row in rows)
    n_longer = sum(row["labels behind a kept weight"] > row["at most"] for row in rows)
    return StudyOutcome(
        n_broken == 0 and n_longer == 0,
        f"{n_broken} documents break the bound of the regret at any ε; at ε = {rows[-1]['ε']} the largest regret is "
        f"{rows[-1]['largest regret']:.2f}, the mean bound {rows[-1]['mean bound']:.1f}. No kept weight leads to more "
        f"labels than labels per document over ε ({n_longer} exceptions).",
        rows,
    )
