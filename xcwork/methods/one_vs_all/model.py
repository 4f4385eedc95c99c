"""What OneVsAll learns, and how it ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from xcwork.core.explanation import ANY_DOCUMENT, LABEL_RARITY, NO_TRAINING_DOCUMENT, Explanation, Family, Part
from xcwork.core.topk import TopK
from xcwork.methods.model import FittedModel, check_array, check_csr, with_gaps
from xcwork.progress import track_batches
from xcwork.search import TermSearch
from xcwork.sparse import normalise_rows

NO_CLASSIFIER_MARGIN = -1.0  # the margin of a label without training documents
DOCUMENTS_PER_BATCH = 4096  # scored between two steps of progress


@dataclass(frozen=True, kw_only=True, eq=False)
class OneVsAllModel(FittedModel):
    """One linear classifier per label."""

    weights: sparse.csr_array  # (n_features, n_labels)
    bias: np.ndarray = with_gaps()  # (n_labels,), NaN for a label without training documents

    def check(self) -> None:
        check_csr("weights", self.weights, (self.n_features, self.n_labels))
        check_array("bias", self.bias, (self.n_labels,))

    @cached_property
    def search(self) -> TermSearch:
        """The search for the labels of the best margins."""
        return TermSearch(self.weights, self.bias, self.params.device)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        if X.shape[0] == 1:  # one document should not wait
            return self.search.find(X, k, among=among, unit=True)
        blocks = track_batches(X, DOCUMENTS_PER_BATCH, "scoring")
        return TopK.concatenate([self.search.find(x, k, among=among, unit=True) for x in blocks])

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        if np.isnan(self.bias[label]):
            return Explanation.from_parts([Part(ANY_DOCUMENT, NO_TRAINING_DOCUMENT, NO_CLASSIFIER_MARGIN)])
        x = normalise_rows(x)
        weights = self.weights[x.indices][:, [label]].toarray().ravel()  # (n_terms,)
        name = self.labels.names[label]
        parts = [
            Part(self.features.get_name(term), name, value * weight, {"weight": weight}, Family.memorised)
            for term, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
            if weight
        ]
        return Explanation.from_parts([*parts, Part(ANY_DOCUMENT, LABEL_RARITY, float(self.bias[label]))])

    def label_embeddings(self) -> sparse.csr_array:
        """Return the weights of each label's classifier."""
        return sparse.csr_array(self.weights.T)
