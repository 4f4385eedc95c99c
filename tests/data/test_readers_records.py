"""Tables in other containers: JSON documents, records inside records, Excel workbooks."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.data.readers.columns import read_table
from xcwork.data.readers.json_document import read_json_document
from xcwork.data.readers.preview import preview_table
from xcwork.errors import ConfigError, DataError

RECORDS = [{"title": f"words number{i}", "labels": ["a", "b"][: 1 + i % 2]} for i in range(12)]
COLUMNS = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}


def load(path: Path, **options: Any) -> Dataset:
    return load_dataset(path, home=path.parent, **options)


def get_texts(dataset: Dataset) -> list[str]:
    return sorted([*dataset.train.texts, *dataset.test.texts])


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        "\n\n " + json.dumps(RECORDS, indent="\t").replace("\n", "\r\n") + "\n",
        json.dumps({"version": "1.1", "data": RECORDS}, indent=1),
        json.dumps({"count": 12, "rows": RECORDS, "next": None}),
        json.dumps(COLUMNS),
        json.dumps({name: {str(i): value for i, value in enumerate(values)} for name, values in COLUMNS.items()}),
        "".join(json.dumps(record) + "\n" for record in RECORDS),
    ],
    ids=["list", "indented", "tabs and CRLF", "record with list", "one line", "columns", "pandas", "lines"],
)
def test_shapes_of_json(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes.json").write_text(content, newline="")
    dataset = load(tmp_path / "notes.json")
    assert get_texts(dataset) == sorted(COLUMNS["title"])
    assert dataset.labels.names == ["a", "b"]


records = st.lists(st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=4) | st.integers()), min_size=1)


@given(records, st.sampled_from([None, 0, 2, "\t"]))
def test_a_list_is_read_as_json_reads_it(tmp_path_factory: pytest.TempPathFactory, listed: Any, indent: Any) -> None:
    path = tmp_path_factory.mktemp("json") / "x.json"
    text = json.dumps(listed, indent=indent)
    path.write_text(text)
    found = list(read_json_document(path) or ())
    assert [record for _, record in found] == listed
    if indent == 2:
        assert [line for line, _ in found] == [
            number for number, line in enumerate(text.split("\n"), start=1) if re.match(r"  \{", line)
        ]


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ('[{"title": "a"},\n{"title": }]', 2, "Expecting value"),
        ('[{"title": "a"}\n{"title": "b"}]', 2, "a comma or the end of the list is expected"),
        ('[{"title": "a"},\n', 2, "Expecting value"),
        ('[\n\n{"title": "a"}, 7]', 3, "an entry is a int"),
        ("[" * 5000, 1, "not a JSON list of records"),
        ('[{"title": "a"}] x', 1, "a comma or the end"),
    ],
)
def test_a_broken_list_is_one_sentence_with_its_line(tmp_path: Path, content: str, line: int, part: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError, match=part) as caught:
        load(tmp_path / "x.json")
    assert (caught.value.file, caught.value.line) == (tmp_path / "x.json", line)


def test_a_broken_first_line_is_still_a_broken_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"title": "a", "labels": ["x"]\n{"title": "b", "labels": ["y"]}\n')
    with pytest.raises(DataError, match="line 1: the line is not JSON"):
        load(tmp_path / "x.json")


NESTED = [
    {
        "doc": {"head": {"title": f"words number{i}"}},
        "meta": {"tags": ["a", "b"][: 1 + i % 2], "topics": [{"name": f"t{i % 3}", "of": {"id": i % 2}}]},
    }
    for i in range(12)
]


def test_a_path_is_a_column(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in NESTED))
    options = {"text_column": "doc.head.title"}
    assert load(file, labels_column="meta.tags", **options).labels.names == ["a", "b"]
    dataset = load(file, labels_column="meta.topics.name", **options)
    assert dataset.labels.names == ["t0", "t1", "t2"]
    assert get_texts(dataset) == sorted(f"words number{i}" for i in range(12))
    assert "'doc.head.title', labels from 'meta.topics.name'" in dataset.source
    assert load(file, labels_column="meta.topics", **options).labels.names == ["t0", "t1", "t2"]
    assert load(file, labels_column="meta.topics", label_field="of.id", **options).labels.names == ["0", "1"]
    with pytest.raises(
        DataError, match=r"no column 'meta.tag'; the columns are 'doc', 'doc.head', 'meta', 'meta.tags'"
    ):
        load(file, labels_column="meta.tag", **options)
    shown = preview_table(file, text_columns=["doc.head.title"], labels_column="meta.tags")
    assert shown.error is None
    assert shown.labels[1] == ["a", "b"]


def test_paths_through_json_in_csv_and_names_with_dots(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    cells = [json.dumps({"tags": ["a", "b"][: 1 + i % 2]}).replace('"', '""') for i in range(8)]
    file.write_text("text,meta,v.1\n" + "".join(f'words number{i},"{cell}",x{i % 2}\n' for i, cell in enumerate(cells)))
    assert load(file, labels_column="meta.tags").labels.names == ["a", "b"]
    assert load(file, labels_column="v.1").labels.names == ["x0", "x1"]


def test_a_record_without_the_path_has_no_labels(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    rows = [{"text": f"words {i}", "meta": {"tags": ["a"]} if i % 2 else None} for i in range(8)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = load(file, labels_column="meta.tags")
    assert dataset.train.Y.nnz + dataset.test.Y.nnz == 4


def write_workbook(path: Path, rows: list[list[Any]], sheet: str = "Sheet1") -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra `excel` is not installed")
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_workbook_is_a_table(tmp_path: Path) -> None:
    rows = [
        [],
        ["title", None, "labels", "id"],
        *([f"words number{i}", None, "a|b" if i % 2 else "b|c", i] for i in range(12)),
    ]
    rows.insert(5, [None, None, None])
    file = write_workbook(tmp_path / "notes.xlsx", rows)
    dataset = load(file)
    assert get_texts(dataset) == sorted(f"words number{i}" for i in range(12))
    assert dataset.labels.names == ["a", "b", "c"]
    table = read_table(file)
    assert list(table.columns) == ["title", "labels", "id"]
    assert table.lines[:4] == [3, 4, 5, 7]
    assert len(read_table(file, max_records=3)) == 3


def test_a_workbook_with_numbers_as_labels(tmp_path: Path) -> None:
    file = write_workbook(tmp_path / "n.xlsx", [["text", "label"], *([f"words number{i}", i % 3] for i in range(12))])
    assert load(file).labels.names == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["x.xls", "x.ods"])
def test_other_spreadsheets_are_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0 something")
    with pytest.raises(DataError, match=r"spreadsheets are not read; save it as \.xlsx or as \.csv"):
        load(tmp_path / name)


def test_without_openpyxl_a_sentence_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_workbook(tmp_path / "x.xlsx", [["text", "labels"], ["a", "b"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setattr("xcwork.extras.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"an Excel file needs openpyxl, which is not installed; pip install 'xcwork\[excel\]'"
    ):
        load(file)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a workbook", b"text,labels\na,b\n"])
def test_what_is_no_workbook_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"is empty|not an Excel workbook") as caught:
        load(tmp_path / "x.xlsx")
    assert caught.value.file == tmp_path / "x.xlsx"


def change_workbook(path: Path, change: dict[str, Any]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, change[name](content) if name in change else content)
    path.write_bytes(buffer.getvalue())


SHEET = "xl/worksheets/sheet1.xml"


def test_a_cell_at_the_far_end_takes_no_memory(tmp_path: Path) -> None:
    file = write_workbook(tmp_path / "x.xlsx", [["text", "labels"], ["words one", "a"], ["words two", "b"]])
    far = b'<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
    change_workbook(file, {SHEET: lambda xml: xml.replace(b"</sheetData>", far)})
    table = read_table(file)
    assert len(table) == 3
    assert table.columns["text"] == ["words one", "words two", None]


def test_a_row_beyond_the_end_of_a_sheet_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_workbook(tmp_path / "x.xlsx", [["text", "labels"], ["words one", "a"], ["words two", "b"]])
    change_workbook(file, {SHEET: lambda xml: xml.replace(b'<row r="3">', b'<row r="4294967296">')})
    monkeypatch.setattr("xcwork.data.readers.excel.MAX_ROWS", 1000)
    with pytest.raises(DataError, match="line 1001: a row is numbered beyond the 1,000"):
        load(file)


def test_entities_and_bombs_in_a_workbook_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_workbook(tmp_path / "x.xlsx", [["text", "labels"], ["words", "a"]])
    laughs = b'<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n'
    change_workbook(file, {SHEET: lambda xml: laughs + xml})
    with pytest.raises(DataError, match="declares entities"):
        load(file)
    file = write_workbook(tmp_path / "y.xlsx", [["text", "labels"], ["words", "a"]])
    change_workbook(file, {SHEET: lambda xml: xml + b" " * 10_000_000})
    monkeypatch.setattr("xcwork.data.readers.excel.MIN_SUSPECT_BYTES", 1_000_000)
    with pytest.raises(DataError, match="unpacks to more than 250 times its size"):
        load(file)
