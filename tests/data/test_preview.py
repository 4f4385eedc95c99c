"""The preview of a table: columns found by name or guessed by content, without reading the whole file."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from xcwork.data.load import load_dataset
from xcwork.data.readers.preview import RECORDS, preview
from xcwork.data.readers.tables import read_table
from xcwork.errors import DataError

ROWS = [
    {"title": f"note {i}", "text": f"words about {'tea' if i % 2 else 'rice'}", "tags": ["a", "b"]} for i in range(30)
]


@pytest.fixture(params=["csv", "tsv", "jsonl", "parquet"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"notes.{request.param}"
    frame = pd.DataFrame(ROWS)
    if request.param == "parquet":
        frame.to_parquet(path)
    elif request.param == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        frame.assign(tags="a|b").to_csv(path, index=False, sep="\t" if request.param == "tsv" else ",")
    return path


def test_usual_names_are_found_in_every_format(table: Path) -> None:
    found = preview(table)
    assert (found.text_columns, found.labels_column, found.needs_options) == (["title", "text"], "tags", False)
    assert found.texts[1] == "note 1\nwords about tea"
    assert found.labels[0] == ["a", "b"]
    dataset = load_dataset(table)
    assert {*dataset.train.texts, *dataset.test.texts} == set(found.texts)


def test_only_the_first_records_are_read(table: Path) -> None:
    assert len(read_table(table, most=3)) == 3
    assert len(read_table(table)) == len(ROWS)


def test_a_file_damaged_further_down_can_be_previewed(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("text,labels\n" + "fine words,a\n" * (RECORDS + 1) + '"torn')
    assert len(preview(path).texts) == RECORDS


def test_unusual_names_are_guessed_by_content(tmp_path: Path) -> None:
    path = tmp_path / "forum.csv"
    rows = [
        f"{i},how does one cook {'rice' if i % 2 else 'tea'} well?,{'food' if i % 2 else 'drink'}" for i in range(20)
    ]
    path.write_text("\n".join(["number,question,topic", *rows]) + "\n")
    found = preview(path)
    assert (found.text_columns, found.labels_column, found.needs_options) == (["question"], "topic", True)
    corrected = preview(path, text_columns=["topic"], labels_column="question", separator="")
    assert corrected.texts[0] == "drink"
    assert corrected.labels[0] == ["how does one cook tea well?"]


def test_a_single_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lone.csv"
    path.write_text("text\nwords\n")
    with pytest.raises(DataError, match="one column"):
        preview(path)
