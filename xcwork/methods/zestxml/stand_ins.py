"""Labels that stand in for unseen ones, the documents that meet them, and what they borrow.

A stand-in has one training document (see `unseen`). The sample consists of documents that have a stand-in, and of
validation documents, which stand for all that have none. Each meets the unseen labels that resemble it most, none of
which it has, and its own stand-ins, which it has. Where hardly any label is unseen, other stand-ins take their place.

Stand-ins borrow as unseen labels do, from documents without those that have them. With many such documents the others
would be too few, so they are taken in turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.methods.common.training_pairs import collect_training_pairs
from xcwork.methods.model import Params
from xcwork.methods.zestxml.borrow import find_borrowed_terms, find_typical_terms
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.shortlist import Shortlister, prepare_documents
from xcwork.sparse import keep_entries

MAX_DOCUMENTS = 1000  # that have a stand-in; more would not make the calibration any better
MIN_UNSEEN_LABELS = 50  # fewer are no competition
MAX_SHARE_IN_TURN = 0.25  # of the documents that lend nothing at a time


@dataclass(frozen=True, eq=False)
class StandIns:
    """The sample by which unseen labels are calibrated."""

    X: sparse.csr_array  # (n_documents, n_features), all training documents
    Y: sparse.csr_array  # (n_documents, n_labels)
    forbidden: np.ndarray | None  # (n, 2): pairs that are never predicted
    label_features: LabelFeatures
    params: Params
    labels: np.ndarray  # ids of the stand-ins, ascending
    others: np.ndarray  # ids of the labels that documents of the sample do not have, ascending
    validates: np.ndarray  # (n_documents,) bool
    rows: np.ndarray  # of the documents of the sample: first those that have a stand-in
    stands_for: np.ndarray  # (n_rows,): for how many documents each of them stands

    @classmethod
    def from_training(
        cls,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        forbidden: np.ndarray | None,
        label_features: LabelFeatures,
        labels: np.ndarray,
        validates: np.ndarray,
        params: Params,
    ) -> StandIns:
        """Choose the documents of the sample."""
        unseen = np.flatnonzero(~label_features.is_seen)
        others = unseen if len(unseen) >= MIN_UNSEEN_LABELS else np.union1d(unseen, labels)
        has_one = count_labels(Y, labels) > 0
        having = np.flatnonzero(has_one)
        having = having[np.linspace(0, len(having) - 1, min(len(having), MAX_DOCUMENTS)).astype(np.int64)]
        without = np.flatnonzero(validates & ~has_one)
        stands_for = np.concatenate(
            [
                np.full(len(having), has_one.sum() / max(1, len(having))),
                np.full(len(without), (~has_one).sum() / max(1, len(without))),
            ]
        )
        rows = np.concatenate([having, without])
        return cls(X, Y, forbidden, label_features, params, labels, others, validates, rows, stands_for)

    def keep_validating(self) -> StandIns:
        """Return the sample with validation documents alone."""
        keep = self.validates[self.rows]
        return replace(self, rows=self.rows[keep], stands_for=self.stands_for[keep])

    def borrow_terms(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return typical documents and what unseen labels and stand-ins can borrow, (n_labels, n_label_features)."""
        Z = self.label_features.Z
        nothing = sparse.csr_array(Z.shape, dtype=np.float32)
        if not self.params.borrow:
            return nothing, nothing
        typical = self._find_typical(self.rows[:0])
        borrowed = find_borrowed_terms(Z, np.flatnonzero(~self.label_features.is_seen), typical)
        having = self.rows[count_labels(self.Y, self.labels)[self.rows] > 0]
        n_turns = -(-len(having) // max(1, int(MAX_SHARE_IN_TURN * self.X.shape[0])))
        left = self.labels
        for turn in range(n_turns):
            some = having[turn::n_turns]
            borrowers = np.intersect1d(self.Y[some].indices, left)
            left = np.setdiff1d(left, borrowers)
            borrowed = sparse.csr_array(borrowed + find_borrowed_terms(Z, borrowers, self._find_typical(some)))
        return typical, borrowed

    def collect_pairs(self, shortlister: Shortlister) -> sparse.csr_array:
        """Return +1 for stand-ins that a document of the sample has, -1 for labels that it has not, by sample row."""
        shortlist = shortlister.find(prepare_documents(self.X[self.rows]), self.params.unseen_shortlist)
        is_stand_in = np.zeros(self.Y.shape[1], bool)
        is_stand_in[self.labels] = True
        Y = self.Y[self.rows]
        Y = keep_entries(Y, is_stand_in[Y.indices])
        forbidden = self.forbidden
        if forbidden is not None:
            place = np.full(self.X.shape[0], -1)
            place[self.rows] = np.arange(len(self.rows))
            inside = place[forbidden[:, 0]] >= 0
            forbidden = np.column_stack([place[forbidden[inside, 0]], forbidden[inside, 1]])
        return collect_training_pairs(shortlist, Y, True, forbidden)

    def _find_typical(self, without: np.ndarray) -> sparse.csr_array:
        """Return the typical documents of all labels, from all documents but the rows `without`."""
        rows = np.setdiff1d(np.arange(self.X.shape[0]), without)
        return find_typical_terms(self.X[rows], self.Y[rows], self.label_features.matches)


def count_labels(Y: sparse.csr_array, labels: np.ndarray) -> np.ndarray:
    """Return how many of `labels` each document has, (n_documents,)."""
    return np.asarray(Y[:, labels].sum(axis=1)).ravel()
