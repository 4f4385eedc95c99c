"""What is said about a table before it is added: figures, findings, obstacles, and the encoding that fits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from xcwork.data.readers.encodings import suggest_encoding
from xcwork.data.readers.preview import preview_table
from xcwork.data.upload_check import UploadSummary, summarise_upload

GERMAN = "text,labels\nGrüße aus Köln,städte\nÄpfel und Öl,essen\n"


def summarise(tmp_path: Path, *rows: str, **columns: object) -> UploadSummary:
    file = tmp_path / "table.csv"
    file.write_text("\n".join(["text,labels,title", *rows]) + "\n")
    return summarise_upload(preview_table(file, text_columns=["text"], **columns))


def test_figures_are_those_of_the_records(tmp_path: Path) -> None:
    seen = summarise(tmp_path, "one text,a|b,x", "another text,a,y", "third text,a|c,z")
    assert (seen.n_documents, seen.n_labels, seen.n_used_once) == (3, 3, 2)
    assert seen.labels_per_document == pytest.approx(5 / 3)
    assert seen.frequent_labels[0] == ("a", 3)
    assert [finding.is_good for finding in seen.findings] == [True]
    assert seen.obstacle == ""


def test_what_is_wrong_is_counted(tmp_path: Path) -> None:
    seen = summarise(tmp_path, "same,a,x", "same,a,y", ",b,z", "other,,z", "more,,z")
    assert seen.findings[0].sentence == ("Of 5 documents 1 has no text, 2 have no label, 1 repeats an earlier one.")
    assert not seen.findings[0].is_good


def test_a_column_of_titles_is_suspected(tmp_path: Path) -> None:
    rows = [f"text {i},a,title {i}" for i in range(30)]
    wrong = summarise(tmp_path, *rows, labels_column="title", separator="")
    assert any("Nearly every label occurs once" in finding.sentence for finding in wrong.findings)
    right = summarise(tmp_path, *rows, labels_column="labels")
    assert len(right.findings) == 1


def test_tags_are_announced(tmp_path: Path) -> None:
    seen = summarise(tmp_path, "<p>one</p>,a,x", "<p>two</p>,b,y")
    assert any("HTML tags" in finding.sentence for finding in seen.findings)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (("a single document,x,y",), "At least two documents are needed, and there is one."),
        ((",x,y", ",x,z"), "No document has a text."),
        (("one,,y", "two,,z"), "No document has a label."),
    ],
)
def test_obstacles_are_sentences(tmp_path: Path, rows: tuple[str, ...], sentence: str) -> None:
    assert summarise(tmp_path, *rows, labels_column="labels").obstacle.startswith(sentence)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "utf-8-sig"])
def test_the_encoding_that_fits_is_found(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "german.csv"
    file.write_bytes(GERMAN.encode(encoding))
    found = suggest_encoding(file)
    assert found == encoding.removesuffix("-sig")
    assert preview_table(file, encoding=found or "").texts == ["Grüße aus Köln", "Äpfel und Öl"]


def test_quotes_of_windows_tell_it_from_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "windows.csv"
    file.write_bytes("text,labels\n“café”,a\n".encode("cp1252"))
    assert suggest_encoding(file) == "cp1252"


def test_random_bytes_are_not_text(tmp_path: Path) -> None:
    file = tmp_path / "noise.csv"
    file.write_bytes(random.Random(0).randbytes(5000))
    assert suggest_encoding(file) is None


def test_a_character_cut_off_at_the_end_of_the_sample_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.data.readers.encodings.LOOKED_AT_BYTES", 15)  # in the middle of an umlaut
    file = tmp_path / "cut.csv"
    file.write_text(GERMAN, "utf-8")
    assert suggest_encoding(file) == "utf-8"
