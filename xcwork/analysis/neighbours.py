"""Which labels lie near a label, and which ones a model takes for it.

*Nearest* labels are those with the largest cosine to the label's vector: the method's embedding, or the label text
where the method has none. Beside the similarity stand two facts that make it believable: training documents that have
both labels, and terms that both texts share.

*Confusable* labels come from predictions: where the label was missed, what stood among the first k instead; and where
it was predicted wrongly, which true labels were missed. A label that is predicted everywhere would come first in both
lists, so each count is set against what that label would reach by chance (`lift`).

Cost of a query: one product of all vectors with one of them, and one pass over the positives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.analysis.paging import look_up_names
from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError, DataError
from xcwork.metrics.ranking import place
from xcwork.search import top_k_rows
from xcwork.sparse import normalise_rows

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.base import Method

MAX_SHARED_TERMS = 5


@dataclass(frozen=True, eq=False)
class LabelVectors:
    """One unit vector per label; a label without one has a row of zeros."""

    vectors: np.ndarray | sparse.csr_array  # (n_labels, dimension)
    source: str

    @classmethod
    def from_method(cls, method: Method | None, labels: LabelSpace) -> LabelVectors:
        """Return the embeddings of `method`, or the label texts where it has none."""
        if method is not None and (embeddings := method.label_embeddings()) is not None:
            return cls(normalise_rows(embeddings), f"label embeddings of {method.title or type(method).__name__}")
        if labels.Z is None:
            raise DataError(
                "this method has no label embeddings and the labels have no text, so nothing says which are alike",
                remedy="choose a run of another method, such as one_vs_all",
            )
        return cls(normalise_rows(labels.Z), "label texts")

    def __len__(self) -> int:
        return self.vectors.shape[0]

    def is_known(self) -> np.ndarray:
        """Return which labels have a vector, (n_labels,) bool."""
        if isinstance(self.vectors, np.ndarray):
            return np.any(self.vectors, axis=1)
        return np.diff(self.vectors.indptr) > 0

    def nearest(self, label: int, k: int) -> tuple[np.ndarray, np.ndarray]:
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


def nearest_labels(vectors: LabelVectors, dataset: Dataset, label: int | str, *, k: int = 10) -> pd.DataFrame:
    """Return the k labels nearest to `label`: similarity, training documents, how many have both, terms in common."""
    import pandas as pd

    _check_limit(k)
    label, frequencies = dataset.labels.id_of(label), dataset.train.label_frequencies
    ids, cosines = vectors.nearest(label, k)
    inside = ids < len(dataset.labels)  # a model may have labels that were added later
    ids, cosines = ids[inside], cosines[inside]
    together = np.bincount(dataset.train.Y[documents_with(dataset.train.Y, label)].indices, minlength=len(frequencies))
    columns = {
        "label_id": ids,
        "label": look_up_names(dataset.labels, ids),
        "similarity": cosines,
        "train_documents": frequencies[ids],
        "shared_documents": together[ids],
        "shared_terms": [", ".join(shared_terms(dataset.labels, label, other)) for other in ids.tolist()],
    }
    return pd.DataFrame(columns)


def shared_terms(labels: LabelSpace, a: int, b: int, *, limit: int = MAX_SHARED_TERMS) -> list[str]:
    """Return the terms that the texts of two labels have in common, the weightiest first."""
    if labels.Z is None or labels.features is None:
        return []
    both = sparse.csr_array(labels.Z[[a]].multiply(labels.Z[[b]]))
    order = np.argsort(-both.data, kind="stable")[:limit]
    return [labels.features.name(term) for term in both.indices[order].tolist()]


def confusable_labels(topk: TopK, dataset: Dataset, label: int | str, *, k: int = 5, limit: int = 10) -> pd.DataFrame:
    """Return labels that stand in for `label` on the test split, and labels that it stands in for.

    `instead` counts the documents that lack `label` among the first k but have this label there wrongly; `for_it` those
    where `label` is wrongly among the first k and this true label is missed. `lift` compares their sum with
    what labels predicted wrongly and missed that often would reach by chance.
    """
    import pandas as pd

    _check_limit(limit)
    label, n_labels = dataset.labels.id_of(label), dataset.test.n_labels
    head = topk.head(k)
    placement = place(head, dataset.test.Y)
    wrong = (head.ids != MISSING) & (head.ids < n_labels) & ~placement.hit_matrix()  # (n_documents, k)
    missed = placement.ranks > k  # (nnz,)
    of_label = placement.truth.indices == label
    lacking = placement.documents[missed & of_label]
    having = np.flatnonzero((wrong & (head.ids == label)).any(axis=1))
    instead = _count_labels(head.ids[lacking][wrong[lacking]], n_labels)
    for_it = _count_labels(placement.truth.indices[missed & np.isin(placement.documents, having)], n_labels)
    often_wrong, often_missed = (
        _count_labels(some, n_labels) for some in (head.ids[wrong], placement.truth.indices[missed])
    )
    chance = (len(lacking) * often_wrong + len(having) * often_missed) / max(len(topk), 1)
    total = instead + for_it
    best = np.flatnonzero(total)
    lift = np.divide(total, chance, out=np.zeros(n_labels), where=chance > 0)
    best = best[np.lexsort((best, -lift[best], -total[best]))][:limit]
    columns = {
        "label_id": best,
        "label": look_up_names(dataset.labels, best),
        "instead": instead[best],
        "for_it": for_it[best],
        "lift": lift[best],
        "train_documents": dataset.train.label_frequencies[best],
    }
    return pd.DataFrame(columns)


def documents_with(Y: sparse.csr_array, label: int) -> np.ndarray:
    """Return rows of the documents that have `label`, ascending."""
    return np.searchsorted(Y.indptr, np.flatnonzero(Y.indices == label), side="right") - 1


def _count_labels(labels: np.ndarray, n_labels: int) -> np.ndarray:
    return np.bincount(labels, minlength=n_labels)


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise ConfigError(f"at least 1 label must be asked for, got {limit}")
