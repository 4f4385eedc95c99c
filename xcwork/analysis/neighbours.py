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

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.analysis.paging import look_up_names
from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError
from xcwork.layout.label_vectors import LabelVectors
from xcwork.metrics.ranking import place_labels

if TYPE_CHECKING:
    import pandas as pd

MAX_SHARED_TERMS = 5


def find_nearest_labels(vectors: LabelVectors, dataset: Dataset, label: int | str, *, k: int = 10) -> pd.DataFrame:
    """Return the k labels nearest to `label`: similarity, training documents, how many have both, terms in common."""
    import pandas as pd

    _check_limit(k)
    label, frequencies = dataset.labels.find_id(label), dataset.train.label_frequencies
    ids, cosines = vectors.find_nearest(label, k)
    inside = ids < len(dataset.labels)  # a model may have labels that were added later
    ids, cosines = ids[inside], cosines[inside]
    Y = dataset.train.Y
    together = np.bincount(Y[find_documents_with(Y, label)].indices, minlength=len(frequencies))
    columns = {
        "label_id": ids,
        "label": look_up_names(dataset.labels, ids),
        "similarity": cosines,
        "train_documents": frequencies[ids],
        "shared_documents": together[ids],
        "shared_terms": [", ".join(find_shared_terms(dataset.labels, label, other)) for other in ids.tolist()],
    }
    return pd.DataFrame(columns)


def find_shared_terms(labels: LabelSpace, a: int, b: int, *, limit: int = MAX_SHARED_TERMS) -> list[str]:
    """Return the terms that the texts of two labels have in common, the weightiest first."""
    if labels.Z is None or labels.features is None:
        return []
    both = sparse.csr_array(labels.Z[[a]].multiply(labels.Z[[b]]))
    order = np.argsort(-both.data, kind="stable")[:limit]
    return [labels.features.get_name(term) for term in both.indices[order].tolist()]


def find_confusable_labels(
    topk: TopK, dataset: Dataset, label: int | str, *, k: int = 5, limit: int = 10
) -> pd.DataFrame:
    """Return labels that stand in for `label` on the test split, and labels that it stands in for.

    `instead` counts the documents that lack `label` among the first k but have this label there wrongly; `for_it` those
    where `label` is wrongly among the first k and this true label is missed. `lift` compares their sum with
    what labels predicted wrongly and missed that often would reach by chance.
    """
    import pandas as pd

    _check_limit(limit)
    label, n_labels = dataset.labels.find_id(label), dataset.test.n_labels
    head = topk.head(k)
    placement = place_labels(head, dataset.test.Y)
    wrong = (head.ids != MISSING) & (head.ids < n_labels) & ~placement.mark_hits()  # (n_documents, k)
    missed = placement.ranks > k  # (nnz,)
    of_label = placement.truth.indices == label
    lacking = placement.documents[missed & of_label]
    having = np.flatnonzero((wrong & (head.ids == label)).any(axis=1))
    instead = np.bincount(head.ids[lacking][wrong[lacking]], minlength=n_labels)
    for_it = np.bincount(placement.truth.indices[missed & np.isin(placement.documents, having)], minlength=n_labels)
    often_wrong, often_missed = (
        np.bincount(some, minlength=n_labels) for some in (head.ids[wrong], placement.truth.indices[missed])
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


def find_documents_with(Y: sparse.csr_array, label: int) -> np.ndarray:
    """Return rows of the documents that have `label`, ascending."""
    return np.searchsorted(Y.indptr, np.flatnonzero(Y.indices == label), side="right") - 1


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise ConfigError(f"at least 1 label must be asked for, got {limit}")
