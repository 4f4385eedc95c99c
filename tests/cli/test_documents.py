"""Documents come from a file one by one, and an output file is continued so that every line stands there once."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xcwork.errors import ConfigError, DataError
from xcwork.runs.document_files import DOCUMENTS_PER_BATCH, Document, count_documents, read_batches, read_documents
from xcwork.runs.resumable_output import ContinuedFile


def test_a_text_file_is_one_document_a_line(tmp_path: Path) -> None:
    file = tmp_path / "docs.txt"
    file.write_bytes("\ufefferste Zeile\r\n\nthird\u2028same line".encode())
    assert list(read_documents(file)) == [
        Document(0, None, "erste Zeile"),
        Document(1, None, ""),
        Document(2, None, "third\u2028same line"),
    ]


def test_json_lines_join_title_and_content_and_keep_the_uid(tmp_path: Path) -> None:
    lines = [{"uid": 7, "title": "A", "content": "b"}, {"text": "plain"}, {"content": "", "title": "only"}]
    file = tmp_path / "docs.jsonl.gz"
    file.write_bytes(gzip.compress(("\n\n".join(map(json.dumps, lines)) + "\n").encode()))
    assert list(read_documents(file)) == [
        Document(0, "7", "A\nb"),
        Document(1, None, "plain"),
        Document(2, None, "only"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("docs.jsonl", b'{"text": "a"}\n{"text": 5}\n', "line 2: the object has no text"),
        ("docs.jsonl", b'{"title": "a"}\n[1]\n', "line 2: the line is not a JSON object"),
        ("docs.jsonl", b'{"text": "a"}\n{"text": "b\n', "line 2: the line is not a JSON object"),
        ("docs.jsonl", b'{"body": "a"}\n', "line 1: the object has no text"),
        ("docs.txt", b"good\n\xff\xfe\n", "line 2"),
        ("docs.txt", b"", "empty"),
        ("docs.txt.gz", b"\x1f\x8b\x08\x00damaged", "damaged"),
        ("docs.pdf", b"%PDF", "documents are read from .txt"),
    ],
)
def test_a_file_that_cannot_be_read_names_file_and_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        count_documents(file)
    assert name in str(caught.value)


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        count_documents(tmp_path / "absent.txt")


@pytest.mark.parametrize("first", [0, 1, DOCUMENTS_PER_BATCH, DOCUMENTS_PER_BATCH + 3])
def test_batches_go_on_from_any_document(tmp_path: Path, first: int) -> None:
    total = 2 * DOCUMENTS_PER_BATCH + 5
    file = tmp_path / "docs.txt"
    file.write_text("".join(f"document {i}\n" for i in range(total)))
    assert count_documents(file) == total
    batches = list(read_batches(file, first))
    assert [document.number for batch in batches for document in batch] == list(range(first, total))
    assert max(map(len, batches)) <= DOCUMENTS_PER_BATCH


def _records(start: int, stop: int) -> list[dict[str, object]]:
    return [{"document": i, "predictions": [{"label": f"Ä\u2028{i}", "score": 0.5}]} for i in range(start, stop)]


def _numbers(path: Path) -> list[int]:
    return [json.loads(line)["document"] for line in path.read_text("utf-8").split("\n")[:-1]]


def _interrupted(path: Path, job: dict[str, object], records: int) -> None:
    """What a job leaves behind that stops after some records."""
    with suppress(KeyboardInterrupt), ContinuedFile(path, job) as lines:
        lines.write(_records(0, records))
        raise KeyboardInterrupt


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 700))
def test_an_output_cut_at_any_byte_is_continued_with_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path, job = tmp_path_factory.mktemp("cut") / "out.jsonl", {"run": "a", "k": 5}
    _interrupted(path, job, 10)
    with path.open("rb+") as file:
        file.truncate(min(cut, path.stat().st_size))
    again = ContinuedFile(path, job)
    complete = path.read_bytes().count(b"\n")
    assert again.done == complete
    with again:
        again.write(_records(again.done, 10))
    assert _numbers(path) == list(range(10))
    assert sorted(p.name for p in path.parent.iterdir()) == ["out.jsonl"]


def test_a_finished_output_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    for _ in range(2):
        lines = ContinuedFile(path, {"run": "a"})
        assert lines.done == 0
        with lines:
            lines.write(_records(0, 3))
        assert _numbers(path) == [0, 1, 2]


def test_an_unfinished_output_of_another_job_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    _interrupted(path, {"run": "a"}, 3)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="another job"):
        ContinuedFile(path, {"run": "b"})
    assert path.read_bytes() == before
    assert ContinuedFile(path, {"run": "a"}).done == 3


def test_a_file_that_is_no_output_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "thesis.jsonl"
    path.write_text('{"title": "precious"}\n')
    with pytest.raises(ConfigError, match="not an earlier output"):
        ContinuedFile(path, {"run": "a"})
    assert path.read_text() == '{"title": "precious"}\n'
    with pytest.raises(ConfigError, match="not an earlier output"):
        ContinuedFile(tmp_path, {"run": "a"})


def test_an_output_whose_lines_vanished_starts_again(tmp_path: Path) -> None:
    path, job = tmp_path / "out.jsonl", {"run": "a"}
    _interrupted(path, job, 3)
    path.unlink()
    assert ContinuedFile(path, job).done == 0
