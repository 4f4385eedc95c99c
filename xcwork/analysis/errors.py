"""Where true labels are lost, and where true labels themselves may be wrong, read off the stored top-k lists.

*Triage.* A missed true label was either listed but outranked (a ranking problem), never listed (a retrieval problem),
never seen in training, or kept out by a filter pair. The table of these four against the frequency bands says what to
work on.

*Label hints.* Let c be the probability that a prediction is correct: that of the run's calibration, which was learned
on held-out training documents, or for predictions without probabilities the share of correct ones among those with a
similar score on the test split (a monotone fit over bins of equal size). A wrong prediction with a high c is likely a
label that the annotator forgot. A true label that the model gives a low c, although it finds that label in most *other*
documents, is likely an annotation error; a label the model never finds tells nothing. Both are hints to look at,
ordered, not verdicts.

Cost: O(n_documents * k) and a sort; no dense (documents × labels) array, so it works at any number of labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xcwork.analysis.paging import look_up_names
from xcwork.core.bands import Bands, make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError
from xcwork.metrics.ranking import Placement, place_labels

if TYPE_CHECKING:
    import pandas as pd

OUTRANKED = "outranked"
NOT_LISTED = "not listed"
UNSEEN = "not listed, unseen label"
FILTERED = "filtered"
STATES = (OUTRANKED, NOT_LISTED, UNSEEN, FILTERED)
MAX_BINS = 100  # score bins of the precision curve
MAX_CURVE_PREDICTIONS = 1_000_000  # that the curve is fitted to
MIN_BIN_PREDICTIONS = 20  # so that the share of correct ones means something


def list_missed_labels(
    topk: TopK, dataset: Dataset, *, k: int = 5, bands: Bands | None = None, label: int | None = None
) -> pd.DataFrame:
    """Return the true labels outside the first k, each with its rank, why it was lost and what won instead.

    An unseen label that is listed, only too low, counts as outranked: the method knows it. With `label` only the misses
    of that label.
    """
    import pandas as pd

    placement, test = place_labels(topk, dataset.test.Y), dataset.test
    frequencies = dataset.train.label_frequencies
    bands = make_absolute_bands(frequencies) if bands is None else bands
    is_missed = placement.ranks > k
    missed = np.flatnonzero(is_missed if label is None else is_missed & (placement.truth.indices == label))
    documents, labels, ranks = placement.documents[missed], placement.truth.indices[missed], placement.ranks[missed]
    listed = ranks <= topk.k
    state = np.select(
        [is_filter_pair(documents, labels, test.filter_pairs, test.n_labels), listed, frequencies[labels] == 0],
        [FILTERED, OUTRANKED, UNSEEN],
        NOT_LISTED,
    )
    score = np.where(listed, topk.scores[documents, np.where(listed, ranks - 1, 0)], np.nan) if topk.k else np.nan
    best = topk.head(max(topk.k, 1))
    top_scores = best.scores[documents, 0]
    columns = {
        "document": documents,
        **_collect_uids(dataset, documents),
        "label_id": labels,
        "label": _look_up_names(dataset, labels),
        "band": bands.find_names(labels),
        "train_documents": frequencies[labels],
        "state": state,
        "rank": pd.array(np.where(listed, ranks, np.nan), dtype="Int64"),
        "score": score,
        "top_label": _look_up_names(dataset, best.ids[documents, 0], topk),
        "top_score": np.where(np.isfinite(top_scores), top_scores, np.nan),
    }
    return pd.DataFrame(columns)


def triage_missed_labels(missed: pd.DataFrame, bands: Bands) -> pd.DataFrame:
    """Return how many missed labels of each band are in each state, and their total; one row per band."""
    import pandas as pd

    counts = pd.crosstab(missed["band"], missed["state"]) if len(missed) else pd.DataFrame()
    counts = counts.reindex(index=list(bands.names), columns=list(STATES), fill_value=0).astype(np.int64)
    counts["total"] = counts.sum(axis=1)
    return counts.rename_axis(index="band", columns=None).reset_index()


def find_likely_missing(topk: TopK, dataset: Dataset, *, depth: int = 5, limit: int = 200) -> pd.DataFrame:
    """Return predictions among the first `depth` that are no true labels although such predictions are usually right.

    `confidence` is c in percent: of the predictions like this one, so many are correct.
    """
    import pandas as pd

    _check_limit(limit)
    head = topk.head(min(depth, topk.k))
    placement = place_labels(head, dataset.test.Y)
    correct = placement.mark_hits()
    documents, slots = np.nonzero((head.ids != MISSING) & ~correct)
    # Filter pairs are known not to be wanted, so they are no omission even if a list from elsewhere has them.
    pairs = is_filter_pair(documents, head.ids[documents, slots], dataset.test.filter_pairs, dataset.test.n_labels)
    documents, slots = documents[~pairs], slots[~pairs]
    # Without probabilities c rises with the score, so the highest scores are the most confident predictions.
    strength = head.scores if head.probabilities is None else head.probabilities
    order = np.lexsort((slots, documents, -strength[documents, slots]))[:limit]
    documents, slots = documents[order], slots[order]
    labels, scores = head.ids[documents, slots], head.scores[documents, slots]
    columns = {
        "document": documents,
        **_collect_uids(dataset, documents),
        "label_id": labels,
        "label": _look_up_names(dataset, labels, topk),
        "rank": slots + 1,
        "score": scores,
        "confidence": 100.0 * _find_confidence(head, correct, documents, slots),
        "n_true": placement.n_true[documents],
    }
    return pd.DataFrame(columns)


def find_likely_wrong(topk: TopK, dataset: Dataset, *, k: int = 5, limit: int = 200) -> pd.DataFrame:
    """Return true labels outside the first k that the model usually finds elsewhere.

    `found_elsewhere` is the percentage of the label's other test documents in which it stands among the first k.
    `suspicion` = (found + 1) / (others + 2) * (1 - c), in percent: the rule of succession keeps one lucky find from
    counting as much as twenty, and c = 0 for a label that is not listed at all. Labels that are never found do not
    appear: there is no evidence against their annotation.
    """
    import pandas as pd

    _check_limit(limit)
    placement = place_labels(topk, dataset.test.Y)
    labels = placement.truth.indices
    found = placement.ranks <= k
    n_test = np.bincount(labels, minlength=dataset.test.n_labels)
    n_found = np.bincount(labels[found], minlength=dataset.test.n_labels)
    missed = np.flatnonzero(~found & (n_found[labels] > 0))
    labels, documents, ranks = labels[missed], placement.documents[missed], placement.ranks[missed]
    others = n_test[labels] - 1  # at least 1: the label is missed here, so it was found somewhere else
    expected = (n_found[labels] + 1) / (others + 2)
    suspicion = expected * (1.0 - _estimate_missed_confidence(topk, placement, missed))
    order = np.lexsort((labels, documents, -suspicion))[:limit]
    labels, documents, ranks = labels[order], documents[order], ranks[order]
    best = topk.head(max(topk.k, 1))
    columns = {
        "document": documents,
        **_collect_uids(dataset, documents),
        "label_id": labels,
        "label": _look_up_names(dataset, labels),
        "rank": pd.array(np.where(ranks <= topk.k, ranks, np.nan), dtype="Int64"),
        "found_elsewhere": 100.0 * (n_found[labels] / (n_test[labels] - 1)),
        "suspicion": 100.0 * suspicion[order],
        "test_documents": n_test[labels],
        "top_label": _look_up_names(dataset, best.ids[documents, 0], topk),
    }
    return pd.DataFrame(columns)


def _estimate_missed_confidence(topk: TopK, placement: Placement, missed: np.ndarray) -> np.ndarray:
    """Return c of the given true labels; 0 where they are not listed."""
    ranks, confidence = placement.ranks[missed], np.zeros(len(missed))
    listed = np.flatnonzero(ranks <= topk.k)
    if len(listed):
        documents = placement.documents[missed[listed]]
        confidence[listed] = _find_confidence(topk, placement.mark_hits(), documents, ranks[listed] - 1)
    return confidence


def _find_confidence(topk: TopK, correct: np.ndarray, documents: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Return c of the predictions in these slots: their probability, or an estimate where there is none."""
    if topk.probabilities is not None:
        return topk.probabilities[documents, slots].astype(np.float64)
    return estimate_confidence(topk, correct, topk.scores[documents, slots])


def estimate_confidence(topk: TopK, correct: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return c of the `wanted` scores: the share of correct predictions with such a score, made monotone."""
    from scipy.optimize import isotonic_regression

    # Every n-th document is plenty for a curve of a hundred steps, and sorting fifteen million scores is slow.
    every = max(1, topk.ids.size // MAX_CURVE_PREDICTIONS)
    present = topk.ids[::every] != MISSING
    scores, right = topk.scores[::every][present], correct[::every][present]
    if len(scores) == 0:
        return np.zeros(len(wanted))
    n_bins = max(1, min(MAX_BINS, len(scores) // MIN_BIN_PREDICTIONS))
    # Equal scores share a bin, whatever the number of predictions that have them.
    edges = np.unique(np.quantile(scores, np.arange(1, n_bins) / n_bins, method="higher"))
    bins = np.searchsorted(edges, scores, side="right")
    counts = np.bincount(bins, minlength=len(edges) + 1)
    used = np.flatnonzero(counts)
    shares = np.bincount(bins, weights=right, minlength=len(edges) + 1)[used] / counts[used]
    rising = isotonic_regression(shares, weights=counts[used]).x
    # A score in a bin that the sample left empty takes the value of the bin below it.
    below = np.searchsorted(used, np.searchsorted(edges, wanted, side="right"), side="right") - 1
    return rising[np.maximum(below, 0)]


def is_filter_pair(documents: np.ndarray, labels: np.ndarray, pairs: np.ndarray | None, n_labels: int) -> np.ndarray:
    """Return which (document, label) combinations are filter pairs."""
    if pairs is None or len(pairs) == 0:
        return np.zeros(len(documents), dtype=bool)
    forbidden = pairs[:, 0].astype(np.int64) * n_labels + pairs[:, 1]
    # A label added after training lies beyond n_labels and would alias a pair of the next document.
    return np.isin(documents.astype(np.int64) * n_labels + labels, forbidden) & (labels < n_labels)


def _look_up_names(dataset: Dataset, labels: np.ndarray, topk: TopK | None = None) -> np.ndarray:
    """Return label names, None for a missing slot; predictions may contain labels that were added later."""
    space = dataset.labels if topk is None or topk.labels is None else topk.labels
    return np.array(look_up_names(space, labels), dtype=object)


def _collect_uids(dataset: Dataset, documents: np.ndarray) -> dict[str, list[str]]:
    uids = dataset.test.uids
    return {} if uids is None else {"uid": [uids[document] for document in documents.tolist()]}


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise ConfigError(f"at least 1 row must be asked for, got {limit}")
