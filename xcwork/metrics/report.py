"""Evaluate a trained method on the test split of a dataset, the way generalised zero-shot work reports it.

Three rankings are measured. *All*: every label competes, the full truth counts, the mean is over all test documents.
*Seen* and *unseen*: only labels with, or without, a training document compete; truth of the other kind is set aside,
and the mean is over the documents that have at least one true label of the kind.

A method that cannot score unseen labels must not earn points for them because ties happen to be ordered by id: its
unseen metrics are 0, with the reason in `notes`, and unseen labels it lists anyway are dropped.

Cost: one prediction of the test split (the figure behind `predict_ms_per_document`), for zero-shot methods two more,
restricted ones; the metrics themselves take about a second per 150,000 documents with 100 labels each.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.core.bands import make_absolute_bands, make_share_bands, make_shot_bands
from xcwork.core.dataset import Dataset
from xcwork.core.propensity import Propensity, compute_inverse_propensities
from xcwork.core.split import Split
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import DataError
from xcwork.export import html
from xcwork.metrics.by_band import tabulate_bands
from xcwork.metrics.calibration import check_calibration_figures, describe_calibration, measure_calibration
from xcwork.metrics.ranking import HEADLINE_METRICS, KS, compute_curves, evaluate_placement, place_labels
from xcwork.progress import Callback, listen
from xcwork.sparse import keep_entries

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.protocols import Predictor

Table = dict[str, dict[str, float]]
MAX_FIGURE = 1e300  # figures beyond it are no measurement, and no format holds them


@dataclass(frozen=True, eq=False)
class EvalReport:
    """Everything measured about one method on one test split; percentages are kept in full precision."""

    method: str
    dataset: str
    k: int
    n_documents: int
    n_without_labels: int  # documents without a true label: they count as 0 in every mean
    n_filter_pairs: int  # (document, label) pairs that were kept out of the predictions
    n_seen_documents: int
    n_unseen_documents: int
    propensity: Propensity
    metrics: dict[str, float]
    seen: dict[str, float]
    unseen: dict[str, float]
    shots: Table
    bands: dict[str, Table]
    curves: dict[str, list[float]]
    definitions: dict[str, str]  # of the bands
    notes: dict[str, str]
    diagnostics: dict[str, float]
    predict_seconds: float
    predict_ms_per_document: float
    calibration: dict[str, Any] = field(default_factory=dict)  # of the probabilities; empty without a calibration
    topk: TopK | None = field(default=None, repr=False)  # not part of `to_dict`: predictions have a file of their own

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON: percentages with two decimals, and in full precision under `exact`."""
        exact = {name: getattr(self, name) for name in _ROUNDED}
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("topk", "propensity")}
        constants = {"A": self.propensity.A, "B": self.propensity.B, "source": self.propensity.source}
        return {
            **plain,
            **{name: _round_figures(value) for name, value in exact.items()},
            "propensity": constants,
            "exact": exact,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any], topk: TopK | None = None) -> EvalReport:
        """Return the report that `to_dict` described, in full precision."""
        names = [name for name in cls.__dataclass_fields__ if name != "topk"]
        try:
            content = {"calibration": {}} | content  # reports of earlier versions have none
            values = {name: content[name] for name in names} | {name: content["exact"][name] for name in _ROUNDED}
            values["propensity"] = Propensity(**content["propensity"])
            _check_record(values)
        except (LookupError, TypeError, ValueError, AttributeError) as damage:
            raise DataError(
                f"this is not a complete evaluation report ({damage})", remedy="evaluate the run again"
            ) from None
        return cls(**values, topk=topk)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric, one column per ranking: all, seen and unseen labels."""
        import pandas as pd

        columns = {"all": self.metrics, "seen": self.seen, "unseen": self.unseen}
        values = {name: list(scope.values()) for name, scope in columns.items()}
        return pd.DataFrame({"metric": list(self.metrics)} | values)

    def to_bands_frame(self) -> pd.DataFrame:
        """Return one row per band of every definition, with its contribution to P@k and its recall."""
        import pandas as pd

        tables = {**self.bands, "shots": self.shots}
        rows = [
            {"definition": definition, "band": band, **values}
            for definition, table in tables.items()
            for band, values in table.items()
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        shown = ", ".join(f"{metric} {self.metrics[metric]:.2f}" for metric in ("P@1", "P@5") if metric in self.metrics)
        return f"<{self.method} on {self.dataset}: {shown}>"

    def _repr_html_(self) -> str:
        facts = (
            f"{self.n_documents:,} documents, {self.n_seen_documents:,} with seen and {self.n_unseen_documents:,} with "
            f"unseen labels; PSP with A = {self.propensity.A}, B = {self.propensity.B} ({self.propensity.source})"
        )
        shown = [metric for metric in self.metrics if metric.partition("@")[0] in ("P", "nDCG", "PSP")]
        rows = [
            [
                metric,
                self.metrics[metric],
                html.Bar(self.metrics[metric] / 100),
                self.seen.get(metric),
                self.unseen.get(metric),
            ]
            for metric in shown
        ]
        # Without a true label in the test split a recall of 0 would look like a failure.
        bands = [
            [band, row["labels"], row["test_positives"], row["recall@5"], html.Bar(row["recall@5"] / 100)]
            for band, row in self.bands.get("absolute", {}).items()
            if row["test_positives"]
        ]
        parts = [
            html.render_heading(f"{self.method} on {self.dataset}"),
            html.render_paragraph(facts),
            html.render_table(["percent", "all labels", "", "seen", "unseen"], rows, digits=2),
            html.render_table(["band", "labels", "test positives", "recall@5", ""], bands, digits=2) if bands else "",
            html.render_paragraph(describe_calibration(self.calibration)) if self.calibration else "",
            *(html.render_paragraph(f"{scope}: {note}") for scope, note in self.notes.items()),
        ]
        return "".join(parts)


_ROUNDED = ("metrics", "seen", "unseen", "shots", "bands")
_BAND_FIGURES = ("labels", "test_positives", "hits@5", "recall@5", "contribution@5")


def _check_record(values: dict[str, Any]) -> None:
    """Refuse what cards, reports and pages could not show; a file may come from anywhere."""
    numbers = [values[name] for name in ("predict_seconds", "predict_ms_per_document")]
    numbers += [values["propensity"].A, values["propensity"].B]
    for scope in ("metrics", "seen", "unseen"):
        numbers += [values[scope][figure] for figure in HEADLINE_METRICS] + list(values[scope].values())
    for table in (values["shots"], *values["bands"].values()):
        numbers += [row[figure] for row in table.values() for figure in _BAND_FIGURES]
        numbers += [number for row in table.values() for number in row.values()]
    numbers += [number for curve in values["curves"].values() for number in curve]
    numbers += list(values["diagnostics"].values())
    counts = [value for name, value in values.items() if name == "k" or name.startswith("n_")]
    texts = [values["method"], values["dataset"], values["propensity"].source, values["definitions"]["absolute"]]
    texts += [*values["definitions"].values(), *values["notes"].values(), *values["notes"]]
    numbers += counts
    # Thousands of figures in the records of a few runs: without a step of Python's for each of them.
    if not set(map(type, numbers)) <= {int, float} or any(map(MAX_FIGURE.__lt__, map(abs, numbers))):
        raise ValueError("a figure is not a number")
    if not all(type(count) is int for count in counts) or not all(isinstance(text, str) for text in texts):
        raise ValueError("a count or a text is something else")
    if len({len(curve) for curve in values["curves"].values()}) > 1 or not {"k", "P", "recall_macro"} <= {
        *values["curves"]
    }:
        raise ValueError("a curve is incomplete")
    if "absolute" not in values["bands"]:
        raise ValueError("the bands are missing")
    check_calibration_figures(values["calibration"])


def evaluate(method: Predictor, dataset: Dataset, *, k: int = 100, callbacks: Iterable[Callback] = ()) -> EvalReport:
    """Predict the test split and measure it.

    Parameters
    ----------
    k : int
        Labels predicted per document, never fewer than the metrics need.

    Returns
    -------
    EvalReport
        P@k, nDCG@k, PSP@k and more for all, seen and unseen labels; `to_frame()` is the table.
    """
    test, frequencies = dataset.test, dataset.train.label_frequencies
    q = compute_inverse_propensities(frequencies, len(dataset.train), dataset.propensity)
    k, notes = max(k, *KS), dict[str, str]()
    with listen(callbacks):
        topk, seconds = _predict_timed(method, test, k)
        _check_labels(method, dataset)
        if not method.capabilities.zero_shot:
            topk = _drop_untrained(topk, frequencies, notes)
        seen, n_seen = _measure_seen(method, test, topk, frequencies, q, notes)
        unseen, n_unseen = _measure_unseen(method, test, frequencies, q, notes)
        diagnostics = {name: float(value) for name, value in method.diagnose(test).items()}
    placement = place_labels(topk, test.Y)
    schemes = {"absolute": make_absolute_bands(frequencies), "share": make_share_bands(frequencies)}
    shots = make_shot_bands(frequencies)
    n_without = int((placement.n_true == 0).sum())
    if n_without:
        notes["documents"] = (
            f"{n_without} documents have no true label; they count as 0 in the means over all documents"
        )
    return EvalReport(
        method=type(method).__name__,
        dataset=dataset.name,
        k=k,
        n_documents=len(test),
        n_without_labels=n_without,
        n_filter_pairs=0 if test.filter_pairs is None else len(test.filter_pairs),
        n_seen_documents=n_seen,
        n_unseen_documents=n_unseen,
        propensity=dataset.propensity,
        metrics=evaluate_placement(placement, q),
        seen=seen,
        unseen=unseen,
        shots=tabulate_bands(placement, shots),
        bands={name: tabulate_bands(placement, bands) for name, bands in schemes.items()},
        curves=compute_curves(placement),
        definitions={name: bands.definition for name, bands in {**schemes, "shots": shots}.items()},
        notes=notes,
        diagnostics=diagnostics,
        predict_seconds=seconds,
        predict_ms_per_document=1000.0 * seconds / max(len(test), 1),
        calibration={} if topk.probabilities is None else measure_calibration(topk, placement, frequencies),
        topk=topk,
    )


def _predict_timed(method: Predictor, test: Split, k: int) -> tuple[TopK, float]:
    # One document outside the clock: compiling kernels and building an index on first use is no cost of a document.
    method.predict(test.take(range(min(1, len(test)))), k)
    proba = getattr(method, "calibration_", None) is not None
    start = time.perf_counter()
    topk = method.predict(test, k, proba=True) if proba else method.predict(test, k)
    return topk, time.perf_counter() - start


def _check_labels(method: Predictor, dataset: Dataset) -> None:
    if method.labels_.names[: len(dataset.labels)] != dataset.labels.names:
        raise DataError(
            f"the model was trained on other labels than those of {dataset.name}",
            remedy="evaluate it on the dataset it was trained on",
        )


def _drop_untrained(topk: TopK, frequencies: np.ndarray, notes: dict[str, str]) -> TopK:
    listed = topk.ids != MISSING
    untrained = listed & (frequencies[np.where(listed, topk.ids, 0)] == 0)
    if not untrained.any():
        return topk
    notes["all"] = (
        f"{int(untrained.sum())} predictions were labels without a training document; the method cannot score them, so "
        "they were dropped"
    )
    return topk.where(~untrained)


def _measure_seen(
    method: Predictor, test: Split, topk: TopK, frequencies: np.ndarray, q: np.ndarray, notes: dict[str, str]
) -> tuple[dict[str, float], int]:
    """Return the metrics among labels with a training document, and how many documents they are averaged over."""
    truth, rows = _select_truth(test.Y, frequencies > 0)
    if len(rows) == 0:
        notes["seen"] = "no test document has a label that occurs in training"
        return _make_zero_metrics(q), 0
    if method.capabilities.zero_shot and (frequencies == 0).any():
        found = method.predict(test.take(rows), max(KS), among=np.flatnonzero(frequencies))
    else:  # the list over all labels holds seen labels only
        found = TopK(topk.ids[rows], topk.scores[rows], topk.labels)
    return evaluate_placement(place_labels(found, truth), q), len(rows)


def _measure_unseen(
    method: Predictor, test: Split, frequencies: np.ndarray, q: np.ndarray, notes: dict[str, str]
) -> tuple[dict[str, float], int]:
    """Return the metrics among labels without a training document, and how many documents they are averaged over."""
    truth, rows = _select_truth(test.Y, frequencies == 0)
    if not (frequencies == 0).any():
        notes["unseen"] = "every label occurs in training"
    elif len(rows) == 0:
        notes["unseen"] = "no test document has a label that is unseen in training"
    elif not method.capabilities.zero_shot:
        notes["unseen"] = f"{type(method).__name__} cannot predict labels that it has not seen in training"
    else:
        found = method.predict(test.take(rows), max(KS), among=np.flatnonzero(frequencies == 0))
        return evaluate_placement(place_labels(found, truth), q), len(rows)
    return _make_zero_metrics(q), len(rows)


def _select_truth(Y: sparse.csr_array, wanted: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the true labels among the `wanted` ones (a mask) of documents that have one, and those rows."""
    truth = keep_entries(Y, wanted[Y.indices] & (Y.data != 0))
    rows = np.flatnonzero(np.diff(truth.indptr))
    return truth[rows], rows


def _make_zero_metrics(q: np.ndarray) -> dict[str, float]:
    """Return every metric at 0, under the same keys as everywhere."""
    return evaluate_placement(place_labels(TopK.make_empty(0, 1), sparse.csr_array((0, len(q)))), q)


def _round_figures(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _round_figures(item) for key, item in value.items()}
    return round(value, 2) if isinstance(value, float) else value
