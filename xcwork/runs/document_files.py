"""Documents to predict for, read from a file one after the other, so that memory does not grow with the file.

A text file holds one document per line. A JSON Lines file holds one object per line: `text`, or `title` and `content`
as in the datasets, and optionally a `uid`. A CSV or TSV file has columns of these names, or a single column, which then
is the text. All may be compressed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from xcwork.data.readers.columns import CSV_SUFFIXES, open_csv_records
from xcwork.data.readers.safe_files import decode_line, get_bare_name, open_bytes
from xcwork.data.readers.text_options import join_fields
from xcwork.errors import DataError

DOCUMENTS_PER_BATCH = 256
MAX_SHOWN_COLUMNS = 20  # in a message
TEXT_FIELDS = ("text", "title", "content")


class Document(NamedTuple):
    """One line of the file."""

    number: int  # counted from 0
    uid: str | None
    text: str

    def make_record(self, predictions: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the line that answers this one."""
        name = {} if self.uid is None else {"uid": self.uid}
        return {"document": self.number} | name | {"predictions": predictions}


def read_documents(path: Path) -> Iterator[Document]:
    """Yield every document of the file."""
    if not path.is_file():
        raise DataError("there is no such file", file=path, remedy="check the path")
    suffix = Path(get_bare_name(path)).suffix.lower()
    if suffix in CSV_SUFFIXES:
        yield from _read_csv_documents(path, suffix)
        return
    if suffix not in (".txt", ".jsonl"):
        raise DataError(
            f"documents are read from .txt (one per line), .jsonl or .csv, not from "
            f"{suffix or 'a file without a suffix'}",
            file=path,
            remedy="rename or convert it",
        )
    with open_bytes(path, streamed=True) as lines:
        number = 0
        for line, content in enumerate(lines, start=1):
            text = decode_line(content, path, line).rstrip("\r\n")
            if suffix == ".txt":
                yield Document(number, None, text)
            elif text.strip():
                yield Document(number, *_parse_json_line(text, path, line))
            else:
                continue
            number += 1


def _read_csv_documents(path: Path, suffix: str) -> Iterator[Document]:
    names, records = open_csv_records(path, delimiter="\t" if suffix == ".tsv" else None)
    at = {name.strip().lower(): position for position, name in reversed(list(enumerate(names)))}
    wanted = [name for name in TEXT_FIELDS if name in at]
    if not wanted and len(names) == 1:
        wanted, at = ["text"], {"text": 0}
    if not wanted:
        shown = ", ".join(repr(name) for name in names[:MAX_SHOWN_COLUMNS])
        raise DataError(
            f"there is no column with the text; the columns are {shown}",
            file=path,
            line=1,
            remedy="call one `text`, or two of them `title` and `content`",
        )
    for number, (_, fields) in enumerate(records):
        texts = {name: fields[at[name]] for name in wanted}
        body = texts.get("text") or texts.get("content", "")
        uid = fields[at["uid"]] if "uid" in at else None
        yield Document(number, uid, join_fields(texts.get("title", ""), body, "both"))


def _parse_json_line(text: str, path: Path, line: int) -> tuple[str | None, str]:
    """Return (uid, text) of a JSON line."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise DataError("the line is not a JSON object", file=path, line=line, remedy="write one object per line")
    texts = {name: fields[name] for name in TEXT_FIELDS if fields.get(name) is not None}
    if not texts or not all(isinstance(value, str) for value in texts.values()):
        raise DataError(
            "the object has no text",
            file=path,
            line=line,
            remedy="give it a field `text`, or `title` and `content`, with a text in it",
        )
    uid = fields.get("uid")
    return None if uid is None else str(uid), join_fields(
        texts.get("title", ""), texts.get("text") or texts.get("content", ""), "both"
    )


def count_documents(path: Path) -> int:
    """Return how many documents there are. Every line is checked, so that later nothing stops half way."""
    return sum(1 for _ in read_documents(path))


def read_batches(path: Path, first: int, size: int = DOCUMENTS_PER_BATCH) -> Iterator[list[Document]]:
    """Yield the documents from number `first` on, in batches."""
    documents = islice(read_documents(path), first, None)
    while batch := list(islice(documents, size)):
        yield batch
