"""The table of published results: complete, in range, and found under any spelling."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from xcwork.data.propensity_constants import normalise_name
from xcwork.published import ALIASES, find_published_results


@pytest.fixture(scope="module")
def rows():
    with files("xcwork.published").joinpath("results.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_row_has_a_source_and_plausible_numbers(rows):
    assert len(rows) > 200
    for row in rows:
        values = {name: float(value) for name, value in row.items() if "@" in name and value}
        assert row["dataset"]
        assert row["method"]
        assert row["source"]
        assert "P@1" in values
        assert all(0 < value < 100 for value in values.values())
        listed = [values[f"P@{k}"] for k in (1, 3, 5) if f"P@{k}" in values]
        assert listed == sorted(listed, reverse=True)


def test_no_row_stands_there_twice(rows):
    keys = [(row["dataset"], row["method"], row["setting"], row["source"]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_names_are_found_under_any_spelling(rows):
    names = {normalise_name(row["dataset"]) for row in rows}
    assert all(normalise_name(name) in names for name in ALIASES.values())
    assert len(find_published_results("eurlex57k")) == len(find_published_results("GZ_EURLex-4.3k")) > 10
    assert len(find_published_results("my own data")) == 0
    tuned = find_published_results("EURLEX57K").set_index("method").loc["ZestXML-tuned"]
    assert tuned[["P@1", "P@3", "P@5", "nDCG@1", "PSP@1"]].tolist() == [91.42, 82.36, 69.50, 91.42, 48.01]
