"""The declaration of BM25 and TfidfMatch."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.layout import array, matrix, number, stored
from xcwork.progress import batches
from xcwork.search import top_k_product
from xcwork.sparse import drop_zeros, normalise_rows, renumber_columns, replace_values

BATCH = 4096  # documents scored between two steps of progress


@dataclass(kw_only=True, eq=False)
class LabelMatch(Method):
    """What the two have in common: labels as a feature-major matrix, scores as a sparse product."""

    capabilities = Capabilities(zero_shot=True, exact_explanations=True, needs_label_text=True)
    layout = stored(terms_=matrix("features", "labels"))

    @abstractmethod
    def _values(self, rows: sparse.csr_array, features: Features) -> sparse.csr_array:
        """What the weights are made of, from stored feature rows."""

    @abstractmethod
    def _document_weights(self, values: sparse.csr_array) -> sparse.csr_array:
        """d(x, t), (n_documents, n_features)."""

    @abstractmethod
    def _label_weights(self, values: sparse.csr_array) -> sparse.csr_array:
        """r(l, t), (n_labels, n_features)."""

    def _learn(self, train: Split, label_values: sparse.csr_array) -> None:
        """Collect the statistics that the weights need."""

    def _fit(self, train: Split) -> None:
        values = self._label_values(train.labels.Z)
        self._learn(train, values)
        self.terms_ = sparse.csr_array(self._label_weights(values).T)  # (n_features, n_labels)

    def _add_labels(self, Z: sparse.csr_array) -> None:
        added = self._label_weights(self._label_values(Z)).T
        self.terms_ = sparse.csr_array(sparse.hstack([self.terms_, added]))

    def _label_values(self, Z: sparse.csr_array) -> sparse.csr_array:
        return self._in_document_features(self._values(Z, self.labels_.features or self.features_))

    def _query(self, X: sparse.csr_array) -> sparse.csr_array:
        return self._document_weights(self._values(X, self.features_))

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        blocks = batches(X, BATCH, "matching")
        return TopK.concatenate([top_k_product(self._query(x), self.terms_, k, among=among) for x in blocks])

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        x = self._query(x)
        weights = self.terms_[x.indices][:, [label]].toarray().ravel()  # (n_terms,)
        shared = np.flatnonzero(weights)
        names = [self.features_.name(term) for term in x.indices[shared].tolist()]
        values = (x.data[shared] * weights[shared]).tolist()
        return Explanation.of([Part(n, n, v) for n, v in zip(names, values, strict=True)])

    def label_embeddings(self) -> sparse.csr_array:
        """The term weights of each label."""
        return normalise_rows(sparse.csr_array(self.terms_.T))

    def _in_document_features(self, Z: sparse.csr_array) -> sparse.csr_array:
        """Z in the columns of the documents: the same vocabulary, or the terms of the same name."""
        ours, theirs = self.features_, self.labels_.features
        if theirs is None or theirs is ours or (theirs.names is not None and theirs.names == ours.names):
            if Z.shape[1] != ours.size:
                raise DataError(f"labels have {Z.shape[1]} features but documents have {ours.size}", remedy=_REMEDY)
            return Z
        if ours.names is None or theirs.names is None:
            raise DataError("label terms cannot be found among document terms: features have no names", remedy=_REMEDY)
        column = {name: i for i, name in enumerate(ours.names)}
        known = np.array([column.get(name, -1) for name in theirs.names], np.int64)
        kept = sparse.csr_array(Z[:, np.flatnonzero(known >= 0)])
        return renumber_columns(kept, known[known >= 0], ours.size)


_REMEDY = "load the dataset from raw text, which gives documents and labels one vocabulary"


@dataclass(kw_only=True, eq=False)
class TfidfMatch(LabelMatch):
    """Cosine of the tf-idf vectors of document and label text."""

    title = "Tf-idf label match"

    def _values(self, rows: sparse.csr_array, features: Features) -> sparse.csr_array:
        return normalise_rows(rows)

    def _document_weights(self, values: sparse.csr_array) -> sparse.csr_array:
        return values

    def _label_weights(self, values: sparse.csr_array) -> sparse.csr_array:
        return values


@dataclass(kw_only=True, eq=False)
class BM25(LabelMatch):
    """Okapi BM25 with the label text as the searched document and the document as the query."""

    k1: float = param(1.2, "how soon repeated terms of a label text stop counting", low=0, high=100)
    b: float = param(0.75, "how much long label texts are marked down", low=0, high=1)
    k3: float = param(2.0, "how soon repeated terms of the document stop counting", low=0, high=1000)

    title = "BM25 label match"
    paper = "Robertson et al., Okapi at TREC-3, 1994"
    layout = LabelMatch.layout | {"idf_": array("features"), "mean_length_": number}

    def _values(self, rows: sparse.csr_array, features: Features) -> sparse.csr_array:
        return counts(rows, features)

    def _learn(self, train: Split, label_values: sparse.csr_array) -> None:
        containing = np.bincount(train.X.indices, minlength=train.X.shape[1])  # (n_features,)
        self.idf_ = np.log1p((train.n_documents - containing + 0.5) / (containing + 0.5)).astype(np.float32)
        lengths = label_values.sum(axis=1)
        # An empty label text says nothing about how long label texts are.
        self.mean_length_ = float(lengths[lengths > 0].mean()) if (lengths > 0).any() else 1.0

    def _document_weights(self, values: sparse.csr_array) -> sparse.csr_array:
        weights = (self.k3 + 1) * values.data / (values.data + self.k3)
        return replace_values(values, weights.astype(np.float32))

    def _label_weights(self, values: sparse.csr_array) -> sparse.csr_array:
        lengths = np.repeat(values.sum(axis=1), np.diff(values.indptr)) / self.mean_length_
        saturation = values.data + self.k1 * (1 - self.b + self.b * lengths)
        weights = self.idf_[values.indices] * (self.k1 + 1) * values.data / saturation
        return replace_values(values, weights.astype(np.float32))


def counts(rows: sparse.csr_array, features: Features) -> sparse.csr_array:
    """How often each term occurs, recovered from unit rows of tf-idf (float64)."""
    rows = drop_zeros(rows.astype(np.float64))
    vectorizer = features.vectorizer
    relative = np.abs(rows.data if vectorizer is None else rows.data / vectorizer.idf[rows.indices])
    lengths = np.diff(rows.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled):
        once = np.minimum.reduceat(relative, rows.indptr[filled])
        relative = relative / np.repeat(once, lengths[filled])
    if vectorizer is not None and vectorizer.sublinear:
        relative = np.exp(relative - 1)
    return replace_values(rows, relative)
