"""What NearestDocuments keeps, and how documents vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.core.explanation import TRAINING_DOCUMENT, Explanation, Family, Part
from xcwork.core.topk import TopK
from xcwork.methods.model import FittedModel, check_csr, check_texts
from xcwork.progress import track_batches
from xcwork.search import TermSearch, top_k_rows
from xcwork.sparse import normalise_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestDocumentsModel(FittedModel):
    """The training documents and their labels."""

    postings: sparse.csr_array  # (n_features, n_documents)
    relevance: sparse.csr_array  # (n_documents, n_labels)
    uids: list[str] | None  # of the training documents

    def check(self) -> None:
        check_csr("postings", self.postings, (self.n_features, None))
        n_documents = self.postings.shape[1]
        check_csr("relevance", self.relevance, (n_documents, self.n_labels))
        if self.uids is not None:
            check_texts("uids", self.uids, n_documents)

    @cached_property
    def search(self) -> TermSearch:
        """The search for the nearest training documents."""
        return TermSearch(self.postings, None, self.params.device)

    @cached_property
    def label_search(self) -> TermSearch:
        """The search for the labels with the most votes, on an accelerator."""
        return TermSearch(self.relevance, None, self.params.device)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        blocks = track_batches(X, self.params.batch_size, "voting")
        if find_tensor_device(self.params.device) is not None:
            return TopK.concatenate([self.label_search.find(self.cast_votes(x), k, among=among) for x in blocks])
        relevance = self.relevance if among is None else self.relevance[:, among]
        best = TopK.concatenate([top_k_rows(self.cast_votes(x) @ relevance, k) for x in blocks])
        return best if among is None else best.renumber(among)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        votes = self.cast_votes(x)  # (1, n_documents)
        has_label = self.relevance[votes.indices][:, [label]].toarray().ravel() > 0  # (n_neighbours,)
        parts = []
        for document, share in zip(votes.indices[has_label].tolist(), votes.data[has_label].tolist(), strict=True):
            name = str(document) if self.uids is None else self.uids[document]
            term = f"{TRAINING_DOCUMENT} {name}"
            parts.append(Part(term, "has the label", share, {"document": document}, Family.neighbours))
        return Explanation.from_parts(parts)

    def label_embeddings(self) -> sparse.csr_array:
        """Return the mean direction of the documents of each label."""
        return normalise_rows(sparse.csr_array(self.relevance.T @ self.postings.T))

    def cast_votes(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return the similarities to the nearest training documents as shares of one, (n_rows, n_documents)."""
        nearest = self.search.find(X, self.params.neighbours)
        # Features may be negative in some datasets; a training document that points away is ignored.
        similar = nearest.where(nearest.scores > 0).to_csr(self.postings.shape[1])
        total = np.asarray(similar.sum(axis=1)).ravel()
        # A document without any known term has no neighbours: its row stays empty rather than NaN.
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return sparse.csr_array(sparse.diags_array(scale) @ similar)
