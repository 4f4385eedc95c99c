"""A JSON file that is one document instead of one record per line.

Four shapes are known: a list of records; a record with one list of records, such as `{"data": [...]}`; records by their
keys, `{"7": {"text": "…", "labels": […]}}`; and columns, as pandas writes them: `{"text": {"0": "…"}, "labels":
{"0": […]}}` or `{"text": ["…"], "labels": [[…]]}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xcwork.data.readers.safe_files import read_lines_with_ends
from xcwork.errors import DataError

_BLANK = " \t\r\n"
JsonRecord = tuple[int, dict[str, Any]]  # (line it starts at, or its number, record)


def read_json_document(path: Path, encoding: str = "utf-8") -> Iterator[JsonRecord] | None:
    """Return the records of a file that is one JSON document; None where it is JSON lines, or something else."""
    lines = read_lines_with_ends(path, encoding)
    first = next((line for _, line in lines if line.strip()), "").strip()
    if first.startswith("["):
        return _read_list(path, encoding)
    if not first.startswith("{"):
        return None
    if _parse_record(first) is not None and any(line.strip() for _, line in lines):
        return None  # a record in the first line, and more lines
    document = _parse_record("".join(line for _, line in read_lines_with_ends(path, encoding)))
    return None if document is None else _find_records(document)


def _parse_record(text: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _find_records(document: dict[str, Any]) -> Iterator[JsonRecord] | None:
    """Return the records inside a document, or None where it is a single record."""
    lists = [value for value in document.values() if isinstance(value, list) and value]
    of_records = [value for value in lists if all(isinstance(record, dict) for record in value)]
    if len(of_records) == 1 and not any(isinstance(value, str) and len(value) > 200 for value in document.values()):
        return iter(list(enumerate(of_records[0], start=1)))
    if len(document) > 1 and all(isinstance(value, dict) for value in document.values()):
        keys = list(next(iter(document.values())))
        if keys and all(list(value) == keys for value in document.values()):
            if _are_records(document):
                return iter([(n, {"id": key} | record) for n, (key, record) in enumerate(document.items(), start=1)])
            return iter(
                [(n, {name: column[key] for name, column in document.items()}) for n, key in enumerate(keys, start=1)]
            )
    if len(document) > 1 and len(lists) == len(document) and len({len(value) for value in lists}) == 1:
        rows = zip(*document.values(), strict=True)
        return iter([(n, dict(zip(document, row, strict=True))) for n, row in enumerate(rows, start=1)])
    return None


def _are_records(document: dict[str, dict[str, Any]]) -> bool:
    """Return whether a record of records has documents by their keys, rather than columns: text is beside labels."""
    first = next(iter(document.values()))
    kinds = {type(value) for value in first.values()}
    return len(kinds) > 1 or (len(document) > len(first) and not all(key.isdigit() for key in first))


def _read_list(path: Path, encoding: str) -> Iterator[JsonRecord]:
    """Yield the records of a list, one after the other."""
    text = "".join(line for _, line in read_lines_with_ends(path, encoding))
    decoder = json.JSONDecoder()
    at = text.index("[") + 1
    line = 1 + text.count("\n", 0, at)
    is_first = True
    while True:
        at, line = _skip(text, at, line, _BLANK)
        if text[at : at + 1] == "]" and not text[at + 1 :].strip():
            return
        if not is_first:
            if text[at : at + 1] != ",":
                raise _describe_damage(path, line, "a comma or the end of the list is expected")
            at, line = _skip(text, at + 1, line, _BLANK)
        try:
            record, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as failure:
            reason = failure.msg if isinstance(failure, json.JSONDecodeError) else str(failure)
            raise _describe_damage(path, getattr(failure, "lineno", line), reason) from None
        if not isinstance(record, dict):
            raise _describe_damage(path, line, f"an entry is a {type(record).__name__}, not an object")
        yield line, record
        line += text.count("\n", at, end)
        at = end
        is_first = False


def _skip(text: str, at: int, line: int, characters: str) -> tuple[int, int]:
    """Return the place of the next character that is none of `characters`, and its line."""
    while at < len(text) and text[at] in characters:
        line += text[at] == "\n"
        at += 1
    return at, line


def _describe_damage(path: Path, line: int, reason: str) -> DataError:
    return DataError(
        f"the file is not a JSON list of records ({reason})",
        file=path,
        line=line,
        remedy='write [{"title": "…", "labels": ["…"]}, …] or one JSON object per line; the file may be cut off',
    )
