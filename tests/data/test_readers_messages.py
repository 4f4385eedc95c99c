"""Where no format fits, the message says what the file looks like and what the two nearest formats lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.text_files import write_folder
from xcwork.data.load import explain_source, load_dataset
from xcwork.data.readers import FORMATS, explain_choice
from xcwork.data.readers.unknown_format import describe_content, shorten_line
from xcwork.errors import ConfigError, DataError


def read_message(path: Path) -> str:
    with pytest.raises(DataError) as refusal:
        load_dataset(path, home=path.parent / "home")
    return str(refusal.value)


def test_a_text_file_is_described_by_its_first_line_and_columns(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Title; Year; Director\nPlum; 1999; A\nPear; 2001; B\n")
    message = read_message(tmp_path / "notes.txt")
    assert "a text file called notes.txt whose first line is 'Title; Year; Director'" in message
    assert "3 columns separated by semicolons ('Title', 'Year' and 'Director')" in message
    assert message.count("it lacks") == 2
    assert "--explain" in message
    assert len(message) < 900


@pytest.mark.parametrize(
    ("files", "nearest", "missing"),
    [
        ({"train_X_Xf.txt": "1 1\n0:1\n"}, "splits", "trn_X_Xf.txt (there is train_X_Xf.txt)"),
        ({"X.trn.npz": "", "labels.npz": ""}, "pecos", "Y.trn.npz"),
        ({"train_texts.txt": "a\n"}, "lines", "train_labels.txt or Y.trn.txt"),
        ({"a.csv": "text,labels\n", "b.csv": "text,labels\n"}, "table", "one of the tables called train"),
        (
            {"a.txt": "one line\n__label__x two\n__label__y three\nfour\nfive\n"},
            "fasttext",
            "`__label__a` at the start",
        ),
        ({"arrays.safetensors": ""}, "stored", "state.json"),
    ],
)
def test_the_nearest_format_says_what_is_missing(
    tmp_path: Path, files: dict[str, str | bytes], nearest: str, missing: str
) -> None:
    message = read_message(write_folder(tmp_path / "data", files))
    assert f"(1) format '{nearest}', " in message
    assert missing in message


def test_characters_that_disturb_a_terminal_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\x1b[31mred\x07 text" + "x" * 500 + "\n")
    shown = describe_content(tmp_path / "a.txt")
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert len(shown) < 200
    assert shorten_line("a\tb  c") == "a b c"


def test_binary_files_and_empty_folders(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(bytes(range(256)) * 10)
    assert "a binary file called a.docx" in read_message(tmp_path / "a.docx")
    (tmp_path / "empty").mkdir()
    assert "a folder with no files" in read_message(tmp_path / "empty")


def test_a_damaged_file_beside_a_dataset_does_no_harm(tmp_path: Path) -> None:
    files = {"train.txt": "2 2 2\n0 0:1\n1 1:1\n", "notes.txt.gz": b"\x1f\x8b cut off", "old.tsv.gz": b"not gzip"}
    assert len(load_dataset(write_folder(tmp_path / "data", files), home=tmp_path).labels) == 2


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(b"\x1f\x8b cut off")
    assert "damaged" in read_message(tmp_path / "a.txt.gz")


def test_every_format_says_what_it_saw(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("__label__red one\n__label__blue two\n")
    findings = explain_choice(tmp_path / "a.txt")
    assert list(findings) == list(FORMATS)
    assert findings["fasttext"].is_match
    assert all(finding.seen if finding.is_match else finding.missing for finding in findings.values())
    assert all(0 <= finding.nearness <= 1 for finding in findings.values())
    explanation = explain_source(tmp_path / "a.txt", home=tmp_path)
    assert explanation.chosen == "fasttext"
    assert explanation.to_dict()["formats"][0]["format"] == "stored"
    with pytest.raises(ConfigError, match="synthetic is built in"):
        explain_source("synthetic", home=tmp_path)


def test_a_format_that_is_named_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,labels\nx,y\n")
    with pytest.raises(DataError, match=r"not the format 'pecos'; it lacks a folder with X\.trn\.npz"):
        load_dataset(tmp_path / "a.csv", home=tmp_path, format="pecos")
