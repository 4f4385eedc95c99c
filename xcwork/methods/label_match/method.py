"""Label matching: a document gets the labels whose own text shares terms with it. Nothing is learned from Y.

Both methods here score a label by a sum over the terms t that document and label share,

    s(x, l) = sum over t of d(x, t) * r(l, t)

so the terms of the sum are the explanation, labels without training documents are found as easily as others, and a
document without a known term gets no label. They differ in the weights d and r:

- `TfidfMatch` takes the features as they are, unit rows of tf-idf, so that s is the cosine of document and label text.
- `BM25` counts terms as a search engine does (`BM25Model`).

Cost: nothing to train beyond counting; O(terms of x * labels that contain such a term) per document.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Method, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.common.label_rows import read_label_rows
from xcwork.methods.label_match.model import BM25Model, TfidfModel
from xcwork.methods.label_match.term_weights import read_label_counts, weigh_label_counts

CAPABILITIES = Capabilities(
    zero_shot=True, exact_explanations=True, gpu=True, gpu_prediction="scores", needs_label_text=True
)


@dataclass(kw_only=True, eq=False)
class TfidfMatch(Method):
    """Cosine of the tf-idf vectors of document and label text."""

    device: str = device_param()

    title = "Tf-idf label match"
    capabilities = CAPABILITIES
    model_type = TfidfModel
    learns_from_labels = False

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> TfidfModel:
        terms = read_label_rows(train.labels.Z, train.labels, train.features)
        return TfidfModel(**self._collect_facts(train), terms=sparse.csr_array(terms.T))


@dataclass(kw_only=True, eq=False)
class BM25(Method):
    """Okapi BM25 with the label text as the searched document and the document as the query."""

    k1: float = param(
        1.2,
        "number of occurrences in a label text that give a term half of its limit; 0: repetition is ignored",
        low=0,
        high=100,
    )
    b: float = param(0.75, "strength of the normalisation by label text length; 0: none", low=0, high=1)
    k3: float = param(
        2.0,
        "number of occurrences in the document that give a term half of its limit; 0: repetition is ignored",
        low=0,
        high=1000,
    )
    device: str = device_param()

    title = "BM25 label match"
    paper = "Robertson et al., Okapi at TREC-3, 1994"
    capabilities = CAPABILITIES
    model_type = BM25Model
    learns_from_labels = False

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> BM25Model:
        counts = read_label_counts(train.labels.Z, train.labels, train.features)
        lengths = counts.sum(axis=1)
        # An empty label text says nothing about how long label texts are.
        mean_length = float(lengths[lengths > 0].mean()) if (lengths > 0).any() else 1.0
        containing = np.bincount(train.X.indices, minlength=train.X.shape[1])  # (n_features,)
        idf = np.log1p((train.n_documents - containing + 0.5) / (containing + 0.5)).astype(np.float32)
        terms = weigh_label_counts(counts, idf, mean_length, k1=self.k1, b=self.b)
        return BM25Model(
            **self._collect_facts(train), terms=sparse.csr_array(terms.T), idf=idf, mean_length=mean_length
        )
