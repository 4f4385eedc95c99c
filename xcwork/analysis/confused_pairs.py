"""Which labels a model takes for others, over the whole test split.

A document that misses a true label and lists others wrongly makes one pair of each missed and each wrong label. A label
that is listed wrongly everywhere is in many pairs, so `lift` compares the count with what both would reach by chance.

Cost: O(missed labels × k), in blocks of documents, so memory is bounded by the number of different pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xcwork.analysis.paging import look_up_names
from xcwork.core.dataset import Dataset
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError
from xcwork.metrics.ranking import place_labels

if TYPE_CHECKING:
    import pandas as pd

MISSES_PER_BLOCK = 500_000


def find_confused_pairs(topk: TopK, dataset: Dataset, *, k: int = 5, limit: int = 200) -> pd.DataFrame:
    """Return the pairs of a missed label and one listed in its place, the most frequent first.

    Columns: missed_id, missed, listed_id, listed, documents, of (test documents that have the missed label), lift.
    """
    import pandas as pd

    if limit < 1:
        raise ConfigError(f"at least 1 pair must be asked for, got {limit}")
    n_labels, head = dataset.test.n_labels, topk.head(k)
    placement = place_labels(head, dataset.test.Y)
    wrong = (head.ids != MISSING) & (head.ids < n_labels) & ~placement.mark_hits()
    missed = np.flatnonzero(placement.ranks > k)
    labels, documents = placement.truth.indices[missed], placement.documents[missed]
    pairs, counts = _count_pairs(labels, documents, head.ids, wrong, n_labels)
    of_missed, of_listed = (
        np.bincount(some, minlength=n_labels) for some in (labels, head.ids[wrong].astype(np.int64))
    )
    first, second = pairs // n_labels, pairs % n_labels
    chance = of_missed[first] * of_listed[second] / max(len(topk), 1)
    lift = counts / np.maximum(chance, np.finfo(np.float64).tiny)
    best = np.lexsort((pairs, -lift, -counts))[:limit]
    in_test = np.bincount(placement.truth.indices, minlength=n_labels)
    return pd.DataFrame(
        {
            "missed_id": first[best],
            "missed": look_up_names(dataset.labels, first[best]),
            "listed_id": second[best],
            "listed": look_up_names(dataset.labels, second[best]),
            "documents": counts[best],
            "of": in_test[first[best]],
            "lift": lift[best],
        }
    )


def _count_pairs(
    labels: np.ndarray, documents: np.ndarray, listed: np.ndarray, wrong: np.ndarray, n_labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the different pairs as missed × n_labels + listed, ascending, and how many documents have each."""
    pairs, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for start in range(0, len(labels), MISSES_PER_BLOCK):
        some = slice(start, start + MISSES_PER_BLOCK)
        taken = wrong[documents[some]]  # (n_missed, k)
        codes = labels[some].astype(np.int64)[:, None] * n_labels + listed[documents[some]]
        found, times = np.unique(codes[taken], return_counts=True)
        merged, places = np.unique(np.concatenate([pairs, found]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([counts, times]), minlength=len(merged)).astype(np.int64)
        pairs = merged
    return pairs, counts


def find_pair_documents(topk: TopK, dataset: Dataset, missed: int, listed: int, *, k: int = 5) -> np.ndarray:
    """Return the test documents that miss one label and have another among the first k in its place."""
    head = topk.head(k)
    placement = place_labels(head, dataset.test.Y)
    lacking = placement.documents[(placement.ranks > k) & (placement.truth.indices == missed)]
    wrong = (head.ids[lacking] == listed) & ~placement.mark_hits()[lacking]
    return lacking[wrong.any(axis=1)]
