"""One vector per label: what says which labels are alike.

It is the embedding that a method learned. Where the method has none, or only the label's text, it is the sum of two
unit vectors: the label's text, and the mean of its training documents. A name of one word says little; its documents
say what it is about. A label without documents has its text alone. All vectors have length 1, so that a product of two
is their cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.errors import DataError, MissingVectorsError
from xcwork.layout.document_means import average_documents
from xcwork.search import top_k_rows
from xcwork.sparse import make_canonical, normalise_rows

if TYPE_CHECKING:
    from xcwork.methods.base import Method


@dataclass(frozen=True, eq=False)
class LabelVectors:
    """One unit vector per label; a label without one has a row of zeros."""

    vectors: np.ndarray | sparse.csr_array  # (n_labels, dimension)
    source: str

    @classmethod
    def from_method(cls, method: Method | None, labels: LabelSpace, train: Split | None = None) -> LabelVectors:
        """Return the embeddings of `method`, or label texts and documents of `train` where it has none of its own."""
        embeddings = None if method is None else method.label_embeddings()
        if method is not None and embeddings is not None and not (train is not None and _is_text(embeddings, labels)):
            return cls(normalise_rows(embeddings), f"label embeddings of {method.title or type(method).__name__}")
        if train is not None and train.X.nnz and train.Y.nnz:
            return cls.from_documents(train)
        if labels.Z is None:
            raise MissingVectorsError(
                "this method has no label embeddings and the labels have no text, so nothing says which are alike",
                remedy="choose a run of another method, such as one_vs_all",
            )
        return cls(normalise_rows(labels.Z), "label texts")

    @classmethod
    def from_documents(cls, train: Split) -> LabelVectors:
        """Return the sum of each label's text and the mean of its documents, each of length 1."""
        means = average_documents(train)
        labels = train.labels
        if labels.Z is None:
            return cls(means, "training documents")
        texts = normalise_rows(labels.Z)
        if labels.features is train.features or (labels.features is None and texts.shape[1] == means.shape[1]):
            both = means + texts
        else:  # terms of its own: side by side the cosines add up in the same way
            both = sparse.hstack((means, texts))
        return cls(normalise_rows(sparse.csr_array(both)), "label texts and training documents")

    def __len__(self) -> int:
        return self.vectors.shape[0]

    def is_known(self) -> np.ndarray:
        """Return which labels have a vector, (n_labels,) bool."""
        if isinstance(self.vectors, np.ndarray):
            return np.any(self.vectors, axis=1)
        return np.diff(self.vectors.indptr) > 0

    def find_nearest(self, label: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (ids, cosines) of the k other labels most similar to `label`, of those that have a vector."""
        if not 0 <= label < len(self):
            raise DataError(f"there is no label {label}; ids go from 0 to {len(self) - 1}")
        query = self.vectors[[label]]
        query = query.ravel() if isinstance(query, np.ndarray) else query.toarray().ravel()
        if not query.any():
            return np.empty(0, np.int32), np.empty(0, np.float32)
        cosines = np.asarray(self.vectors @ query, np.float32)  # (n_labels,)
        cosines[label], cosines[~self.is_known()] = -np.inf, -np.inf
        best = top_k_rows(cosines[None], min(k, len(self)))
        listed = best.ids[0] != MISSING
        return best.ids[0, listed], best.scores[0, listed]


def _is_text(embeddings: np.ndarray | sparse.csr_array, labels: LabelSpace) -> bool:
    """Tell whether the embeddings have entries exactly where the label texts have terms, whatever their weights."""
    if labels.Z is None or not sparse.issparse(embeddings) or embeddings.shape != labels.Z.shape:
        return False
    ours, texts = make_canonical(embeddings), make_canonical(labels.Z)
    return np.array_equal(ours.indptr, texts.indptr) and np.array_equal(ours.indices, texts.indices)
