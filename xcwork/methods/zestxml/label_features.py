"""What a label is made of: an identity of its own if it was seen in training, and the terms of its text.

    columns of Z:  [ identity of each seen label | terms that occur in label texts ]

The identity column of a label ("memorised") gives it private parameters; a label without training documents has
none, so nothing memorised can ever fire for it. Terms are shared between labels and are what zero-shot prediction lives
on. A label's row of terms is its own text plus, where the source knows broader labels, a part of theirs:
z = unit(own + parent_weight * mean of parents).

Terms are renumbered so that only those in use take up columns, and come last, so that labels added later can bring new
ones. `matches` says which document feature is the same term as a column: the exact matches, weighted by the term's
inverse document frequency.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.sparse import drop_zeros, enlarge, normalise_rows, renumber_columns

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LabelFeatures:
    """The matrix Z with identity columns, and how its columns relate to documents."""

    Z: sparse.csr_array  # (n_labels, n_identities + n_terms)
    identities: np.ndarray  # (n_identities,): the label behind each identity column, ascending
    terms: np.ndarray  # (n_terms,): the label feature behind each term column
    matches: sparse.csr_array  # (n_features, n_identities + n_terms): idf where both are the same term

    @classmethod
    def from_labels(
        cls,
        labels: LabelSpace,
        features: Features,
        frequencies: np.ndarray,
        idf: np.ndarray,
        *,
        identity_weight: float,
        parent_weight: float,
    ) -> LabelFeatures:
        """Build Z from the texts of `labels`, of which those with a training document have an identity."""
        own = normalise_rows(labels.Z)
        if parent_weight > 0 and labels.parents is not None:
            own = normalise_rows(own + parent_weight * (weigh_parents(labels) @ own))
        own = drop_zeros(own)
        identities = np.flatnonzero(frequencies > 0)
        terms = np.unique(own.indices)
        identity = sparse.csr_array(
            (np.full(len(identities), identity_weight, np.float32), (identities, np.arange(len(identities)))),
            shape=(len(labels), len(identities)),
        )
        Z = sparse.csr_array(sparse.hstack([identity, own[:, terms]]))
        built = cls(Z, identities, terms, sparse.csr_array((features.size, Z.shape[1]), dtype=np.float32))
        built.report_mute(slice(None))
        return built._add_matches(labels.features, features, idf)

    def extend(self, Z: sparse.csr_array, theirs: Features | None, ours: Features, idf: np.ndarray) -> LabelFeatures:
        """Return the features with new rows from `Z` (n_new, n_label_features), labels that were never seen."""
        own = drop_zeros(normalise_rows(Z))
        terms = np.concatenate([self.terms, np.setdiff1d(own.indices, self.terms)])
        place = np.zeros(Z.shape[1], np.int64)
        place[terms] = len(self.identities) + np.arange(len(terms))
        width = len(self.identities) + len(terms)
        old = enlarge(self.Z, (self.Z.shape[0], width))
        new = renumber_columns(own, place, width)
        grown = replace(self, Z=sparse.csr_array(sparse.vstack([old, new])), terms=terms)
        grown.report_mute(slice(self.Z.shape[0], None))
        return grown._add_matches(theirs, ours, idf)

    @property
    def is_seen(self) -> np.ndarray:
        """Which labels have an identity, that is at least one training document, (n_labels,) bool."""
        is_seen = np.zeros(self.Z.shape[0], bool)
        is_seen[self.identities] = True
        return is_seen

    @property
    def is_mute(self) -> np.ndarray:
        """Which labels have no known term, (n_labels,) bool: nothing can be learned for them from other labels."""
        return np.diff(self.Z[:, len(self.identities) :].indptr) == 0

    def report_mute(self, which: slice) -> None:
        """Warn about labels without a known term among `which`."""
        is_mute = self.is_mute[which]
        is_seen = self.is_seen[which]
        n_seen = np.count_nonzero(is_mute & is_seen)
        n_unseen = np.count_nonzero(is_mute & ~is_seen)
        if n_seen:
            log.warning("%d labels have no known term and are known by their training documents alone", n_seen)
        if n_unseen:
            log.warning("%d labels have no known term and no training document and are never predicted", n_unseen)

    def _add_matches(self, theirs: Features | None, ours: Features, idf: np.ndarray) -> LabelFeatures:
        """Return the same features with the document features that are the same terms."""
        features = find_same_terms(theirs, ours, self.terms)  # (n_terms,)
        column = np.flatnonzero(features >= 0)
        entries = (idf[features[column]], (features[column], len(self.identities) + column))
        return replace(self, matches=sparse.csr_array(entries, shape=(ours.size, self.Z.shape[1]), dtype=np.float32))


def compute_idf(X: sparse.csr_array) -> np.ndarray:
    """Return ln((1 + n) / (1 + df)) + 1 of every feature, (n_features,) float32."""
    n_with = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
    return (np.log((1 + X.shape[0]) / (1 + n_with)) + 1).astype(np.float32)


def weigh_parents(labels: LabelSpace) -> sparse.csr_array:
    """Return unit rows over the parents of each label that are labels themselves, (n_labels, n_labels)."""
    id_of = {key: label for label, key in enumerate(labels.uids or labels.names)}
    pairs = [(label, id_of[p]) for label, parents in enumerate(labels.parents or []) for p in parents if p in id_of]
    child, parent = np.array(pairs, np.int64).reshape(-1, 2).T
    shape = (len(labels), len(labels))
    return normalise_rows(sparse.csr_array((np.ones(len(pairs), np.float32), (child, parent)), shape=shape))


def find_same_terms(theirs: Features | None, ours: Features, terms: np.ndarray) -> np.ndarray:
    """Return for each label feature in `terms` the document feature that is the same term, or -1."""
    if theirs is None or theirs is ours:
        return terms
    if ours.names is None or theirs.names is None:
        log.warning("label features and document features have no common names, so no term of theirs can match")
        return np.full(len(terms), -1)
    feature_of = {name: feature for feature, name in enumerate(ours.names)}
    return np.array([feature_of.get(theirs.names[term], -1) for term in terms.tolist()], np.int64)
