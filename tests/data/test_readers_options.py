"""Options of the readers: encodings, label files, the choice of text, and the file to test on."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.core.dataset import Dataset
from xcwork.data.card import describe
from xcwork.data.load import load_dataset
from xcwork.errors import DataError

WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"]
LABELS = ["tea", "rice", "süß"]


def csv_text(end: str = "\n") -> str:
    """Twenty records, one of which goes on over two lines."""
    rows = [f'"Café {i},{end}Ċ",{LABELS[i % 3]}' for i in range(20)]  # Ċ is U+010A: one of its bytes is a line feed
    return end.join(["text,labels", *rows]) + end


def record(i: int) -> str:
    return json.dumps({"text": f"words number{i}", "title": f"title{i}", "labels": [f"l{i % 3}"]}) + "\n"


def split_folder(folder: Path, *names: str) -> Path:
    """A folder with a table for each of `names`, each with a word of its own."""
    folder.mkdir(exist_ok=True)
    for name in names:
        rows = [json.dumps({"text": f"{name} number{i}", "labels": [f"l{i % 3}"]}) + "\n" for i in range(4)]
        (folder / f"{name}.jsonl").write_text("".join(rows))
    return folder


def words_tested(dataset: Dataset) -> set[str]:
    return {text.split()[0] for text in dataset.test.texts or ()}


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_csv_in_a_wide_encoding(tmp_path: Path, encoding: str, end: str) -> None:
    file = tmp_path / "notes.csv.gz"
    file.write_bytes(gzip.compress(csv_text(end).encode(encoding)))
    dataset = load_dataset(file, home=tmp_path, encoding=encoding)
    assert dataset.labels.names == sorted(LABELS)
    assert {*dataset.train.texts, *dataset.test.texts} == {f"Café {i},{end}Ċ" for i in range(20)}


@pytest.mark.parametrize("encoding", WIDE)
def test_json_lines_label_names_and_arff_in_a_wide_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "d.jsonl").write_text("".join(map(record, range(9))), encoding)
    (tmp_path / "names.txt").write_text("l0\nl1\nl2\nthé\n", encoding)
    dataset = load_dataset(tmp_path / "d.jsonl", home=tmp_path, encoding=encoding, label_file="names.txt")
    assert dataset.labels.names == ["l0", "l1", "l2", "thé"]
    arff = "@relation 'x: -C 1'\n@attribute thé {0,1}\n@attribute a numeric\n@data\n1,2\n0,3\n"
    (tmp_path / "x.arff").write_text(arff, encoding)
    assert load_dataset(tmp_path / "x.arff", home=tmp_path, encoding=encoding).labels.names == ["thé"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "notes.csv"
    file.write_bytes(csv_text().encode(encoding))
    assert load_dataset(file, home=tmp_path).labels.names == sorted(LABELS)


def test_a_file_in_another_encoding_than_said_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_bytes(csv_text().encode("latin-1", "replace"))
    with pytest.raises(DataError, match=r"line 2: .*is not utf-8.*encoding='latin-1'"):
        load_dataset(file, home=tmp_path)
    file.write_bytes(csv_text().encode("utf-16") + b"\x00")
    with pytest.raises(DataError, match=r"not utf-16 from this line on.*save the file as UTF-8"):
        load_dataset(file, home=tmp_path, encoding="utf-16")


@needs_shared_data("formats/doccano")
def test_the_utf_16_file_of_doccano(tmp_path: Path) -> None:
    dataset = load_dataset(SHARED_DATA / "formats" / "doccano" / "example.utf16.csv", home=tmp_path)
    assert sorted(dataset.train.texts + dataset.test.texts) == ["AAA", "BBB", "CCC"]
    assert dataset.labels.names == ["Negative", "Positive"]


@pytest.mark.parametrize("place", ["~/names.txt", "names.txt", "../names.txt", "~nobody-of-this-name/names.txt"])
def test_a_changed_label_file_is_read_again(tmp_path: Path, monkeypatch, place: str) -> None:
    folder = split_folder(tmp_path / "data", "train", "test")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path)
    file = {"~": tmp_path / "user", "n": tmp_path, ".": tmp_path}[place[0]] / "names.txt"
    if place.startswith("~nobody"):
        file = folder / place
    file.parent.mkdir(exist_ok=True)
    file.write_text("l0\nl1\nl2\n")
    assert len(load_dataset(folder, home=tmp_path / "home", label_file=place).labels) == 3
    file.write_text("l0\nl1\nl2\nnew\n")
    assert load_dataset(folder, home=tmp_path / "home", label_file=place).labels.names[3:] == ["new"]


def test_the_same_name_of_a_label_file_in_another_folder_is_another_file(tmp_path: Path, monkeypatch) -> None:
    folder = split_folder(tmp_path / "data", "train", "test")
    for name, content in (("here", "l0\nl1\nl2\nhere\n"), ("away", "l0\nl1\nl2\naway\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "names.txt").write_text(content)
        os.utime(tmp_path / name / "names.txt", ns=(10**18, 10**18))
        monkeypatch.chdir(tmp_path / name)
        assert load_dataset(folder, home=tmp_path / "home", label_file="names.txt").labels.names[3:] == [name]


@pytest.mark.parametrize(
    ("choice", "columns"), [("title", "'title'"), ("content", "'text'"), ("both", "'title' + 'text'")]
)
def test_the_card_names_the_columns_of_the_text_that_was_chosen(tmp_path: Path, choice: str, columns: str) -> None:
    (tmp_path / "d.jsonl").write_text("".join(map(record, range(20))))
    dataset = load_dataset(tmp_path / "d.jsonl", home=tmp_path, text=choice)
    assert dataset.source.startswith(f"text from {columns}, labels")
    shown = {"title": "title3", "content": "words number3", "both": "title3\nwords number3"}[choice]
    assert shown in [*dataset.train.texts, *dataset.test.texts]


@pytest.mark.parametrize("name", ["dev", "valid", "validation", "val"])
def test_validation_data_beside_train_and_test_is_mentioned_and_can_be_used(tmp_path: Path, name: str) -> None:
    folder, home = split_folder(tmp_path / "data", "train", "test", name), tmp_path / "home"
    dataset = load_dataset(folder, home=home)
    assert words_tested(dataset) == {"test"}
    assert describe(dataset).notes == [f"{name}.jsonl is not used; test={name!r} makes it the test split"]
    other = load_dataset(folder, home=home, test=name)
    assert words_tested(other) == {name}
    assert other.notes == ("test.jsonl is not used; test='test' makes it the test split",)


def test_validation_data_is_the_test_split_where_there_is_no_test_file(tmp_path: Path) -> None:
    folder, home = split_folder(tmp_path / "data", "train", "dev"), tmp_path / "home"
    dataset = load_dataset(folder, home=home)
    assert words_tested(dataset) == {"dev"}
    assert dataset.notes == ("dev.jsonl is the test split, because there is no test file",)
    assert words_tested(load_dataset(folder, home=home, test="")) == {"train"}


def test_a_file_to_test_on_that_is_not_there(tmp_path: Path) -> None:
    folder = split_folder(tmp_path / "data", "train", "test", "dev")
    with pytest.raises(DataError, match=r"no table 'eval' to test on; tables to test on: 'test', 'dev'"):
        load_dataset(folder, home=tmp_path / "home", test="eval")
    with pytest.raises(DataError, match="tables to test on: none"):
        load_dataset(folder / "train.jsonl", home=tmp_path / "home", test="dev")


def test_other_formats_mention_validation_data_too(tmp_path: Path) -> None:
    for name in ("train", "test", "dev"):
        (tmp_path / f"{name}.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    dataset = load_dataset(tmp_path, home=tmp_path / "home")
    assert dataset.notes == ("dev.txt is not used; to test on it, put it in place of the test file",)
