"""Runs in one table as people compare them: quality beside its highest possible value, unseen labels, and cost.

The figures are those of `comparison`: best values, and all that a paired bootstrap over the test documents cannot tell
from them, are marked. `unseen P@5` lets only unseen labels compete; `unseen found` is the share of the unseen true
labels that stand among the first five when all labels compete, which is what a user of the run sees. The range of P@1
is Wilson's, because P@1 is a share of documents.

Every export holds the digits that are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xcwork.analysis.comparison import SCOPES, Entry, find_comparable, make_comparison_table
from xcwork.core.dataset import Dataset
from xcwork.export.tables import BOLD, render_csv, to_latex, to_markdown
from xcwork.metrics.calibration import compute_wilson_interval
from xcwork.metrics.ranking import compute_highest_precision, place_labels
from xcwork.metrics.significance import compute_differences

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("P@1", "P@3", "P@5", "PSP@5")
UNSEEN_PRECISION = "unseen P@5"
UNSEEN_FOUND = "unseen found"
TRAINING = "Training"
MODEL = "Model"
SPEED = "ms per document"
FEW = 5  # labels per document among which an unseen one counts as found
ASCENDING = frozenset({TRAINING, MODEL, SPEED, "run"})  # columns whose small values come first


@dataclass(frozen=True)
class RunColumn:
    """One column of figures."""

    name: str
    note: str = ""  # below the name: the highest possible value, or what competes


@dataclass(frozen=True)
class RunRow:
    """One run: figures by the name of their column, None where there is none."""

    name: str
    method: str
    values: dict[str, float | None]
    low: float  # the 95 % range of P@1
    high: float
    best: frozenset[str]  # columns in which it is the best, or not distinguishable from it
    is_comparable: bool

    def format_cell(self, column: str) -> str:
        """Return a figure as it is shown."""
        return format_figure(column, self.values[column])


@dataclass(frozen=True)
class RunTable:
    """Runs and their figures; those that were tested on other data come last."""

    dataset: str
    scope: str  # a value of SCOPES
    n_documents: int  # that have a label of the scope
    columns: tuple[RunColumn, ...]
    rows: tuple[RunRow, ...]

    @property
    def caption(self) -> str:
        """What the table shows, as it stands below it in a paper."""
        return (
            f"Results on {self.dataset} in percent, {self.scope} ({self.n_documents:,} test documents). Bold: the "
            "best, and everything that a paired bootstrap over the documents does not separate from it (95 %)."
        )

    def sort(self, column: str) -> list[RunRow]:
        """Return the rows by a column, best first; a minus before its name turns the order round."""
        name, turned = column.removeprefix("-"), column.startswith("-")

        def get_key(row: RunRow) -> tuple[bool, float | str]:
            if name == "run":
                return False, row.name.lower()
            value = row.values.get(name)
            if value is None:
                return True, 0.0  # what is not known comes last either way
            return False, value if (name in ASCENDING) != turned else -value

        rows = sorted(self.rows, key=get_key)
        return rows[::-1] if name == "run" and turned else rows

    def to_csv(self) -> str:
        """Return CSV for a spreadsheet: shown figures, then the exact costs as numbers."""
        frame = self._make_frame()
        for name, title in ((TRAINING, "training, s"), (MODEL, "model, MB")):
            values = [row.values[name] for row in self.rows]
            frame[title] = [None if value is None else round(value, 3) for value in values]
        return render_csv(frame)

    def to_markdown(self) -> str:
        """Return Markdown with the shown digits, best values bold."""
        frame = self._make_frame(with_notes=True)
        return to_markdown(frame, emphasis=self._mark_cells(frame), numeric=self._find_figures(frame))

    def to_latex(self) -> str:
        """Return a table for a paper, with caption and in booktabs style."""
        frame = self._make_frame(with_notes=True)
        marks, figures = self._mark_cells(frame), self._find_figures(frame)
        return to_latex(frame, emphasis=marks, numeric=figures, caption=self.caption, label="tab:runs")

    def _make_frame(self, *, with_notes: bool = False) -> pd.DataFrame:
        import pandas as pd

        titles = [f"{c.name} ({c.note})" if with_notes and c.note else c.name for c in self.columns]
        cells = [[row.name, row.method, *(row.format_cell(c.name) for c in self.columns)] for row in self.rows]
        return pd.DataFrame(cells, columns=["run", "method", *titles])

    def _mark_cells(self, frame: pd.DataFrame) -> np.ndarray:
        marks = np.full(frame.shape, "", dtype=object)
        for at, row in enumerate(self.rows):
            for place, column in enumerate(self.columns, start=2):
                marks[at, place] = BOLD if column.name in row.best else ""
        return marks

    @staticmethod
    def _find_figures(frame: pd.DataFrame) -> list[bool]:
        return [False, False] + [True] * (frame.shape[1] - 2)


def make_run_table(entries: Sequence[Entry], dataset: Dataset, *, scope: str = "metrics") -> RunTable:
    """Return the table of `entries`, comparable ones first, in the given order."""
    table = make_comparison_table(entries, dataset, metrics=METRICS, scope=scope, published=False)
    usable = find_comparable(entries, dataset)[0]
    counts = count_labels(dataset, scope)
    has_unseen = bool((dataset.train.label_frequencies == 0).any())
    columns = [RunColumn(name, _note_column(name, counts)) for name in METRICS]
    if has_unseen:
        columns += [RunColumn(UNSEEN_PRECISION, "among unseen"), RunColumn(UNSEEN_FOUND, "among all")]
    columns += [RunColumn(TRAINING), RunColumn(MODEL), RunColumn(SPEED)]
    found, found_best = _measure_unseen(entries, usable, dataset) if has_unseen else ({}, set())
    precisions = [entry.unseen.get("P@5") for entry in entries]
    best_precision = max((precisions[i] or 0.0 for i in usable), default=0.0)
    rows = []
    for at in [*usable, *(at for at in range(len(entries)) if at not in usable)]:
        entry = entries[at]
        values: dict[str, float | None] = {name: getattr(entry, scope).get(name) for name in METRICS}
        if has_unseen:
            values |= {UNSEEN_PRECISION: precisions[at], UNSEEN_FOUND: found.get(at)}
        values |= {TRAINING: entry.train_seconds, MODEL: entry.model_mb, SPEED: entry.predict_ms_per_document}
        best = {name for name in METRICS if table.emphasis[at, table.frame.columns.get_loc(name)]}
        if at in usable and best_precision and round(precisions[at] or 0.0, 1) == round(best_precision, 1):
            best.add(UNSEEN_PRECISION)
        best |= {UNSEEN_FOUND} if at in found_best else set()
        n_right = round((values["P@1"] or 0.0) / 100 * len(counts))
        low, high = compute_wilson_interval(n_right, len(counts))
        rows.append(RunRow(entry.name, entry.method, values, low, high, frozenset(best), at in usable))
    return RunTable(dataset.name, SCOPES[scope], len(counts), tuple(columns), tuple(rows))


def count_labels(dataset: Dataset, scope: str) -> np.ndarray:
    """Return how many labels of a scope each test document has; documents without seen or unseen ones are left out."""
    Y, frequencies = dataset.test.Y, dataset.train.label_frequencies
    if scope == "metrics":
        return np.diff(Y.indptr)
    wanted = (frequencies > 0) if scope == "seen" else (frequencies == 0)
    documents = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    counts = np.bincount(documents[wanted[Y.indices]], minlength=Y.shape[0])
    return counts[counts > 0]


def _note_column(name: str, counts: np.ndarray) -> str:
    if name.startswith("PSP"):
        return "rare count more"
    highest = compute_highest_precision(counts, int(name.rpartition("@")[2]))
    return f"max {highest:.1f}".removesuffix(".0")


def _measure_unseen(
    entries: Sequence[Entry], usable: Sequence[int], dataset: Dataset
) -> tuple[dict[int, float], set[int]]:
    """Return the share of unseen true labels that each run finds among all, and which runs are as good as the best."""
    is_unseen = dataset.train.label_frequencies == 0
    n = len(dataset.test)
    above, total = {}, None
    for at in usable:
        topk = entries[at].topk
        assert topk is not None  # see `find_comparable`
        placement = place_labels(topk, dataset.test.Y)
        unseen = is_unseen[placement.truth.indices]
        total = np.bincount(placement.documents[unseen], minlength=n).astype(np.float64)
        hits = unseen & (placement.ranks <= FEW)
        above[at] = 100.0 * np.bincount(placement.documents[hits], minlength=n)
    if total is None or not total.sum():
        return {}, set()
    shares = {at: float(values.sum() / total.sum()) for at, values in above.items()}
    first = max(shares, key=lambda at: shares[at])
    if not shares[first]:
        return shares, set()
    others = [at for at in usable if at != first]
    best = {first}
    if others:
        differences = np.column_stack([above[first] - above[at] for at in others])
        below = np.column_stack([total] * len(others))
        tested = compute_differences(differences, below, 1000, 0.95, 0)
        best |= {at for at, each in zip(others, tested, strict=True) if not each.significant}
    return shares, best


def format_figure(column: str, value: float | None) -> str:
    """Return a figure of a column as it is shown."""
    if value is None or value != value:
        return "–"
    if column == TRAINING:
        return format_duration(value)
    if column == MODEL:
        return format_megabytes(value)
    return f"{value:.1f}"


def format_duration(seconds: float) -> str:
    """Return a duration with two or three digits: 0.1 s, 26 s, 1.5 min, 6 min, 2.3 h."""
    if seconds < 0.05:
        return "< 0.1 s"
    for size, unit in ((1.0, "s"), (60.0, "min"), (3600.0, "h")):
        amount = seconds / size
        if unit == "h" or amount < 59.5:
            return f"{amount:.0f} {unit}" if amount >= 9.95 or amount == round(amount) else f"{amount:.1f} {unit}"
    raise AssertionError("hours have no upper bound")


def format_megabytes(megabytes: float) -> str:
    """Return a size: 0.3 MB, 148 MB, 1.2 GB."""
    if megabytes >= 999.5:
        return f"{megabytes / 1000:,.1f} GB"
    return f"{megabytes:.0f} MB" if megabytes >= 0.95 else f"{megabytes:.1f} MB"
