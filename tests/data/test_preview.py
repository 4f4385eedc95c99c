"""The preview of a table: columns found by name or guessed by content, without reading the whole file."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from xcwork.data.card import describe
from xcwork.data.load import load_dataset
from xcwork.data.readers.columns import read_table
from xcwork.data.readers.preview import PREVIEW_RECORDS, preview_table
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
    found = preview_table(table)
    assert (found.text_columns, found.labels_column, found.needs_options) == (["title", "text"], "tags", False)
    assert found.texts[1] == "note 1\nwords about tea"
    assert found.labels[0] == ["a", "b"]
    dataset = load_dataset(table)
    assert {*dataset.train.texts, *dataset.test.texts} == set(found.texts)


def test_only_the_first_records_are_read(table: Path) -> None:
    assert len(read_table(table, max_records=3)) == 3
    assert len(read_table(table)) == len(ROWS)


def test_a_file_damaged_further_down_can_be_previewed(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("text,labels\n" + "fine words,a\n" * (PREVIEW_RECORDS + 1) + '"torn')
    assert len(preview_table(path).texts) == PREVIEW_RECORDS


def test_unusual_names_are_guessed_by_content(tmp_path: Path) -> None:
    path = tmp_path / "forum.csv"
    rows = [
        f"{i},how does one cook {'rice' if i % 2 else 'tea'} well?,{'food' if i % 2 else 'drink'}" for i in range(20)
    ]
    path.write_text("\n".join(["number,inquiry,topic", *rows]) + "\n")
    found = preview_table(path)
    assert (found.text_columns, found.labels_column, found.needs_options) == (["inquiry"], "topic", True)
    corrected = preview_table(path, text_columns=["topic"], labels_column="inquiry", separator="")
    assert corrected.texts[0] == "drink"
    assert corrected.labels[0] == ["how does one cook tea well?"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"title": "a", "tags": [{"iso": "en"}]}, {"title": "b", "tags": []}], "the fields are 'iso'"),
        ([{"title": [1, 2], "tags": ["x"]}], "text is expected"),
        ([{"title": "a", "tags": 2.5}], "neither a name nor a whole number"),
    ],
)
def test_columns_are_known_even_where_they_cannot_be_read(tmp_path: Path, rows: list[dict], sentence: str) -> None:
    path = tmp_path / "films.jsonl"
    path.write_text("".join(json.dumps(row | {"genres": ["drama"], "plot": "words"}) + "\n" for row in rows))
    found = preview_table(path)
    assert (found.columns, found.text_columns) == (["title", "tags", "genres", "plot"], ["title"])
    assert (found.labels_column, found.texts, found.labels) == ("tags", [], [])
    assert sentence in str(found.error)
    corrected = preview_table(path, text_columns=["plot"], labels_column="genres")
    assert corrected.error is None
    assert corrected.labels == [["drama"]] * len(rows)


def test_records_as_python_spells_them_are_previewed(tmp_path: Path) -> None:
    path = tmp_path / "films.csv"
    films = [[{"id": 28, "name": "Action"}, {"id": 12, "name": "Adventure"}], [{"id": 28, "name": "Action"}]]
    pd.DataFrame({"title": ["one", "two"], "keywords": map(repr, films)}).to_csv(path, index=False)
    found = preview_table(path)
    assert found.labels == [["Action", "Adventure"], ["Action"]]
    assert found.how == "Python lists of records, names from 'name'"


def test_the_preview_says_what_the_cells_could_mean_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("text,labels\n" + "words,Boston\n" * 20 + 'words,"Washington, DC"\n' * 10)
    found = preview_table(path)
    assert {name for names in found.labels for name in names} == {"Boston", "Washington, DC"}
    assert "10 of 30 cells of 'labels' contain `,`" in found.notes[0]
    assert preview_table(path, separator=",").notes == []


def test_the_whole_column_decides_and_the_card_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    rows = ["words,Boston\n"] * PREVIEW_RECORDS + [f'words,"{a}, {b}"\n' for a in "abcdef" for b in "abcdef" if a != b]
    path.write_text("text,labels\n" + "".join(f"number{i} {row}" for i, row in enumerate(rows)))
    assert preview_table(path).how == "one label per cell"
    dataset = load_dataset(path, home=tmp_path)
    assert "names separated by `,`" in describe(dataset).source
    assert dataset.labels.names == ["Boston", *"abcdef"]


def test_a_single_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lone.csv"
    path.write_text("text\nwords\n")
    with pytest.raises(DataError, match="one column"):
        preview_table(path)
