"""The cells of a labels column: numbers, lists and records, and what the card says about them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from xcwork.data.card import describe
from xcwork.data.load import load_dataset
from xcwork.data.readers.columns import RecordTable
from xcwork.data.readers.label_cells import LabelCells, split_labels
from xcwork.errors import DataError

FILMS = [
    [{"id": 28, "name": "Action"}, {"id": 12, "name": "Adventure"}],
    [{"id": 28, "name": "Action"}],
    [],
    [{"id": 18, "name": "Drama, Western"}],
]
NAMES = [["Action", "Adventure"], ["Action"], [], ["Drama, Western"]]


def split(cells: list[object], separator: str | None = None, label_field: str | None = None) -> LabelCells:
    table = RecordTable.from_columns(Path("films.csv"), {"genres": cells}, list(range(2, len(cells) + 2)))
    return split_labels([table], "genres", separator, label_field)


def refusal(cells: list[object], **options: str) -> DataError:
    with pytest.raises(DataError) as caught:
        split(cells, **options)
    return caught.value


@pytest.mark.parametrize(
    ("spell", "how"),
    [
        (json.dumps, "JSON lists of records, names from 'name'"),
        (repr, "Python lists of records, names from 'name'"),
        (list, "lists of records, names from 'name'"),
    ],
)
def test_records_give_their_names(spell, how):
    found = split([spell(film) for film in FILMS])
    assert (found.labels, found.how, found.notes) == ([NAMES], how, [])


def test_a_single_record_is_one_label():
    assert split(['{"name": "Alien"}', '{"name": "Rocky"}']).labels == [[["Alien"], ["Rocky"]]]
    assert split([{"id": 3}, None]).labels == [[["3"], []]]


def test_the_field_of_the_names_is_one_that_all_records_have():
    cells = [[{"name": "x", "uri": "u1"}], [{"uri": "u2"}]]
    assert split(cells).labels == [[["u1"], ["u2"]]]
    assert split([[{"id": 1, "slug": "a-film"}]], label_field="slug").labels == [[["a-film"]]]


def test_records_without_a_name_are_a_sentence_with_their_fields():
    error = refusal([[{"name": "x"}], [{"iso": "en", "count": 3}]])
    assert error.line == 3
    assert "the fields are 'iso', 'count'" in error.problem
    assert "label_field" in error.remedy
    assert "no field 'slug'" in str(refusal([[{"name": "x"}]], label_field="slug"))


def test_whole_numbers_are_labels_however_they_are_written():
    cells = [3, 0, 3.0, [3, 7], "5", float("nan"), None, "", [3.0]]
    assert split(cells).labels == [[["3"], ["0"], ["3"], ["3", "7"], ["5"], [], [], [], ["3"]]]


@pytest.mark.parametrize("cell", [2.5, True, [1, 2.5], [None], [["a"]], float("inf")])
def test_what_is_no_label_is_refused_where_it_stands(cell):
    error = refusal(["a", cell])
    assert error.line == 3
    assert "is not a list of labels" in error.problem
    assert "neither a name nor a whole number" in error.problem


def test_numbers_in_json_lines_become_a_dataset(tmp_path: Path) -> None:
    file = tmp_path / "numbers.jsonl"
    file.write_text("".join(json.dumps({"text": f"words number{i}", "label": i % 3}) + "\n" for i in range(30)))
    assert load_dataset(file, home=tmp_path).labels.names == ["0", "1", "2"]


def written(path: Path, cells: list[str], header: tuple[str, str] = ("overview", "genres")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *((f"words number{i}", cell) for i, cell in enumerate(cells))])
    return path


def test_a_csv_of_films_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "films.csv", [repr(film) for film in FILMS] * 5)
    dataset = load_dataset(file, home=tmp_path, text_column="overview", labels_column="genres")
    assert dataset.labels.names == ["Action", "Adventure", "Drama, Western"]
    assert "Python lists of records, names from 'name'" in dataset.source


@pytest.mark.parametrize(
    ("cells", "labels", "how", "note"),
    [
        (
            ["physics, chemistry"] * 99 + ["C|C++, math"],
            ["C|C++", "chemistry", "math", "physics"],
            "names separated by `,`",
            "1 of 100 cells of 'tags' contain `|`: the names contain it; separator='|' would",
        ),
        (
            ["Boston"] * 60 + ["Washington, DC"] * 40,
            ["Boston", "Washington, DC"],
            "one label per cell",
            "40 of 100 cells of 'tags' contain `,`: these cells are read as one label each; separator=',' would",
        ),
        (
            ["New York", "Los Angeles"] * 10,
            ["Los Angeles", "New York"],
            "one label per cell",
            "20 of 20 cells of 'tags' contain a space and are read as one label each; separator=' ' would",
        ),
    ],
)
def test_the_card_shows_the_decision_and_the_option_against_it(tmp_path: Path, cells, labels, how, note) -> None:
    file = written(tmp_path / "notes.csv", cells, ("text", "tags"))
    card = describe(load_dataset(file, home=tmp_path))
    assert load_dataset(file, home=tmp_path).labels.names == labels
    assert how in card.source
    (found,) = [each for each in card.notes if note in each]
    assert found in card.to_text()
    assert found in card.to_dict()["notes"]
    assert describe(load_dataset(file, home=tmp_path)).notes == card.notes  # from the cache
    separator = note.split("separator=")[1][1]
    told = load_dataset(file, home=tmp_path, separator=separator)
    assert told.notes == ()
    assert len(told.labels) != len(labels)


def test_a_column_without_doubt_has_no_note(tmp_path: Path) -> None:
    file = written(tmp_path / "clear.csv", ["a|b", "b|c", "c|a", "a"] * 10, ("text", "tags"))
    assert load_dataset(file, home=tmp_path).notes == ()


def test_all_tables_together_decide(tmp_path: Path) -> None:
    written(tmp_path / "train.csv", [f"{a}, {b}" for a in "abcdef" for b in "abcdef" if a != b], ("text", "tags"))
    written(tmp_path / "test.csv", ["a|b"], ("text", "tags"))
    assert load_dataset(tmp_path, home=tmp_path / "home").labels.names == ["a", "a|b", "b", "c", "d", "e", "f"]
