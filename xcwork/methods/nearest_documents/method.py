"""Nearest documents: a document gets the labels of the training documents it resembles most.

The score of label l for document x is the similarity-weighted vote of its n nearest training documents,

    s(x, l) = sum over i in N(x) of cos(x, x_i) * Y[i, l]  /  sum over i in N(x) of cos(x, x_i)

so every score lies in [0, 1], and the share that one neighbour contributes is exact: that is the explanation.

Cost: nothing to train; O(terms of x * average posting length) per document. Memory: the training matrix, one
accumulator of the training documents per thread, and one block of votes. Cannot predict a label that no training
document has. A document that shares no term with any training document has no neighbours and gets no labels.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import sparse

from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Method, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.nearest_documents.model import NearestDocumentsModel
from xcwork.sparse import normalise_rows


@dataclass(kw_only=True, eq=False)
class NearestDocuments(Method):
    """Vote of the nearest training documents."""

    neighbours: int = param(20, "number of training documents that vote", low=1, high=10_000)
    batch_size: int = param(
        512,
        "number of documents scored together; memory grows with it",
        low=1,
        advanced=True,
        at_prediction=True,
        formerly="batch",
    )
    device: str = device_param()

    title = "Nearest documents"
    capabilities = Capabilities(exact_explanations=True, gpu=True, gpu_prediction="similarities")
    model_type = NearestDocumentsModel
    learns_from_labels = False

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> NearestDocumentsModel:
        return NearestDocumentsModel(
            **self._collect_facts(train),
            # Feature-major, because a query walks the posting list of each of its terms.
            postings=sparse.csr_array(normalise_rows(train.X).T),
            relevance=train.Y,
            uids=train.uids,
        )
