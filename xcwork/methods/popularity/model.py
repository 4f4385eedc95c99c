"""What Popularity learns, and how it ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.explanation import ANY_DOCUMENT, Explanation, Part
from xcwork.core.topk import TopK
from xcwork.methods.model import FittedModel, Misfit, check_whole
from xcwork.search import top_k_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class PopularityModel(FittedModel):
    """The number of training documents, and of those of each label."""

    n_documents: int

    def check(self) -> None:
        check_whole("n_documents", self.n_documents)
        if self.n_documents < self.label_frequencies.max(initial=1):
            raise Misfit("n_documents is less than the documents of a label")

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        shares = np.full((1, self.n_labels), -np.inf, np.float32)
        seen = np.flatnonzero(self.label_frequencies)
        if among is not None:
            seen = np.intersect1d(seen, among, assume_unique=True)
        shares[0, seen] = self.label_frequencies[seen] / self.n_documents
        best = top_k_rows(shares, k)
        return TopK(np.repeat(best.ids, X.shape[0], axis=0), np.repeat(best.scores, X.shape[0], axis=0))

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        count = int(self.label_frequencies[label])
        reason = f"label of {count:,} of {self.n_documents:,} training documents"
        return Explanation.from_parts([Part(ANY_DOCUMENT, reason, count / self.n_documents)])
