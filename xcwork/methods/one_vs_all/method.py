"""The declaration of OneVsAll."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.common.one_vs_all_svm import MIN_TOLERANCE, SvmSettings, train_one_vs_all
from xcwork.methods.layout import array, matrix, stored, with_gaps
from xcwork.progress import batches
from xcwork.search import top_k_product
from xcwork.sparse import normalise_rows

NO_CLASSIFIER = -1.0  # the margin of a label that nothing speaks for
BATCH = 4096  # documents scored between two steps of progress


@dataclass(kw_only=True, eq=False)
class OneVsAll(Method):
    """One linear support vector machine a label, trained against all other documents."""

    C: float = param(1.0, "weight of the errors against the size of the weights", low=1e-4, high=1e4)
    tolerance: float = param(0.1, "largest violation of optimality that may remain", low=MIN_TOLERANCE, high=1.0)
    prune: float = param(0.03, "weights smaller than this are dropped", low=0.0)
    max_rounds: int = param(30, "rounds of descent and check after which a label is given up", low=1, advanced=True)

    title = "One-vs-all"
    paper = "Babbar and Schölkopf, DiSMEC, WSDM 2017"
    capabilities = Capabilities(exact_explanations=True, resumable=True)
    layout = stored(weights_=matrix("features", "labels"), bias_=with_gaps(array("labels")))

    def _fit(self, train: Split) -> None:
        settings = SvmSettings(self.C, self.tolerance, self.prune, self.max_rounds, self.seed)
        self.weights_, self.bias_ = train_one_vs_all(train, settings, self._checkpoint)

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        blocks = batches(X, BATCH, "scoring")
        return TopK.concatenate(
            [top_k_product(normalise_rows(x), self.weights_, k, start=self.bias_, among=among) for x in blocks]
        )

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        if np.isnan(self.bias_[label]):
            return Explanation.of([Part("(any document)", "no training document to learn from", NO_CLASSIFIER)])
        x = normalise_rows(x)
        weights = self.weights_[x.indices][:, [label]].toarray().ravel()  # (n_terms,)
        name = self.labels_.names[label]
        parts = [
            Part(self.features_.name(term), name, value * weight, {"weight": weight})
            for term, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
            if weight
        ]
        return Explanation.of([*parts, Part("(any document)", "bias", float(self.bias_[label]))])

    def label_embeddings(self) -> sparse.csr_array:
        """The weights of each label's classifier."""
        return sparse.csr_array(self.weights_.T)
