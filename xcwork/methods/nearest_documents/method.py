"""The declaration of NearestDocuments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.layout import listing, matrix, optional, stored, text
from xcwork.progress import batches
from xcwork.search import top_k_product, top_k_rows
from xcwork.sparse import normalise_rows


@dataclass(kw_only=True, eq=False)
class NearestDocuments(Method):
    """Vote of the nearest training documents."""

    neighbours: int = param(20, "training documents that vote", low=1, high=10_000)
    batch: int = param(512, "documents scored at once; memory grows with it", low=1, advanced=True, at_prediction=True)

    title = "Nearest documents"
    capabilities = Capabilities(exact_explanations=True)
    layout = stored(
        postings_=matrix("features", "documents"),
        relevance_=matrix("documents", "labels"),
        uids_=optional(listing(text, "documents")),
    )

    def _fit(self, train: Split) -> None:
        # Feature-major, because a query walks the posting list of each of its terms.
        self.postings_ = sparse.csr_array(normalise_rows(train.X).T)  # (n_features, n_documents)
        self.relevance_ = train.Y  # (n_documents, n_labels)
        self.uids_ = train.uids

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        relevance = self.relevance_ if among is None else self.relevance_[:, among]
        blocks = batches(X, self.batch, "voting")
        best = TopK.concatenate([top_k_rows(self._votes(x) @ relevance, k) for x in blocks])
        return best if among is None else best.renumber(among)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        votes = self._votes(x)  # (1, n_documents)
        carries = self.relevance_[votes.indices][:, [label]].toarray().ravel() > 0  # (n_neighbours,)
        voters = zip(votes.indices[carries].tolist(), votes.data[carries].tolist(), strict=True)
        return Explanation.of([self._voter(document, share) for document, share in voters])

    def _voter(self, document: int, share: float) -> Part:
        name = str(document) if self.uids_ is None else self.uids_[document]
        return Part(f"training document {name}", "carries the label", share, {"document": document})

    def label_embeddings(self) -> sparse.csr_array:
        """The mean direction of the documents that carry a label."""
        return normalise_rows(sparse.csr_array(self.relevance_.T @ self.postings_.T))

    def _votes(self, X: sparse.csr_array) -> sparse.csr_array:
        """The similarities to the nearest training documents as shares of one, (n_rows, n_documents)."""
        nearest = top_k_product(X, self.postings_, self.neighbours)
        # Features may be negative in some datasets; a training document that points away has no say.
        similar = nearest.where(nearest.scores > 0).to_csr(self.postings_.shape[1])
        total = np.asarray(similar.sum(axis=1)).ravel()
        # A document without any known term has no neighbours: its row stays empty rather than NaN.
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return sparse.csr_array(sparse.diags_array(scale) @ similar)
