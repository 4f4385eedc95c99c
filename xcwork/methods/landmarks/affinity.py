"""How labels depend on each other: every label as a sparse combination of other labels, plus what is left over.

With Y (documents × labels) and the columns Y_S of the candidate labels, the problem is

    min over Z, E of  ‖Z‖₁ + α ‖E‖₂,₁        subject to  Y = Y_S Z + E,

where ‖E‖₂,₁ adds up the lengths of the columns of E. When every label is a candidate (S = all), the diagonal of Z is
held at zero, otherwise Z = I, E = 0 would be a useless solution.

Nothing couples the columns. For one label with y = Y[:, l] the constraint can be put into the objective,

    min over z of  ‖z‖₁ + α ‖y - Y_S z‖₂,

which is the *square-root lasso*. Three facts make it cheap:

- It only needs counts: n_j documents of label j and n_jl documents that have both j and l.
- z = 0 is optimal exactly when α max_j n_jl ≤ √n_l. Such a label is a *pure outlier*: no candidate explains enough of
  it to be worth a coefficient. That is a comparison of counts, no solver is involved.
- A candidate with n_j ≤ 1/α² is never used, since |y_j · e| ≤ √n_j ‖e‖ ≤ ‖e‖/α. And a label with n_l ≤ 1/α² is a pure
  outlier whatever happens beside it, since n_jl ≤ n_l. With α = 1 all labels of a single document drop out unseen.

`xcwork.kernels.sqrt_lasso` solves the rest and certifies each column by its duality gap. The classical solver for the
same problem is in `xcwork.methods.landmarks.admm`; both give the same Z.

Cost: counting takes O(sum_i |y_i|²); a column takes a few passes over the co-occurrences of its active labels. Memory
is bounded by `max_pairs`: where documents have so many labels that the counts would exceed it, they are estimated from
a random subset of the documents, and the log says so.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import block_map
from xcwork.kernels import one_at_a_time
from xcwork.kernels.sqrt_lasso import CooccurrenceCounts, LassoTargets, SolutionColumns, solve_columns
from xcwork.sparse import drop_zeros, replace_values, sort_entries

log = logging.getLogger(__name__)

LABELS_PER_BLOCK = 512  # solved between two steps of progress
MAX_COUNTED_PAIRS = 60_000_000  # about 1.5 GB while they are counted
MAX_COEFFICIENTS_PER_LABEL = 1000
NO_CANDIDATE = -1  # where no candidate is the label itself


@dataclass(frozen=True, eq=False)
class Combination:
    """Labels as combinations of candidate labels."""

    Z: sparse.csc_array  # (n_candidates, n_labels)
    norms: np.ndarray  # (n_labels,): ‖E_l‖₂
    lengths: np.ndarray  # (n_labels,): ‖y_l‖₂
    gaps: np.ndarray  # (n_labels,): how far from optimal at most, relative to α ‖y_l‖₂; NaN where not certified

    @property
    def residuals(self) -> np.ndarray:
        """‖E_l‖ / ‖y_l‖, (n_labels,): 0 is reproduced perfectly, 1 is a pure outlier; 0 for a label of no document."""
        return np.divide(self.norms, self.lengths, out=np.zeros_like(self.norms), where=self.lengths > 0)

    def compute_objective(self, alpha: float) -> float:
        """Return ‖Z‖₁ + α ‖E‖₂,₁."""
        return float(np.abs(self.Z.data).sum() + alpha * self.norms.sum())


def count_cooccurrences(Y: sparse.csr_array, others: sparse.csr_array | None = None) -> sparse.csr_array:
    """Return how many documents have each pair of labels, (n_labels, n_labels) or (n_labels, n_others) of `others`."""
    left = sparse.csr_array(Y.T, dtype=np.float32)
    return sort_entries(sparse.csr_array(left @ sparse.csr_array(Y if others is None else others, dtype=np.float32)))


def find_pure_outliers(
    together: sparse.csr_array, documents: np.ndarray, alpha: float, own: np.ndarray | None = None
) -> np.ndarray:
    """Return which labels no candidate helps to reproduce, (n_labels,) bool, by counting alone.

    `together` (n_labels, n_candidates) counts shared documents; `own` names the candidate that is the label itself.
    """
    if own is not None:
        rows = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
        together = replace_values(together, np.where(together.indices == own[rows], 0, together.data))
    most = together.max(axis=1).toarray().ravel() if together.shape[1] else np.zeros(len(documents))
    return alpha * most <= np.sqrt(documents)


def relate_labels(
    Y: sparse.csr_array, alpha: float, *, tolerance: float = 1e-5, max_pairs: int = MAX_COUNTED_PAIRS, seed: int = 0
) -> Combination:
    """Return every label as a combination of all others (zero diagonal)."""
    Y = _sample_documents(Y, max_pairs, seed)
    documents = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64)  # (n_labels,)
    usable = np.flatnonzero(documents * alpha**2 > 1)
    counts = count_cooccurrences(Y[:, usable])
    problem = AffinityProblem.from_counts(counts, documents[usable], alpha, tolerance)
    solved = problem.solve(counts, documents[usable], np.arange(len(usable)), "relating labels")
    return _spread_solution(solved, usable, usable, documents)


def reconstruct_labels(
    Y: sparse.csr_array, landmarks: np.ndarray, alpha: float, *, tolerance: float = 1e-5
) -> Combination:
    """Return every label as a combination of the landmarks; a landmark is itself."""
    n_labels = Y.shape[1]
    documents = np.bincount(Y.indices, minlength=n_labels).astype(np.float64)
    chosen = Y[:, landmarks]
    others = np.setdiff1d(np.flatnonzero(documents), landmarks)
    problem = AffinityProblem.from_counts(count_cooccurrences(chosen), documents[landmarks], alpha, tolerance)
    together = count_cooccurrences(Y[:, others], chosen)
    solved = problem.solve(together, documents[others], np.full(len(others), NO_CANDIDATE), "decoding labels")
    placed = _spread_solution(solved, np.arange(len(landmarks)), others, documents, n_candidates=len(landmarks))
    return fix_landmarks(placed, landmarks)


def fix_landmarks(combination: Combination, landmarks: np.ndarray) -> Combination:
    """Return the combination in which every landmark is exactly itself."""
    n_labels = combination.Z.shape[1]
    identity = sparse.csc_array(
        (np.ones(len(landmarks)), (np.arange(len(landmarks)), landmarks)), shape=(len(landmarks), n_labels)
    )
    others = np.ones(n_labels)
    others[landmarks] = 0.0
    Z = drop_zeros(sparse.csc_array(combination.Z @ sparse.diags_array(others) + identity))
    return Combination(Z, combination.norms * others, combination.lengths, combination.gaps * others)


def _sample_documents(Y: sparse.csr_array, max_pairs: int, seed: int) -> sparse.csr_array:
    """Return `Y`, or as many random rows of it as have at most `max_pairs` pairs of labels."""
    pairs = np.diff(Y.indptr).astype(np.int64) ** 2
    if pairs.sum() <= max_pairs:
        return Y
    order = np.random.default_rng(seed).permutation(Y.shape[0])
    kept = np.sort(order[: max(1, np.searchsorted(np.cumsum(pairs[order]), max_pairs))])
    log.info(
        "the documents have %d pairs of labels, more than %d: affinities come from %d of %d documents",
        pairs.sum(),
        max_pairs,
        len(kept),
        Y.shape[0],
    )
    return Y[kept]


@dataclass(frozen=True, eq=False)
class AffinityProblem:
    """Candidates that labels are to be combined from."""

    gram: CooccurrenceCounts  # of documents that candidates share
    max_coefficients: int  # of a label
    alpha: float
    tolerance: float

    @classmethod
    def from_counts(
        cls, counts: sparse.csr_array, documents: np.ndarray, alpha: float, tolerance: float
    ) -> AffinityProblem:
        """Read the candidates' shared documents (n_candidates, n_candidates) and own ones (n_candidates,)."""
        gram = CooccurrenceCounts(counts.data, counts.indices, counts.indptr, documents)
        return cls(gram, min(MAX_COEFFICIENTS_PER_LABEL, len(documents)), alpha, tolerance)

    def solve(self, together: sparse.csr_array, documents: np.ndarray, own: np.ndarray, phase: str) -> Combination:
        """Return the labels that are the rows of `together`: pure outliers by counting, the others by blocks.

        `together` (n_labels, n_candidates) counts shared documents, `documents` (n_labels,) those of each label, and
        `own` (n_labels,) names the candidate that is the label itself.
        """
        n_candidates = together.shape[1]
        hopeless = find_pure_outliers(together, documents, self.alpha, own)
        if hopeless.any():
            log.info("%s: %d of %d labels are pure outliers", phase, int(hopeless.sum()), len(documents))
            left = np.flatnonzero(~hopeless)
            solved = self.solve(together[left], documents[left], own[left], phase)
            return _spread_solution(solved, np.arange(n_candidates), left, documents, n_candidates=n_candidates)
        targets = []
        for start in range(0, len(documents), LABELS_PER_BLOCK):
            block = slice(start, start + LABELS_PER_BLOCK)
            rows = together[block]
            targets.append(
                LassoTargets(rows.data, rows.indices, rows.indptr, documents[block], own[block].astype(np.int64))
            )
        parts = list(block_map(AffinityProblem.solve_block, self, targets, phase, n_jobs=1))
        if not parts:
            return Combination(sparse.csc_array((n_candidates, 0)), np.zeros(0), np.zeros(0), np.zeros(0))
        support, values, sizes, norms, gaps = (np.concatenate(part) for part in zip(*parts, strict=True))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        Z = sparse.csc_array((values, support, starts), (n_candidates, len(documents)))
        return Combination(sort_entries(Z), norms, np.sqrt(documents), gaps)

    def solve_block(self, targets: LassoTargets) -> tuple[np.ndarray, ...]:
        """Return candidates and coefficients of all targets, one after the other; sizes, residuals and gaps of each."""
        n_targets = len(targets.squares)
        width = self.max_coefficients
        columns = SolutionColumns(
            np.zeros((n_targets, width), np.int32),
            np.zeros((n_targets, width)),
            np.zeros(n_targets, np.int64),
            np.zeros(n_targets),
            np.zeros(n_targets),
        )
        with one_at_a_time:
            solve_columns(self.gram, targets, self.alpha, self.tolerance, columns)
        filled = np.arange(width) < columns.sizes[:, None]
        return columns.support[filled], columns.values[filled], columns.sizes, columns.norms, columns.gaps


def _spread_solution(
    solved: Combination, rows: np.ndarray, columns: np.ndarray, documents: np.ndarray, n_candidates: int | None = None
) -> Combination:
    """Return a solution for some labels as one for all: a label that was left out is an outlier."""
    n_labels = len(documents)
    entries = solved.Z.tocoo()
    Z = sparse.csc_array(
        (entries.data, (rows[entries.row], columns[entries.col])), shape=(n_candidates or n_labels, n_labels)
    )
    lengths = np.sqrt(documents)
    norms = lengths.copy()
    norms[columns] = solved.norms
    gaps = np.zeros(n_labels)
    gaps[columns] = solved.gaps
    return Combination(Z, norms, lengths, gaps)
