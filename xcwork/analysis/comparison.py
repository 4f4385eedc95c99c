"""Runs side by side: who is best, by how much, and whether that is more than chance.

The table is that of the papers: the best value of a metric in bold, and in italics every value that a paired bootstrap
over the test documents cannot tell from it. All comparisons of a table use the same draws of documents, so they are one
pass: each column is the difference between the best run and another one in one metric.

Runs are compared only where they were measured on the same data; others keep their numbers, without marks. Published
results are greyed rows below that take no part in the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.propensity import compute_inverse_propensities
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError
from xcwork.export.tables import BOLD, ITALIC, render_csv, to_latex, to_markdown
from xcwork.metrics.ranking import HEADLINE_METRICS, Ratio, compute_document_ratios, place_labels
from xcwork.metrics.significance import compute_differences
from xcwork.published import find_published_results

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.runs import Run

COSTS = {"train_seconds": "training, s", "model_mb": "model, MB", "predict_ms_per_document": "ms per document"}
SCOPES = {"metrics": "all labels", "seen": "labels seen in training", "unseen": "unseen labels"}


@dataclass(frozen=True, eq=False)
class Entry:
    """A measured run: its numbers and, where runs are to be compared, its predictions."""

    name: str
    method: str
    metrics: Mapping[str, float]
    seen: Mapping[str, float] = field(default_factory=dict)
    unseen: Mapping[str, float] = field(default_factory=dict)
    topk: TopK | None = None
    fingerprint: str | None = None  # of the data it was measured on
    train_seconds: float | None = None
    model_mb: float | None = None
    predict_ms_per_document: float | None = None

    @classmethod
    def from_run(cls, run: Run, *, predictions: bool = True) -> Entry:
        """Return the entry of a run that has been evaluated."""
        report, record, size = run.read_report(), run.to_dict(), run.status.model_bytes
        return cls(
            name=run.name,
            method=record["method"],
            metrics=report.metrics,
            seen=report.seen,
            unseen=report.unseen,
            topk=run.read_topk() if predictions else None,
            fingerprint=(run.config.get("dataset") or {}).get("fingerprint"),
            train_seconds=record["train_seconds"],
            model_mb=None if size is None else size / 1e6,
            predict_ms_per_document=record["predict_ms_per_document"],
        )


def make_entries(runs: Iterable[Run], *, predictions: bool = True) -> list[Entry]:
    """Return the entries of runs; runs that share a name are called by their id."""
    runs = list(runs)
    names = [run.name for run in runs]
    return [
        replace(Entry.from_run(run, predictions=predictions), name=name if names.count(name) == 1 else run.id)
        for run, name in zip(runs, names, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class ComparisonTable:
    """Runs and metrics. `emphasis` has the shape of `frame`; the last `n_published` rows are from the literature."""

    frame: pd.DataFrame
    emphasis: np.ndarray  # "", BOLD or ITALIC
    n_published: int
    notes: tuple[str, ...]

    def to_csv(self) -> str:
        """Return CSV for a spreadsheet; text that looks like a formula is defused."""
        return render_csv(self.frame)

    def to_markdown(self) -> str:
        """Return Markdown, best values bold, others not significantly different in italics; without empty columns."""
        frame, emphasis = self._drop_empty_columns()
        return to_markdown(frame, emphasis=emphasis)

    def to_latex(self) -> str:
        """Return the same for a paper, in booktabs style."""
        frame, emphasis = self._drop_empty_columns()
        return to_latex(frame, emphasis=emphasis)

    def _drop_empty_columns(self) -> tuple[pd.DataFrame, np.ndarray]:
        filled = self.frame.notna().any(axis=0).to_numpy()
        return self.frame.loc[:, filled], self.emphasis[:, filled]


def make_comparison_table(
    entries: Sequence[Entry],
    dataset: Dataset | None = None,
    *,
    metrics: Sequence[str] = HEADLINE_METRICS,
    scope: str = "metrics",
    published: bool = True,
    n_resamples: int = 1000,
    seed: int = 0,
) -> ComparisonTable:
    """Return the runs of `entries` with their metrics and costs, the best marked.

    With `dataset` (the one the runs were measured on) differences are tested and published results added. Tests are
    made for the ranking of all labels (`scope="metrics"`), whose predictions are stored.
    """
    import pandas as pd

    if not entries:
        raise ConfigError("a comparison needs at least one run")
    if scope not in SCOPES:
        raise ConfigError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    rows: list[dict[str, Any]] = [
        {
            "run": entry.name,
            "method": entry.method,
            **{m: getattr(entry, scope).get(m) for m in metrics},
            **{title: getattr(entry, name) for name, title in COSTS.items()},
            "setting": None,
            "source": None,
        }
        for entry in entries
    ]
    from_papers: list[dict[str, Any]] = []
    if published and dataset is not None and scope == "metrics":
        from_papers = find_published_results(dataset.name).to_dict("records")
    for row in from_papers:
        known = {m: row[m] for m in metrics if m in row}
        rows.append({"run": "published", **known, **{name: row[name] for name in ("method", "setting", "source")}})
    frame = pd.DataFrame(rows, columns=["run", "method", *metrics, *COSTS.values(), "setting", "source"])
    if not from_papers:
        frame = frame.drop(columns=["setting", "source"])
    frame = frame.astype(dict.fromkeys([*metrics, *COSTS.values()], float))
    emphasis, notes = _mark_best(frame, entries, dataset, metrics, scope, n_resamples, seed)
    return ComparisonTable(frame, emphasis, len(from_papers), notes)


def _mark_best(
    frame: pd.DataFrame,
    entries: Sequence[Entry],
    dataset: Dataset | None,
    metrics: Sequence[str],
    scope: str,
    n_resamples: int,
    seed: int,
) -> tuple[np.ndarray, tuple[str, ...]]:
    marks = np.full(frame.shape, "", dtype=object)
    usable, notes = find_comparable(entries, dataset)
    if dataset is None or len(usable) < 2:
        return marks, tuple(notes)
    values = frame.iloc[usable][list(metrics)].to_numpy(float)  # (n_usable, n_metrics)
    best = np.argmax(np.nan_to_num(values, nan=-np.inf), axis=0)
    different = np.ones(values.shape, dtype=bool)
    if scope == "metrics":
        different = _test_against_best(best, [entries[i] for i in usable], dataset, metrics, n_resamples, seed)
    else:
        notes.append(f"differences for {SCOPES[scope]} are not tested")
    for at, metric in enumerate(metrics):
        column = frame.columns.get_loc(metric)
        for row, position in enumerate(usable):
            if np.isnan(values[row, at]):
                continue
            if values[row, at] == values[best[at], at]:
                marks[position, column] = BOLD
            elif not different[row, at]:
                marks[position, column] = ITALIC
    return marks, tuple(notes)


def find_comparable(entries: Sequence[Entry], dataset: Dataset | None) -> tuple[list[int], list[str]]:
    """Return positions of the entries that were measured on `dataset`, and what keeps the others out."""
    if dataset is None:
        return [], ["the dataset is not available, so differences are not tested"]
    usable, notes = [], []
    for position, entry in enumerate(entries):
        if entry.topk is None:
            notes.append(f"{entry.name} has no stored predictions, so it is not compared")
        elif not dataset.recognises(entry.fingerprint) or len(entry.topk) != len(dataset.test):
            notes.append(f"{entry.name} was measured on other data, so it is not compared")
        else:
            usable.append(position)
    return usable, notes


def _compute_ratios(entry: Entry, dataset: Dataset, metrics: Sequence[str]) -> dict[str, Ratio]:
    assert entry.topk is not None  # see `find_comparable`
    q = compute_inverse_propensities(dataset.train.label_frequencies, len(dataset.train), dataset.propensity)
    ks = sorted({int(metric.rpartition("@")[2]) for metric in metrics})
    return compute_document_ratios(place_labels(entry.topk, dataset.test.Y), q, ks)


def _test_against_best(
    best: np.ndarray, entries: Sequence[Entry], dataset: Dataset, metrics: Sequence[str], n_resamples: int, seed: int
) -> np.ndarray:
    """Return whether each run is significantly different from the best one in each metric, (n_runs, n_metrics)."""
    ratios = [_compute_ratios(entry, dataset, metrics) for entry in entries]
    pairs = [(row, at) for row in range(len(entries)) for at in range(len(metrics)) if row != best[at]]
    above = [
        100.0 * (ratios[best[at]][metrics[at]].numerator - ratios[row][metrics[at]].numerator) for row, at in pairs
    ]
    below = [ratios[row][metrics[at]].denominator for row, at in pairs]
    found = compute_differences(np.column_stack(above), np.column_stack(below), n_resamples, 0.95, seed)
    different = np.zeros((len(entries), len(metrics)), dtype=bool)
    for (row, at), difference in zip(pairs, found, strict=True):
        different[row, at] = difference.significant
    return different


def compute_deltas(
    entries: Sequence[Entry],
    reference: int,
    dataset: Dataset,
    *,
    metrics: Sequence[str] = HEADLINE_METRICS,
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return every other run minus the one at `reference`, with 95 % interval, p-value and significance."""
    import pandas as pd

    usable, _ = find_comparable(entries, dataset)
    if reference not in usable:
        raise ConfigError(f"{entries[reference].name} cannot be the reference: it was not measured on {dataset.name}")
    base, others = _compute_ratios(entries[reference], dataset, metrics), [i for i in usable if i != reference]
    columns = ["run", "metric", "value", "reference", "difference", "low", "high", "p_value", "significant"]
    rows, above, below = [], [], []
    for position in others:
        ratios = _compute_ratios(entries[position], dataset, metrics)
        for metric in metrics:
            rows.append(
                (entries[position].name, metric, ratios[metric].compute_percent(), base[metric].compute_percent())
            )
            above.append(100.0 * (ratios[metric].numerator - base[metric].numerator))
            below.append(base[metric].denominator)
    if not rows:
        return pd.DataFrame(columns=columns)
    found = compute_differences(np.column_stack(above), np.column_stack(below), n_resamples, 0.95, seed)
    tested = [(d.difference, d.low, d.high, d.p_value, d.significant) for d in found]
    return pd.DataFrame([(*row, *test) for row, test in zip(rows, tested, strict=True)], columns=columns)
