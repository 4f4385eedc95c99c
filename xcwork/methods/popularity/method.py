"""The declaration of Popularity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK
from xcwork.methods.layout import Misfit, stored, whole
from xcwork.search import top_k_rows


@dataclass(kw_only=True, eq=False)
class Popularity(Method):
    """The same ranking for every document: the most frequent labels first."""

    title = "Popularity"
    capabilities = Capabilities(exact_explanations=True)
    layout = stored(n_documents_=whole)

    def _fit(self, train: Split) -> None:
        self.n_documents_ = train.n_documents

    def _check_learned(self) -> None:
        if self.n_documents_ < self.label_frequencies_.max(initial=1):
            raise Misfit("n_documents_ is less than the documents of a label")

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        shares = np.full((1, len(self.labels_)), -np.inf, np.float32)
        seen = np.flatnonzero(self.label_frequencies_)
        if among is not None:
            seen = np.intersect1d(seen, among, assume_unique=True)
        shares[0, seen] = self.label_frequencies_[seen] / self.n_documents_
        best = top_k_rows(shares, k)
        return TopK(np.repeat(best.ids, X.shape[0], axis=0), np.repeat(best.scores, X.shape[0], axis=0))

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        count = int(self.label_frequencies_[label])
        reason = f"carried by {count:,} of {self.n_documents_:,} training documents"
        return Explanation.of([Part("(any document)", reason, count / self.n_documents_)])
