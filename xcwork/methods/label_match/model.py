"""What label matching keeps, and how it ranks: a sparse product of term weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Explanation, Part
from xcwork.core.topk import TopK
from xcwork.methods.common.label_rows import read_label_rows
from xcwork.methods.label_match.term_weights import (
    count_terms,
    read_label_counts,
    weigh_document_counts,
    weigh_label_counts,
)
from xcwork.methods.model import FittedModel, check_array, check_csr, check_number
from xcwork.progress import track_batches
from xcwork.search import TermSearch
from xcwork.sparse import normalise_rows

DOCUMENTS_PER_BATCH = 4096  # scored between two steps of progress


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelMatchModel(FittedModel):
    """The term weights r(l, t) of all labels."""

    terms: sparse.csr_array  # (n_features, n_labels)

    @abstractmethod
    def weigh_documents(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return the term weights d(x, t), (n_documents, n_features)."""

    @abstractmethod
    def weigh_labels(self, Z: sparse.csr_array) -> sparse.csr_array:
        """Return the term weights r(l, t), (n_labels, n_features)."""

    def check(self) -> None:
        check_csr("terms", self.terms, (self.n_features, self.n_labels))

    def extend(self, Z: sparse.csr_array) -> dict[str, Any]:
        return {"terms": sparse.csr_array(sparse.hstack([self.terms, self.weigh_labels(Z).T]))}

    @cached_property
    def search(self) -> TermSearch:
        """The search for the labels that share terms with a document."""
        return TermSearch(self.terms, None, self.params.device)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        blocks = track_batches(X, DOCUMENTS_PER_BATCH, "matching")
        return TopK.concatenate([self.search.find(self.weigh_documents(x), k, among=among) for x in blocks])

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        x = self.weigh_documents(x)
        weights = self.terms[x.indices][:, [label]].toarray().ravel()  # (n_terms,)
        shared = np.flatnonzero(weights)
        names = [self.features.get_name(term) for term in x.indices[shared].tolist()]
        values = (x.data[shared] * weights[shared]).tolist()
        return Explanation.from_parts([Part(name, name, value) for name, value in zip(names, values, strict=True)])

    def label_embeddings(self) -> sparse.csr_array:
        """Return the term weights of each label."""
        return normalise_rows(sparse.csr_array(self.terms.T))


@dataclass(frozen=True, kw_only=True, eq=False)
class TfidfModel(LabelMatchModel):
    """Weights are the entries of unit rows."""

    def weigh_documents(self, X: sparse.csr_array) -> sparse.csr_array:
        return normalise_rows(X)

    def weigh_labels(self, Z: sparse.csr_array) -> sparse.csr_array:
        return read_label_rows(Z, self.labels, self.features)


@dataclass(frozen=True, kw_only=True, eq=False)
class BM25Model(LabelMatchModel):
    """BM25: the label text is the document that is searched for, and the document is a long query.

    With n(l, t) and n(x, t) the counts of a term t, |l| the number of terms of l, N and N_t the number of training
    documents and of those that contain t, the score and its weights are

        s(x, l) = sum over t of d(x, t) * r(l, t)
        r(l, t) = idf(t) * (k1 + 1) n(l, t) / (n(l, t) + k1 (1 - b + b |l| / mean |l|))
        d(x, t) = (k3 + 1) n(x, t) / (n(x, t) + k3)
        idf(t)  = ln(1 + (N - N_t + ½) / (N_t + ½))

    The terms of the sum are the explanation. Searching the documents for the label text instead, or idf over the label
    texts, did worse on the training split of pyseealso (P@1 54.0 and 52.2 against 56.2).

    A split stores unit rows, so counts are recovered from them: divided by idf, the values of a row are proportional to
    its counts, and the smallest is taken to be a single occurrence. Features without a vectoriser count as if idf were
    one.

    Cost: nothing to train beyond counting; O(terms of x * labels that contain such a term) per document.

    Reference: Robertson et al., Okapi at TREC-3, 1994.
    """

    idf: np.ndarray  # (n_features,)
    mean_length: float  # of the label texts, in terms

    def check(self) -> None:
        super().check()
        check_array("idf", self.idf, (self.n_features,))
        check_number("mean_length", self.mean_length)

    def weigh_documents(self, X: sparse.csr_array) -> sparse.csr_array:
        return weigh_document_counts(count_terms(X, self.features), k3=self.params.k3)

    def weigh_labels(self, Z: sparse.csr_array) -> sparse.csr_array:
        counts = read_label_counts(Z, self.labels, self.features)
        return weigh_label_counts(counts, self.idf, self.mean_length, k1=self.params.k1, b=self.params.b)
