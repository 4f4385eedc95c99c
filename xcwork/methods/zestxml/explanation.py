"""Why a label has its score: the terms of the sum that the score is.

Each part pairs a feature of the document with a feature of the label and has the value x * weight * z. Four kinds:

- a learned pair, with what XHTP counted: of N (document, label) pairs with both features, n were relevant;
- a direct match, document and label having the term in common, where x enters by its root;
- a borrowed term: the same for a term that an unseen label has from the documents of similar labels;
- a memorised pair, of a document feature and the identity of a label seen in training. It says nothing about other
  labels, and an unseen label has none.

With the bias they add up to the score exactly, up to the rounding of 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Family, Part
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.errors import DataError
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.xhtp import PairCounts

LEARNED_PAIR = "learned pair"
DIRECT_MATCH = "direct match"
BORROWED_TERM = "borrowed term"
MEMORISED = "memorised"
BIAS = "bias"
FAMILIES = {
    LEARNED_PAIR: Family.learned_pairs,
    DIRECT_MATCH: Family.common_words,
    BORROWED_TERM: Family.neighbours,  # terms that an unseen label has from the documents of similar labels
    MEMORISED: Family.memorised,
}


class PairWeights(NamedTuple):
    """Weights of (document feature, label feature) pairs and what the parts that they give are called."""

    weights: sparse.csr_array  # (n_features, n_label_features)
    factor: float
    kind: str | None = None  # None: what XHTP counted, memorised for identities and learned for terms


class FeaturePair(NamedTuple):
    """A document feature and a label feature with their weight."""

    feature: int
    label_feature: int
    weight: float
    kind: str | None


@dataclass(frozen=True, eq=False)
class PairReader:
    """Puts pairs of features into words."""

    features: Features
    labels: LabelSpace
    label_features: LabelFeatures
    counts: PairCounts | None  # None in the plain form, which counts no pairs

    def explain_pairs(self, x: sparse.csr_array, z: sparse.csr_array, pairs: PairWeights) -> Iterator[Part]:
        """Yield a part for each weight at a feature of the document x and a feature of the label z, one row each."""
        for row, column, weight in list_entries(pairs.weights[x.indices][:, z.indices]):  # (nnz of x, nnz of z)
            document_value = float(x.data[row])
            label_value = float(z.data[column])
            value = document_value * weight * pairs.factor * label_value
            if value == 0:
                continue
            pair = FeaturePair(int(x.indices[row]), int(z.indices[column]), weight * pairs.factor, pairs.kind)
            values = {"document_value": document_value, "weight": pair.weight, "label_value": label_value}
            details = {"kind": self.name_kind(pair), **values, **self.describe_counts(pair)}
            terms = self.features.get_name(pair.feature), self.name_label_feature(pair.label_feature)
            yield Part(*terms, value, details, FAMILIES[details["kind"]])

    def explain_own(self, x: sparse.csr_array, own: sparse.csr_array, label: int) -> Iterator[Part]:
        """Yield a part for each own weight of `label` at a feature of the document; `own` is (n_features, n_labels)."""
        weights = own[x.indices][:, [label]].toarray().ravel()  # (nnz of x,)
        for feature, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True):
            if weight:
                details = {"kind": MEMORISED, "document_value": value, "weight": weight, "label_value": 1.0}
                term = self.features.get_name(feature)
                yield Part(term, self.labels.names[label], value * weight, details, Family.memorised)

    def find_document_pairs(
        self, document_term: str, joint: list[PairWeights], own: sparse.csr_array | None
    ) -> list[FeaturePair]:
        """Return the pairs of a document term: learned, matching, and what is memorised of labels."""
        feature = find_term(self.features.names, document_term)
        pairs = [
            FeaturePair(feature, column, weight, kind)
            for weights, factor, kind in joint
            for _, column, weight in list_entries(weights[[feature]] * np.float32(factor))
        ]
        if own is not None:
            identities = self.label_features.identities
            pairs += [
                FeaturePair(feature, int(np.searchsorted(identities, label)), weight, MEMORISED)
                for _, label, weight in list_entries(own[[feature]])
            ]
        return pairs

    def find_label_pairs(self, label_term: str, joint: list[PairWeights]) -> list[FeaturePair]:
        """Return the pairs of a label term: learned and matching."""
        term = find_term((self.labels.features or self.features).names, label_term)
        columns = np.flatnonzero(self.label_features.terms == term) + len(self.label_features.identities)
        return [
            FeaturePair(feature, int(columns[column]), weight, kind)
            for weights, factor, kind in joint
            for feature, column, weight in list_entries(weights[:, columns] * np.float32(factor))
        ]

    def describe_pair(self, pair: FeaturePair) -> dict[str, Any]:
        """Return both terms, weight and kind, and what XHTP counted."""
        return {
            "document_term": self.features.get_name(pair.feature),
            "label_term": self.name_label_feature(pair.label_feature),
            "weight": pair.weight,
            "kind": self.name_kind(pair),
            **self.describe_counts(pair),
        }

    def describe_counts(self, pair: FeaturePair) -> dict[str, Any]:
        """Return how many (document, label) pairs have both features and how many of these are relevant, if known."""
        if pair.kind is not None or self.counts is None:
            return {}
        counted = self.counts.look_up(pair.feature, pair.label_feature)
        if counted is None:
            return {}
        n_pairs, n_relevant = counted
        return {"pairs": n_pairs, "relevant": n_relevant, "share_relevant": n_relevant / n_pairs}

    def name_kind(self, pair: FeaturePair) -> str:
        """Return the kind of a pair; what XHTP counted is memorised for identities and learned for terms."""
        counted = MEMORISED if pair.label_feature < len(self.label_features.identities) else LEARNED_PAIR
        return pair.kind or counted

    def name_label_feature(self, label_feature: int) -> str:
        """Return what people call a column of Z: a term, or the label whose identity it is."""
        identities = self.label_features.identities
        if label_feature < len(identities):
            return self.labels.names[identities[label_feature]]
        term = self.label_features.terms[label_feature - len(identities)]
        return (self.labels.features or self.features).get_name(int(term))


def add_shares(parts: list[Part]) -> list[Part]:
    """Return the parts with their shares of the sum of all absolute values."""
    total = sum(abs(part.value) for part in parts)
    shares = [abs(part.value) / total if total else 0.0 for part in parts]
    return [replace(part, details={**part.details, "share": share}) for part, share in zip(parts, shares, strict=True)]


def list_entries(matrix: sparse.csr_array) -> list[tuple[int, int, float]]:
    """Return row, column and value of every entry."""
    entries = sparse.coo_array(matrix)
    return list(zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True))


def find_term(names: list[str] | None, term: str) -> int:
    """Return the feature that is called `term`."""
    if names is None:
        raise DataError("the features of this dataset have no names")
    try:
        return names.index(term)
    except ValueError:
        raise DataError(
            f"there is no term {term!r}", remedy="terms are written as in the vocabulary, stems included"
        ) from None
