"""Shortlists: the few labels of each document that are worth an exact score.

The document is projected onto label features, p = Wᵀx, and labels are ranked by p · z. `exact` scores every candidate
label. `lazy` (algorithm 2 of the paper) walks the labels of each label feature by falling value and stops when it has
`overfetch` times as many as asked for; these are then scored exactly. Labels are visited only where p_d z_ld is
large, so its cost does not grow with the number of labels.

With weights below ε left out, the best label found is at most ε ‖x‖₁ ‖z‖₁ worse than the best there is (theorem 1.2;
all entries are non-negative). `truncated` does that.

The recall of the shortlist is the ceiling of everything that comes after it, so `recall` belongs into every report.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.kernels.bilinear import Documents, Weights, exact_shortlist, lazy_shortlist
from xcwork.kernels.linear import Rows
from xcwork.methods.zestxml.arrays import only, rows_of
from xcwork.results import TopK

LAZY_FROM = 50_000  # candidate labels from which `auto` is lazy


@dataclass(frozen=True, eq=False)
class Shortlister:
    """Ranks some labels for documents by p · z."""

    weights: Weights
    labels: Rows  # (n_labels, n_label_features)
    n_label_features: int
    candidates: np.ndarray  # label ids, ascending
    postings: Rows | None  # the candidates of each label feature by falling value; None: exact
    overfetch: int = 10

    @classmethod
    def of(
        cls, pairs: sparse.csr_array, matches: sparse.csr_array, Z: sparse.csr_array, candidates: np.ndarray,
        kind: str = "auto", overfetch: int = 10,
    ) -> Shortlister:  # fmt: skip
        lazy = kind == "lazy" or (kind == "auto" and len(candidates) > LAZY_FROM)
        return cls(
            Weights(rows_of(pairs), rows_of(matches)), rows_of(Z), Z.shape[1], candidates.astype(np.int32),
            _postings(Z, candidates) if lazy else None, overfetch,
        )  # fmt: skip

    def best(self, documents: Documents, size: int) -> TopK:
        """The `size` best candidates of each document, among those that share a weighted feature with it."""
        found = TopK.empty(len(documents.rows.indptr) - 1, min(size, len(self.candidates)))
        given = (documents, self.weights, self.labels, self.n_label_features)
        if found.k == 0:
            return found
        if self.postings is None:
            exact_shortlist(*given, self.candidates, found.ids, found.scores)
        else:
            lazy_shortlist(*given, self.postings, self.overfetch * found.k, found.ids, found.scores)
        return found


def _postings(Z: sparse.csr_array, candidates: np.ndarray) -> Rows:
    """The candidate labels of each label feature, largest value first, then by id."""
    columns = sparse.csr_array(Z[candidates].T)  # (n_label_features, n_candidates)
    columns.sort_indices()
    feature = np.repeat(np.arange(columns.shape[0]), np.diff(columns.indptr))
    order = np.lexsort((columns.indices, -columns.data, feature))
    return Rows(
        columns.data[order].astype(np.float32), candidates[columns.indices[order]].astype(np.int32),
        columns.indptr.astype(np.int64),
    )  # fmt: skip


def truncated(weights: sparse.csr_array, epsilon: float) -> sparse.csr_array:
    """Only the weights of at least `epsilon`."""
    return weights if epsilon <= 0 else only(weights, weights.data >= epsilon)


def damped(X: sparse.csr_array) -> Documents:
    """Documents for the kernels; shared terms count by the root of their value, so that repetition counts less."""
    return Documents(rows_of(X), np.sqrt(np.maximum(X.data, 0)).astype(np.float32))


def recall(shortlist: TopK, Y: sparse.csr_array, among: np.ndarray | None = None) -> float:
    """The share of all relevant (document, label) pairs that the shortlist contains, in percent.

    `among` (n_labels,) bool counts only some labels; NaN when none of them is relevant anywhere.
    """
    shortlisted = shortlist.to_csr(Y.shape[1])
    shortlisted.data = np.ones_like(shortlisted.data)
    hits, relevant = sparse.csr_array(shortlisted.multiply(Y)).indices, Y.indices
    if among is not None:
        hits, relevant = hits[among[hits]], relevant[among[relevant]]
    return 100 * len(hits) / len(relevant) if len(relevant) else float("nan")
