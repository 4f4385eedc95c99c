"""Benchmark tables in the texts are what the benchmarks wrote, and say what they mean."""

from __future__ import annotations

import sys

from tests.support.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import benchmark_tables
import markdown_tables


def test_every_text_shows_the_figures_of_the_results() -> None:
    for name in benchmark_tables.TEXTS:
        text = (ROOT / name).read_text("utf-8")
        assert "<!-- table: " in text, name
        assert benchmark_tables.filled(text) == text, f"{name}: run python scripts/benchmark_tables.py"


def test_results_name_no_folder_of_the_machine_they_come_from() -> None:
    for path in benchmark_tables.RESULTS.glob("*.json"):
        text = path.read_text("utf-8")
        assert "/home/" not in text, path.name
        assert "/tmp/" not in text, path.name


def test_numbers_are_written_for_people() -> None:
    numbers = (None, float("nan"), 0.0, 0.0123, 1.234, 12.34, 123.4, 12345, 12345.6)
    shown = [markdown_tables.figure(number) for number in numbers]
    assert shown == ["–", "–", "0", "0.0123", "1.23", "12.3", "123", "12,345", "12,346"]
    assert markdown_tables.figure(7.5, "P@1") == "7.50"


def test_the_best_of_a_column_is_bold_and_empty_columns_are_left_out() -> None:
    rows = [{"system": "a", "P@1": 50.0, "s": 2.0}, {"system": "b", "P@1": 40.0, "s": 1.0}]
    columns = {"system": ("system", None), "P@1": ("P@1", max), "seconds": ("s", min), "gone": ("x", None)}
    assert markdown_tables.table(rows, columns).splitlines() == [
        "| system | P@1 | seconds |",
        "| --- | --: | --: |",
        "| a | **50.00** | 2 |",
        "| b | 40.00 | **1** |",
    ]
