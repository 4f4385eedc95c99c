"""Shortlists: the few labels of each document that are worth an exact score.

The document is projected onto label features, p = Wᵀx, and labels are ranked by p · z. `exact` scores every candidate
label. `lazy` (algorithm 2 of the paper) walks the labels of each label feature by falling value and stops when it has
`overfetch` times as many as asked for; these are then scored exactly. Labels are visited only where p_d z_ld is
large, so its cost does not grow with the number of labels.

Where the text of labels says little, votes miss labels. In training labels whose documents resemble a document most
join its shortlist (`from_documents`), so that all of them meet the documents that could be mistaken for theirs. In
prediction their own weights, learned from these, bring labels up (`xcwork.kernels.bilinear.rank_with_own`).

With weights below ε left out, the best label found is at most ε ‖x‖₁ ‖z‖₁ worse than the best there is (theorem 1.2;
all entries are non-negative). XHTP's parameter `epsilon` does that.

The recall of the shortlist is the ceiling of everything that comes after it, so `measure_recall` belongs in every
report.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.kernels.bilinear import BilinearDocuments, BilinearWeights, shortlist_exactly, shortlist_lazily
from xcwork.methods.model import Params
from xcwork.methods.zestxml.borrow import TERMS_PER_LABEL, multiply_keeping_largest
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.sparse import Rows, fill_with_ones, normalise_rows, sort_entries, to_rows

MIN_LAZY_CANDIDATES = 10_000  # candidate labels from which `auto` is lazy: it takes about as long as visiting this many


@dataclass(frozen=True, eq=False)
class Shortlister:
    """Ranks some labels for documents by p · z."""

    weights: BilinearWeights
    labels: Rows  # (n_labels, n_label_features)
    n_label_features: int
    candidates: np.ndarray  # label ids, ascending
    postings: Rows | None  # the candidates of each label feature by falling value; None: exact
    kind: str = "auto"
    overfetch: int = 10

    @classmethod
    def from_weights(
        cls,
        pairs: sparse.csr_array,
        matches: sparse.csr_array,
        Z: sparse.csr_array,
        candidates: np.ndarray,
        kind: str = "auto",
        overfetch: int = 10,
    ) -> Shortlister:
        """Prepare the ranking of `candidates` (ascending ids) by the pairs and exact matches of their rows of Z."""
        weights = BilinearWeights(to_rows(pairs), to_rows(matches))
        labels = to_rows(Z)
        ids = candidates.astype(np.int32)
        return cls(weights, labels, Z.shape[1], ids, sort_postings(labels, Z.shape[1], ids, kind), kind, overfetch)

    @classmethod
    def from_votes(
        cls,
        voters: sparse.csr_array,
        label_features: LabelFeatures,
        candidates: np.ndarray,
        params: Params,
        match_weight: float | None = None,
    ) -> Shortlister:
        """Prepare the ranking of `candidates` by what XHTP counted and by the terms in common."""
        matches = label_features.matches * np.float32(params.match_weight if match_weight is None else match_weight)
        return cls.from_weights(voters, matches, label_features.Z, candidates, params.shortlister, params.overfetch)

    @classmethod
    def from_documents(cls, X: sparse.csr_array, Y: sparse.csr_array, candidates: np.ndarray) -> Shortlister:
        """Prepare the ranking of `candidates` by the cosine of a document with their mean document.

        This finds labels whose text says little. Only the largest terms of a mean count.
        """
        means = multiply_keeping_largest(sparse.csr_array(Y.T)[candidates], X, TERMS_PER_LABEL)
        weights = sparse.csr_array(normalise_rows(means).T)  # (n_features, n_candidates)
        n = len(candidates)
        places = (np.ones(n, np.float32), (candidates, np.arange(n)))
        identity = sparse.csr_array(places, shape=(Y.shape[1], n))
        nothing = sparse.csr_array(weights.shape, dtype=np.float32)
        return cls.from_weights(weights, nothing, identity, candidates, overfetch=1)

    def restrict_to(self, labels: np.ndarray) -> Shortlister:
        """Return the same shortlister with only those of its candidates that are in `labels`."""
        candidates = np.intersect1d(self.candidates, labels).astype(np.int32)
        postings = sort_postings(self.labels, self.n_label_features, candidates, self.kind)
        return replace(self, candidates=candidates, postings=postings)

    def find(self, documents: BilinearDocuments, size: int) -> TopK:
        """Return the `size` best candidates of each document, among those that share a weighted feature with it."""
        found = TopK.make_empty(len(documents.rows.indptr) - 1, min(size, len(self.candidates)))
        given = (documents, self.weights, self.labels, self.n_label_features)
        if found.k == 0:
            return found
        if self.postings is None:
            shortlist_exactly(*given, self.candidates, found.ids, found.scores)
        else:
            shortlist_lazily(*given, self.postings, self.overfetch * found.k, found.ids, found.scores)
        return found


def sort_postings(labels: Rows, n_label_features: int, candidates: np.ndarray, kind: str) -> Rows | None:
    """Return the candidates of each label feature, largest value first, then by id; None where all are visited."""
    if kind == "exact" or (kind == "auto" and len(candidates) <= MIN_LAZY_CANDIDATES):
        return None
    Z = sparse.csr_array(tuple(labels), shape=(len(labels.indptr) - 1, n_label_features))
    columns = sort_entries(sparse.csr_array(Z[candidates].T))  # (n_label_features, n_candidates)
    feature = np.repeat(np.arange(columns.shape[0]), np.diff(columns.indptr))
    order = np.lexsort((columns.indices, -columns.data, feature))
    return Rows(
        columns.data[order].astype(np.float32),
        candidates[columns.indices[order]].astype(np.int32),
        columns.indptr.astype(np.int64),
    )


def prepare_documents(X: sparse.csr_array) -> BilinearDocuments:
    """Return documents for the kernels; shared terms count by the root of their value, so repetition counts less."""
    return BilinearDocuments(to_rows(X), np.sqrt(np.maximum(X.data, 0)).astype(np.float32))


def join_shortlists(shortlists: list[TopK]) -> TopK:
    """Return the labels of all shortlists of each document, each label once; their order and scores mean nothing."""
    if len(shortlists) == 1:
        return shortlists[0]
    ids = np.sort(np.hstack([shortlist.ids for shortlist in shortlists]), axis=1)
    ids[:, 1:][ids[:, 1:] == ids[:, :-1]] = MISSING
    return TopK(ids, np.zeros(ids.shape, np.float32))


def count_found(shortlist: TopK, Y: sparse.csr_array, among: np.ndarray | None = None) -> int:
    """Count the relevant pairs that the shortlist contains; `among` (n_labels,) bool limits them to some labels."""
    listed = fill_with_ones(shortlist.to_csr(Y.shape[1]))
    found = sparse.csr_array(listed.multiply(Y)).indices
    return len(found) if among is None else int(np.count_nonzero(among[found]))


def measure_recall(shortlist: TopK, Y: sparse.csr_array, among: np.ndarray | None = None) -> float:
    """Return the share of the relevant pairs that the shortlist contains, in percent; NaN when there are none."""
    n_relevant = Y.nnz if among is None else int(np.count_nonzero(among[Y.indices]))
    return 100 * count_found(shortlist, Y, among) / n_relevant if n_relevant else float("nan")
