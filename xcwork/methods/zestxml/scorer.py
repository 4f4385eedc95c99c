"""The score of a (document, label) pair, from the arrays that the kernels take.

    s(x, l) = bias_l + a Σ x_c W_cd z_ld + m Σ √x_c idf_c z_lc + Σ x_c V_lc

The first sum runs over learned pairs that labels share, the second over terms that document and label have in common,
the third over the label's own weights. (a, m) is one pair of numbers for labels seen in training and another one for
labels that were not; those have no own weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import map_row_blocks
from xcwork.core.topk import MISSING, TopK
from xcwork.kernels.bilinear import (
    BilinearDocuments,
    BilinearWeights,
    PairVotes,
    TermClassifiers,
    rank_candidates,
    rank_with_own,
    score_candidates,
)
from xcwork.methods.zestxml.shortlist import prepare_documents
from xcwork.sparse import Rows, to_rows

# Rows of the factors (a, m).
SEEN_ROW = 0
UNSEEN_ROW = 1
NO_ROWS = Rows(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64))
ALL_VOTES = PairVotes(np.empty(0, np.float32), NO_ROWS, False)


@dataclass(frozen=True, eq=False)
class DocumentVotes:
    """The votes of training documents, to be left out when these documents themselves are scored."""

    counts: np.ndarray  # (nnz of the learned pairs,)
    by_document: sparse.csr_array  # (n_documents, n_label_features)
    real_values: bool

    def select(self, start: int, stop: int) -> PairVotes:
        """Return the votes of the documents from `start` to before `stop`, for the kernels."""
        return PairVotes(self.counts, to_rows(self.by_document[start:stop]), self.real_values)

    def take(self, rows: np.ndarray) -> DocumentVotes:
        """Return the votes of some documents."""
        return DocumentVotes(self.counts, self.by_document[rows], self.real_values)


@dataclass(frozen=True, eq=False)
class PairScorer:
    """Scores given labels of given documents."""

    weights: BilinearWeights
    labels: Rows  # (n_labels, n_label_features)
    n_label_features: int
    terms: TermClassifiers

    @classmethod
    def from_weights(
        cls,
        shared: sparse.csr_array,
        matches: sparse.csr_array,
        Z: sparse.csr_array,
        *,
        own: sparse.csr_array,
        bias: np.ndarray,
        is_seen: np.ndarray,
        factors: np.ndarray,
    ) -> PairScorer:
        """Prepare the weights for the kernels; `factors` (2, 2) are (a, m) of seen and of unseen labels."""
        kind = np.where(is_seen, SEEN_ROW, UNSEEN_ROW).astype(np.uint8)
        terms = TermClassifiers(to_rows(own), bias.astype(np.float32), kind, factors.astype(np.float32))
        return cls(BilinearWeights(to_rows(shared), to_rows(matches)), to_rows(Z), Z.shape[1], terms)

    def replace_pairs(self, pairs: sparse.csr_array) -> PairScorer:
        """Return a scorer of the same labels by `pairs` (n_features, n_label_features) alone."""
        nothing = np.zeros_like(self.terms.bias)
        no_weights = to_rows(sparse.csr_array((pairs.shape[0], len(nothing)), dtype=np.float32))
        factors = np.array([(1.0, 0.0)] * 2, np.float32)
        terms = TermClassifiers(no_weights, nothing, self.terms.kind, factors)
        return replace(self, weights=self.weights._replace(pairs=to_rows(pairs)), terms=terms)

    def score_listed(
        self, documents: BilinearDocuments, indptr: np.ndarray, labels: np.ndarray, votes: PairVotes = ALL_VOTES
    ) -> np.ndarray:
        """Return the scores of the listed labels of each document, parallel to `labels`."""
        scores = np.zeros(len(labels), np.float32)
        score_candidates(
            documents,
            self.weights,
            self.labels,
            self.n_label_features,
            self.terms,
            votes,
            indptr.astype(np.int64),
            labels.astype(np.int32),
            scores,
        )
        return scores

    def score_pairs(
        self, X: sparse.csr_array, pairs: sparse.csr_array, phase: str, voted: DocumentVotes | None = None
    ) -> np.ndarray:
        """Return the scores of all entries of `pairs` (n_documents, n_labels), parallel to its data.

        With `voted`, learned pairs count by the votes of other documents alone: what the score would be for a document
        that was not there when XHTP counted.
        """

        def score_block(start: int, stop: int) -> np.ndarray:
            some = pairs[start:stop]
            votes = ALL_VOTES if voted is None else voted.select(start, stop)
            return self.score_listed(prepare_documents(X[start:stop]), some.indptr, some.indices, votes)

        return np.concatenate(map_row_blocks(score_block, X.shape[0], phase))

    def rank(
        self, documents: BilinearDocuments, shortlists: list[TopK], k: int, listed: np.ndarray, n_own: int
    ) -> TopK:
        """Return the k best of the shortlisted labels and of the `n_own` of `listed` with the highest own score."""
        indptr, labels = list_candidates(shortlists)
        n_own = min(n_own, len(listed))
        found = TopK.make_empty(len(indptr) - 1, min(k, sum(shortlist.k for shortlist in shortlists) + n_own))
        if found.k:
            rank_with_own(
                documents,
                self.weights,
                self.labels,
                self.n_label_features,
                self.terms,
                listed.astype(np.int32),
                n_own,
                indptr,
                labels,
                found.ids,
                found.scores,
            )
        return found


@dataclass(frozen=True, eq=False)
class BlendScorer:
    """The final score of the reference program: α g(margin) + (1 - α) match, with g between 0 and 1.

    The margin is that of a `PairScorer`, the match the product of both rows over the terms that they have in common.
    """

    margins: PairScorer
    matches: PairScorer
    alpha: float
    logistic: bool

    def rank(self, documents: BilinearDocuments, shortlists: list[TopK], k: int) -> TopK:
        """Return the k best of the shortlisted labels; no label may be on two shortlists of a document."""
        indptr, labels = list_candidates(shortlists)
        found = TopK.make_empty(len(indptr) - 1, min(k, sum(shortlist.k for shortlist in shortlists)))
        if found.k:
            margins, matches = (part.score_listed(documents, indptr, labels) for part in (self.margins, self.matches))
            scores = self.alpha * squash_margins(margins, self.logistic) + (1 - self.alpha) * matches
            rank_candidates(indptr, labels, scores.astype(np.float32), found.ids, found.scores)
        return found


def squash_margins(margins: np.ndarray, logistic: bool) -> np.ndarray:
    """Return the probability of the loss: 1 / (1 + exp(-m)), or exp(-max(0, 1 - m)²) for the squared hinge."""
    return 1 / (1 + np.exp(-margins)) if logistic else np.exp(-np.square(np.maximum(0, 1 - margins)))


def list_candidates(shortlists: list[TopK]) -> tuple[np.ndarray, np.ndarray]:
    """Return the shortlisted labels of all documents, one after the other, and where each document begins."""
    listed = np.hstack([shortlist.ids for shortlist in shortlists])  # (n_documents, n)
    present = listed != MISSING
    return np.concatenate([[0], np.cumsum(present.sum(axis=1))]), listed[present]
