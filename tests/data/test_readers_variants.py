"""Files as people have them: without a header, with labels in columns or folders, with old line ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.text_files import list_documents, write_folder
from xcwork.core.dataset import Dataset
from xcwork.data import readers
from xcwork.data.readers.columns import read_table
from xcwork.errors import DataError

TEXTS = ["the red fox jumps", "blue sky over sea", "green trees in forests", "yellow sun above hills"]
LABELS = [["a", "b"], ["b"], ["c"], ["a"]]
DOCUMENTS = {text: set(labels) for text, labels in zip(TEXTS, LABELS, strict=True)}


def load(path: Path, **options: Any) -> Dataset:
    return readers.read(readers.choose_reader(path), path, "set", options)


@pytest.mark.parametrize(
    ("name", "template"), [("set.tsv", "{0}\t{1}\n"), ("set.tsv", "{1}\t{0}\n"), ("set.csv", '"{0}","{1}"\n')]
)
def test_a_first_line_without_names_is_a_document(tmp_path: Path, name: str, template: str) -> None:
    lines = (template.format(text, "|".join(labels)) for text, labels in zip(TEXTS, LABELS, strict=True))
    (tmp_path / name).write_text("".join(lines))
    dataset = load(tmp_path / name)
    assert list_documents(dataset) == DOCUMENTS
    assert f"the first line of {name} names no columns and is read as a document; header=true changes this" in (
        dataset.notes
    )
    with pytest.raises(DataError, match="no text column was found"):
        load(tmp_path / name, header=True)


def test_a_first_line_with_unusual_names_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_text("frage,thema\nwas ist das,x\nwer ist das,y\n")
    with pytest.raises(DataError, match=r"no text column was found.*'frage', 'thema'"):
        load(tmp_path / "set.csv")
    assert len(read_table(tmp_path / "set.csv", header=False)) == 3


def test_numbers_from_one_are_named_by_the_lines_of_classes(tmp_path: Path) -> None:
    lines = "".join(f'"{i % 3 + 1}","Title of {i}","{text}"\n' for i, text in enumerate(TEXTS))
    write_folder(tmp_path, {"train.csv": lines, "test.csv": lines, "classes.txt": "World\nSports\nBusiness\n"})
    dataset = load(tmp_path)
    assert list_documents(dataset)["Title of 1\nblue sky over sea"] == {"Sports"}
    assert (len(dataset.train), len(dataset.test), len(dataset.labels.names)) == (4, 4, 3)


def test_columns_of_zeros_and_ones_are_labels(tmp_path: Path) -> None:
    rows = "".join(
        f"{i},{text},{','.join(str(int(name in labels)) for name in 'abc')}\n"
        for i, (text, labels) in enumerate(zip(TEXTS, LABELS, strict=True))
    )
    (tmp_path / "set.csv").write_text("id,comment_text,a,b,c\n" + rows)
    dataset = load(tmp_path / "set.csv")
    assert list_documents(dataset) == DOCUMENTS
    assert "3 columns that have only 0 and 1 are labels, from 'a' to 'c'" in dataset.notes
    write_folder(tmp_path / "two", {"train.csv": "text,a,b\nx y,1,0\n", "test.csv": "text,a,b\nx y,1,0\nz,-1,0\n"})
    with pytest.raises(DataError, match=r"test.csv, line 3: '-1' in column 'a' is neither 0 nor 1"):
        load(tmp_path / "two")


@pytest.mark.parametrize("start", ["", "sep=;\n", "\n\n", '"sep=;"\r\n'])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_lines_before_the_header(tmp_path: Path, start: str, end: str) -> None:
    rows = ["text;labels", *(f"{text};{'|'.join(labels)}" for text, labels in zip(TEXTS, LABELS, strict=True))]
    content = start.replace("\r\n", "\n").replace("\n", end) + "".join(row + end for row in rows)
    (tmp_path / "set.csv").write_bytes(content.encode())
    assert list_documents(load(tmp_path / "set.csv")) == DOCUMENTS
    assert read_table(tmp_path / "set.csv").lines[0] == 2 + start.count("\n")


def test_json_records_by_their_keys(tmp_path: Path) -> None:
    records = {f"d{i}": {"text": text, "labels": labels} for i, (text, labels) in enumerate(DOCUMENTS.items())}
    plain = {key: record | {"labels": sorted(record["labels"])} for key, record in records.items()}
    (tmp_path / "set.json").write_text(json.dumps(plain, indent=1))
    assert list_documents(load(tmp_path / "set.json")) == DOCUMENTS
    assert read_table(tmp_path / "set.json").columns["id"] == list(plain)


def test_other_sheets_are_named(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra `excel` is not installed")
    book = openpyxl.Workbook()
    for row in [["text", "labels"], *([text, "|".join(labels)] for text, labels in DOCUMENTS.items())]:
        book.active.append(row)
    book.create_sheet("test")
    book.save(tmp_path / "set.xlsx")
    assert read_table(tmp_path / "set.xlsx").notes == (
        "only the first sheet of set.xlsx is read; save 'test' as files of their own to use them",
    )


def test_a_readme_is_no_document(tmp_path: Path) -> None:
    files = {f"{i}.{suffix}": "some words\n" for i in range(3) for suffix in ("txt", "lab")}
    write_folder(tmp_path, {**files, "README.txt": "about the data\n"})
    dataset = load(tmp_path)
    assert len(dataset.train) + len(dataset.test) == 3
    assert not dataset.notes


def test_folders_named_by_labels(tmp_path: Path) -> None:
    folders = {
        f"{split}/{label}/{i}.txt": f"{text} {split}\n"
        for split in ("train", "test")
        for i, (text, labels) in enumerate(DOCUMENTS.items())
        for label in sorted(labels)
    }
    for name, content in folders.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    dataset = load(tmp_path)
    expected = {f"{text} {split}": labels for split in ("train", "test") for text, labels in DOCUMENTS.items()}
    assert (list_documents(dataset), len(dataset.test)) == (expected, 4)
    assert len(load(tmp_path / "train").labels.names) == 3


@pytest.mark.parametrize("other", ["a/picture.png", "a/deeper/1.txt"])
def test_folders_with_other_files_are_not_labels(tmp_path: Path, other: str) -> None:
    write_folder(tmp_path, {"a/1.txt": "x\n", "b/1.txt": "y\n"})
    (tmp_path / other).parent.mkdir(exist_ok=True)
    (tmp_path / other).write_text("z\n")
    with pytest.raises(DataError, match="no format fits"):
        load(tmp_path)
