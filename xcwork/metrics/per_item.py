"""The tables behind the numbers: one row per label, one row per document.

Both look at the first k predictions. They are plain frames; `write_details` stores them as CSV files that a
spreadsheet opens safely.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xcwork.core.bands import make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.propensity import compute_inverse_propensities
from xcwork.core.split import Split
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import DataError
from xcwork.export.tables import render_csv
from xcwork.metrics.ranking import compute_document_ratios, place_labels
from xcwork.metrics.report import EvalReport
from xcwork.storage.atomic import write_text

if TYPE_CHECKING:
    import pandas as pd


def tabulate_labels(predictions: TopK | EvalReport, dataset: Dataset, *, k: int = 5) -> pd.DataFrame:
    """Return per label: documents in train and test, how often it is predicted, hits, recall and precision in percent.

    Recall is missing where no test document has the label, precision where it is never predicted.
    """
    import pandas as pd

    topk, n_labels = _take_topk(predictions), len(dataset.labels)
    placement = place_labels(topk, dataset.test.Y)
    listed = topk.head(k).ids.ravel()
    predicted = np.bincount(listed[(listed != MISSING) & (listed < n_labels)], minlength=n_labels)
    hits = np.bincount(placement.truth.indices[placement.ranks <= k], minlength=n_labels)
    in_test = np.bincount(placement.truth.indices, minlength=n_labels)
    frequencies = dataset.train.label_frequencies
    return pd.DataFrame(
        {
            "label_id": np.arange(n_labels),
            "label": dataset.labels.names,
            "band": make_absolute_bands(frequencies).find_names(np.arange(n_labels)),
            "train_documents": frequencies,
            "test_documents": in_test,
            f"predicted@{k}": predicted,
            f"hits@{k}": hits,
            f"recall@{k}": _compute_percent(hits, in_test),
            f"precision@{k}": _compute_percent(hits, predicted),
        }
    )


def tabulate_documents(predictions: TopK | EvalReport, dataset: Dataset, *, k: int = 5) -> pd.DataFrame:
    """Return per test document: true labels, hits and misses among the first k, P@k, nDCG@k, recall and first hit."""
    import pandas as pd

    topk, test = _take_topk(predictions), dataset.test
    placement = place_labels(topk, test.Y)
    q = compute_inverse_propensities(dataset.train.label_frequencies, len(dataset.train), dataset.propensity)
    ratios = compute_document_ratios(placement, q, [k])
    hits = placement.count_hits(k)
    first = np.full(len(test), np.nan)
    found = placement.ranks <= topk.k
    np.fmin.at(first, placement.documents[found], placement.ranks[found])
    columns: dict[str, Any] = {"document": np.arange(len(test))} | ({} if test.uids is None else {"uid": test.uids})
    columns |= {
        "n_true": placement.n_true,
        f"hits@{k}": hits,
        f"misses@{k}": placement.n_true - hits,
        f"P@{k}": 100.0 * ratios[f"P@{k}"].numerator,
        f"nDCG@{k}": 100.0 * ratios[f"nDCG@{k}"].numerator,
        f"recall@{k}": _compute_percent(hits, placement.n_true),
        "first_hit": pd.array(first, dtype="Int64"),
    }
    return pd.DataFrame(columns)


class JudgedLabels(NamedTuple):
    """The predicted and the true labels of one document, by id."""

    found: list[int]  # predicted and true, best first
    missed: list[int]  # true and not predicted, by id
    wrong: list[int]  # predicted and not true, best first


def judge_labels(predicted_ids: np.ndarray, split: Split, document: int) -> JudgedLabels:
    """Compare the predicted labels of a document (a row of `TopK.ids`) with its true ones."""
    true = set(split.Y.indices[split.Y.indptr[document] : split.Y.indptr[document + 1]].tolist())
    predicted = [label for label in predicted_ids.tolist() if label != MISSING]
    return JudgedLabels(
        found=[label for label in predicted if label in true],
        missed=sorted(true.difference(predicted)),
        wrong=[label for label in predicted if label not in true],
    )


def write_details(
    predictions: TopK | EvalReport, dataset: Dataset, folder: str | Path, *, k: int = 5
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write `per_label.csv` and `per_document.csv` into `folder` and return both tables, unrounded."""
    labels, documents = tabulate_labels(predictions, dataset, k=k), tabulate_documents(predictions, dataset, k=k)
    write_text(Path(folder) / "per_label.csv", render_csv(labels.round(2)))
    write_text(Path(folder) / "per_document.csv", render_csv(documents.round(2)))
    return labels, documents


def _take_topk(predictions: TopK | EvalReport) -> TopK:
    topk = predictions.topk if isinstance(predictions, EvalReport) else predictions
    if topk is None:
        raise DataError(
            "this report was read without its predictions", remedy="pass the predictions of the run instead"
        )
    return topk


def _compute_percent(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return 100 * part / whole, missing where the whole is 0."""
    return np.divide(100.0 * part, whole, out=np.full(len(part), np.nan), where=whole > 0)
