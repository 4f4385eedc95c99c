"""Uploads: cleaned names, limits, archives, and nothing in the data folder before it is complete."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.data import data_folder, uploads
from xcwork.data.load import load_dataset, locate_options
from xcwork.errors import DataError

TABLE = "\n".join(["q;t", *(f"{word} {i};{word}" for i in range(12) for word in ("cat", "dog"))]).encode()


def archive(**files: bytes) -> io.BytesIO:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        for name, data in files.items():
            made.writestr(name, data)
    content.seek(0)
    return content


def staged(home: Path, *files: tuple[str, bytes]) -> Path:
    return uploads.stage_files([(name, io.BytesIO(content)) for name, content in files], home)


@given(st.text())
def test_a_clean_name_is_one_visible_part_of_a_path(name: str) -> None:
    cleaned = uploads.clean_name(name)
    assert cleaned == Path(cleaned).name
    assert not cleaned.startswith(".")
    assert 0 < len(cleaned) <= 120


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("../../etc/passwd", "passwd"),
        (r"C:\temp\my pets.csv", "my pets.csv"),
        ("a$(rm).csv", "a_(rm).csv"),
        ("..", "upload"),
    ],
)
def test_names_from_anywhere(name: str, cleaned: str) -> None:
    assert uploads.clean_name(name) == cleaned


def test_a_kept_table_loads_with_its_options_under_a_free_name(home: Path) -> None:
    options = {"text_column": "q", "labels_column": "t"}
    places = [uploads.keep_staged(staged(home, ("pets.csv", TABLE)), home, options=options) for _ in range(2)]
    assert [place.name for place in places] == ["pets.csv", "pets-2.csv"]
    assert load_dataset("pets-2.csv").labels.names == ["cat", "dog"]
    assert load_dataset("pets.csv", test_share=0.5).source.count("50%") == 1  # what is given adds to what is stored
    assert not list((home / "data" / ".uploads").iterdir())
    data_folder.remove_dataset(places[1], home)
    assert not places[1].exists()
    assert not locate_options(places[1]).exists()


def test_stored_options_that_are_damaged_are_a_sentence(home: Path) -> None:
    kept = uploads.keep_staged(staged(home, ("pets.csv", TABLE)), home, options={"text_column": "q"})
    locate_options(kept).write_text("{")
    with pytest.raises(DataError, match=r"stored options cannot be read.*delete it"):
        load_dataset("pets.csv")


def test_several_files_and_archives_become_folders(home: Path) -> None:
    folder = staged(home, ("train.csv", TABLE), ("test.csv", TABLE))
    assert sorted(file.name for file in folder.iterdir()) == ["test.csv", "train.csv"]
    packed = archive(**{"set/train.csv": TABLE, "set/../../test.csv": TABLE, "__MACOSX/x": b"x", "set/.hidden": b"x"})
    unpacked = uploads.stage_files([("my set.zip", packed)], home)
    assert unpacked.name == "my set"
    assert {str(file.relative_to(unpacked)) for file in unpacked.rglob("*.csv")} == {"train.csv", "upload/test.csv"}
    assert all(file.is_relative_to(home / "data" / ".uploads") for file in unpacked.rglob("*"))
    assert uploads.keep_staged(unpacked, home).name == "my set"


def test_an_archive_of_one_file_stays_packed(home: Path) -> None:
    assert uploads.stage_files([("pets.csv.zip", archive(**{"pets.csv": TABLE}))], home).name == "pets.csv.zip"


def test_what_is_too_large_or_too_many_is_refused_and_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_BYTES", 1000)
    with pytest.raises(DataError, match="larger than the limit"):
        staged(home, ("big.csv", b"x" * 1001))
    with pytest.raises(DataError, match="larger than the limit"):
        uploads.stage_files([("bomb.zip", archive(**{"a.csv": b"x" * 600, "b.csv": b"x" * 600}))], home)
    monkeypatch.setattr(uploads, "MAX_FILES", 2)
    with pytest.raises(DataError, match="3 files are too many"):
        staged(home, *((f"{i}.csv", b"x") for i in range(3)))
    assert not list((home / "data" / ".uploads").iterdir())


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ([], "nothing was uploaded"),
        ([("a.csv", b"")], "the file is empty.*cut off"),
        ([("a.csv", b"x"), ("A/a.csv", b"y")], "two of the files are called 'a.csv'"),
        ([("a.zip", b"PK\x03\x04 no archive")], "the archive is damaged"),
    ],
)
def test_bad_uploads_are_sentences(home: Path, files: list[tuple[str, bytes]], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        staged(home, *files)


def test_what_nobody_kept_is_swept_away(home: Path) -> None:
    old = staged(home, ("old.csv", TABLE)).parent
    os.utime(old, (0, 0))
    new = staged(home, ("new.csv", TABLE))
    assert not old.exists()
    uploads.discard_staged(new)
    assert not new.parent.exists()


def test_only_the_data_folder_is_cleaned(home: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_bytes(TABLE)
    with pytest.raises(DataError, match="only what lies in the data folder"):
        data_folder.remove_dataset(mine, home)
    uploads.discard_staged(mine)
    assert mine.exists()


@pytest.mark.parametrize("failure", [MemoryError(), OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_whatever_makes_reading_fail_the_upload_goes(home: Path, failure: BaseException) -> None:
    options = {"text_column": "q", "labels_column": "t"}

    def read_and_fail() -> None:
        with uploads.keep_if_readable(staged(home, ("pets.csv", TABLE)), home, options=options) as kept:
            load_dataset(kept)
            raise failure

    with pytest.raises(type(failure)):
        read_and_fail()
    left = [path for path in (home / "data").rglob("*") if path.is_file()]
    assert left == [], "neither the file nor its options nor what was cached of it"


def test_an_upload_that_can_be_read_stays(home: Path) -> None:
    with uploads.keep_if_readable(staged(home, ("pets.csv", TABLE)), home) as kept:
        pass
    assert kept.exists()


def test_an_upload_that_cannot_be_moved_leaves_no_options(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = staged(home, ("pets.csv", TABLE))

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError):
        uploads.keep_staged(upload, home, options={"text_column": "q"})
    assert [path.name for path in (home / "data").iterdir()] == [".uploads"]


def test_no_built_in_dataset_hides_an_upload(home: Path) -> None:
    upload = staged(home, ("train.csv", TABLE), ("test.csv", TABLE))
    assert uploads.keep_staged(upload, home, name="pyseealso").name == "pyseealso-2"


def test_only_the_end_of_a_name_says_how_to_read_it(home: Path) -> None:
    names = [
        uploads.keep_staged(staged(home, (f"v1.2.{end}", TABLE)), home, name="pets").name for end in ("csv", "csv.gz")
    ]
    assert names == ["pets.csv", "pets.csv.gz"]
