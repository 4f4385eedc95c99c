"""The table of runs: highest values, ranges, unseen labels, and exports with the shown digits."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.test_comparison import dataset, entries  # noqa: F401 - fixtures
from tests.analysis.test_errors import dataset_of, ranked
from xcwork.analysis.comparison import Entry
from xcwork.analysis.run_table import (
    SPEED,
    TRAINING,
    UNSEEN_FOUND,
    count_labels,
    format_duration,
    format_megabytes,
    make_run_table,
)


@pytest.fixture
def table(dataset, entries):  # noqa: F811
    return make_run_table(entries, dataset)


def test_heads_name_the_highest_value(table, dataset) -> None:  # noqa: F811
    notes = {column.name: column.note for column in table.columns}
    n_true = np.diff(dataset.test.Y.indptr)
    assert notes["P@5"] == f"max {100 * np.minimum(n_true, 5).mean() / 5:.1f}".removesuffix(".0")
    assert all(row.values["P@1"] <= float(notes["P@1"].removeprefix("max ")) for row in table.rows)
    assert all(row.low <= row.values["P@1"] <= row.high for row in table.rows)


def test_the_best_and_what_cannot_be_told_from_it_are_marked(table) -> None:
    good, near, bad = table.rows
    assert "P@1" in good.best
    assert "P@1" in near.best
    assert not bad.best


def test_exports_hold_the_shown_digits(table) -> None:
    shown = [[row.format_cell(column.name) for column in table.columns] for row in table.rows]
    by_column = list(csv.reader(io.StringIO(table.to_csv())))
    assert [row[2 : 2 + len(table.columns)] for row in by_column[1:]] == shown
    assert by_column[3][0] == "'=bad", "a spreadsheet does not take the name for a formula"
    latex, markdown = table.to_latex(), table.to_markdown()
    for text in (latex, markdown):
        lines = [line for line in text.splitlines() if any(row.name in line for row in table.rows)]
        assert len(lines) == len(shown)
        for line, cells in zip(lines, shown, strict=True):
            plain = line.replace(r"\textless{}", "<").replace("&lt;", "<")
            assert all(cell in plain for cell in cells)
    assert r"\toprule" in latex
    assert rf"\textbf{{{table.rows[0].format_cell('P@1')}}}" in latex
    assert r"\caption{Results on" in latex
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 1


def test_runs_on_other_data_come_last_and_are_not_marked(dataset, entries) -> None:  # noqa: F811
    other = replace(entries[0], name="elsewhere", fingerprint="another")
    table = make_run_table([other, *entries], dataset)
    assert [row.name for row in table.rows] == ["good", "near", "=bad", "elsewhere"]
    assert not table.rows[-1].is_comparable
    assert not table.rows[-1].best


def test_sorting_puts_what_is_better_first_and_what_is_unknown_last(dataset, entries) -> None:  # noqa: F811
    timed = [replace(each, predict_ms_per_document=ms) for each, ms in zip(entries, (3.0, None, 1.0), strict=True)]
    table = make_run_table(timed, dataset)
    assert table.sort("P@1")[-1].name == "=bad"
    assert table.sort("-P@1")[0].name == "=bad"
    assert [row.name for row in table.sort(SPEED)] == ["=bad", "good", "near"]
    assert [row.name for row in table.sort(f"-{SPEED}")] == ["good", "=bad", "near"]
    assert [row.name for row in table.sort("run")] == ["=bad", "good", "near"]
    assert [row.name for row in table.sort("-run")] == ["near", "good", "=bad"]


def test_unseen_labels_count_where_all_labels_compete() -> None:
    data = dataset_of(np.array([[1, 0]] * 4), np.array([[1, 1], [0, 1], [1, 0]]))
    some = {
        name: Entry(name, name, {}, unseen={"P@5": p}, topk=topk, fingerprint=data.fingerprint)
        for name, p, topk in (
            ("all", 20.0, ranked([[0, 1], [1], [0]], 2)),
            ("half", 10.0, ranked([[0], [1], [0]], 2)),
            ("none", None, ranked([[0], [0], [0]], 2)),
        )
    }
    table = make_run_table(list(some.values()), data)
    assert [row.values[UNSEEN_FOUND] for row in table.rows] == [100.0, 50.0, 0.0]
    assert UNSEEN_FOUND in table.rows[0].best
    assert count_labels(data, "unseen").tolist() == [1, 1]
    assert count_labels(data, "seen").tolist() == [1, 1]
    assert count_labels(data, "metrics").tolist() == [2, 1, 1]
    assert table.rows[2].format_cell("unseen P@5") == "–"
    assert table.rows[0].format_cell(TRAINING) == "–"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "< 0.1 s"), (0.12, "0.1 s"), (26.4, "26 s"), (59.6, "1.0 min"), (90, "1.5 min"), (360, "6 min")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_long_durations_and_sizes() -> None:
    assert format_duration(3 * 3600) == "3 h"
    assert [format_megabytes(each) for each in (0.31, 148.2, 1200)] == ["0.3 MB", "148 MB", "1.2 GB"]
