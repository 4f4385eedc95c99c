"""A file of records (CSV, TSV, JSON, Parquet, Arrow, Excel) as named columns, with the line every record starts at.

Records inside records have columns, too: `meta.tags` is the field `tags` of the records in the column `meta`.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from xcwork.data.readers.arrow_tables import (
    ARROW_SUFFIXES,
    PARQUET_SUFFIX,
    convert_columns,
    find_class_names,
    read_arrow_file,
)
from xcwork.data.readers.excel import EXCEL_SUFFIXES, OTHER_SPREADSHEETS, read_excel_rows
from xcwork.data.readers.json_document import read_json_document
from xcwork.data.readers.record_columns import RecordColumns
from xcwork.data.readers.safe_files import get_bare_name, read_lines, read_lines_with_ends
from xcwork.errors import ConfigError, DataError

JSON_SUFFIXES = (".jsonl", ".json", ".ndjson")
CSV_SUFFIXES = (".csv", ".tsv")
BINARY_SUFFIXES = (PARQUET_SUFFIX, *ARROW_SUFFIXES, *EXCEL_SUFFIXES, *OTHER_SPREADSHEETS)
SUFFIXES = (*JSON_SUFFIXES, *CSV_SUFFIXES, *BINARY_SUFFIXES)
MAX_COLUMNS = 1000
MAX_NAMED_SHEETS = 3  # in a note
DELIMITERS = ",;\t|"
_DELIMITER_LINE = re.compile(r"\"?sep=([,;|\t])\"?", re.IGNORECASE)


@dataclass(frozen=True)
class RecordTable:
    """The columns of a file, each a list with one value (or None) per record."""

    path: Path | None  # None: the records do not come from a file
    columns: RecordColumns
    lines: list[int]  # where each record starts; its number, where a file has no lines
    class_names: Mapping[str, list[str]] = field(default_factory=dict)  # of columns whose labels are declared
    notes: tuple[str, ...] = ()  # what was left out of the file

    @classmethod
    def from_columns(
        cls,
        path: Path | None,
        columns: Mapping[str, list[Any]],
        lines: list[int] | None = None,
        class_names: Mapping[str, list[str]] | None = None,
    ) -> RecordTable:
        """Return the table of some columns; without lines, records are numbered from 1."""
        n_records = len(next(iter(columns.values()), ()))
        numbers = list(range(1, n_records + 1)) if lines is None else lines
        return cls(path, RecordColumns(columns), numbers, class_names or {})

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, *names: str) -> str | None:
        """Return the first of `names` that is a column, whatever its case."""
        by_name = {column.strip().lower(): column for column in reversed(self.columns)}
        return next((by_name[name.lower()] for name in names if name.lower() in by_name), None)

    def require(self, name: str) -> str:
        """Return the column called `name`, whatever its case."""
        found = self.find(name)
        if found is None:
            self.check_columns([name])
        return found or name  # a path that is no column by itself

    def check_columns(self, names: list[str]) -> None:
        """Reject a name that is not a column."""
        for name in names:
            if not self.columns.has(name):
                raise DataError(
                    f"there is no column {name!r}; the columns are {self.list_columns()}",
                    file=self.path,
                    line=1,
                    remedy="name one of these columns",
                )

    def list_columns(self) -> str:
        """Return the names of the columns for a message."""
        paths = self.columns.list_paths()
        return ", ".join(map(repr, paths[:20])) + (", …" if len(paths) > 20 else "")

    def list_strings(self, column: str | None) -> list[str]:
        """Return the values of a column as text; '' where there is none."""
        if column is None:
            return [""] * len(self)
        values = self.columns[column]
        for value, line in zip(values, self.lines, strict=True):
            if isinstance(value, list | dict):
                raise DataError(
                    f"{column!r} is a {'list' if isinstance(value, list) else 'record'}, text is expected",
                    file=self.path,
                    line=line,
                    remedy="name the column that holds the text",
                )
        return ["" if value is None else value if isinstance(value, str) else str(value) for value in values]


def is_table(path: Path) -> bool:
    return path.is_file() and Path(get_bare_name(path)).suffix.lower() in SUFFIXES


def read_table(
    path: Path,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    *,
    max_records: int | None = None,
    header: bool = True,
) -> RecordTable:
    """Return the records of a file, in the format its name tells: all, or the first `max_records`.

    Without a `header`, the columns of a CSV or TSV file are called `column 1`, `column 2`, …
    """
    suffix = Path(get_bare_name(path)).suffix.lower()
    if suffix in (PARQUET_SUFFIX, *ARROW_SUFFIXES):
        table = _read_arrow(path, max_records)
    elif suffix in (*EXCEL_SUFFIXES, *OTHER_SPREADSHEETS):
        table = _read_excel(path, max_records)
    elif suffix in CSV_SUFFIXES:
        delimiter = "\t" if delimiter is None and suffix == ".tsv" else delimiter
        table = _read_csv(path, encoding, delimiter, max_records, header)
    else:
        document = read_json_document(path, encoding) if suffix == ".json" else None
        records = read_json_records(path, encoding) if document is None else document
        table = _collect_records(path, islice(records, max_records))
    if not len(table):
        raise DataError("the file has no records", file=path, line=1, remedy="check that it is complete")
    return table


def read_json_records(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, record) for every line of a file of JSON lines."""
    for number, line in read_lines(path, encoding):
        text = line.strip()
        if not text:
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as failure:
            reason = failure.msg if isinstance(failure, json.JSONDecodeError) else str(failure)
            raise DataError(
                f"the line is not JSON ({reason})",
                file=path,
                line=number,
                remedy="write one JSON object per line; the file may be cut off",
            ) from None
        if not isinstance(record, dict):
            raise DataError(
                f"the line is a JSON {type(record).__name__}, not an object",
                file=path,
                line=number,
                remedy='write one JSON object per line, such as {"title": "…", "labels": ["…"]}',
            )
        yield number, record


def _collect_records(path: Path, records: Iterable[tuple[int, dict[str, Any]]]) -> RecordTable:
    """Return the table of records, whose fields may differ."""
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for number, record in records:
        for name in record:
            if name not in columns:
                columns[name] = [None] * len(lines)
        if len(columns) > MAX_COLUMNS:
            raise DataError(
                f"the records have more than {MAX_COLUMNS:,} different fields",
                file=path,
                line=number,
                remedy="give all records the same fields",
            )
        for name, values in columns.items():
            values.append(record.get(name))
        lines.append(number)
    return RecordTable.from_columns(path, columns, lines)


def _read_csv(
    path: Path, encoding: str, delimiter: str | None, max_records: int | None, header: bool = True
) -> RecordTable:
    lines: list[int] = []
    names, records = open_csv_records(path, encoding, delimiter, header=header)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for line, fields in islice(records, max_records):
        for name, value in zip(names, fields, strict=True):
            columns[name].append(value)
        lines.append(line)
    return RecordTable.from_columns(path, columns, lines)


def open_csv_records(
    path: Path, encoding: str = "utf-8", delimiter: str | None = None, *, header: bool = True
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names in the first line, and the (line, fields) of every record, read one after the other."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents are longer than the default of 128 KiB
    n_skipped = 0
    text = _split_old_lines(line for _, line in read_lines_with_ends(path, encoding))
    first = next(text, "")
    while first and (not first.strip() or _DELIMITER_LINE.fullmatch(first.strip("\r\n"))):
        # Excel writes and reads a first line such as `sep=;`.
        said = _DELIMITER_LINE.fullmatch(first.strip("\r\n"))
        delimiter = delimiter or (said[1] if said else None)
        first = next(text, "")
        n_skipped += 1
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    records = _read_csv_records(chain([first], text), delimiter, path, n_skipped)
    line, names = next(records, (1, []))
    if header:
        _check_different(names, path, line)
    else:
        records = chain([(line, names)], records)
        names = [f"column {number}" for number in range(1, len(names) + 1)]
    return names, _check_csv_records(records, len(names), delimiter, path)


def _split_old_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines; a file that is one line with carriage returns, as old programs write them, has its lines there."""
    for line in lines:
        if line.endswith("\n") or "\r" not in line.rstrip("\r"):
            yield line
        else:
            yield from io.StringIO(line.replace("\r", "\n"))


def _check_csv_records(
    records: Iterator[tuple[int, list[str]]], n_names: int, delimiter: str, path: Path
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not empty; each must have as many fields as the first line has names."""
    for line, fields in records:
        if not fields:
            continue
        if len(fields) != n_names:
            raise DataError(
                f"the record has {len(fields)} fields, but the first line names {n_names}",
                file=path,
                line=line,
                remedy=f"check quotes and separators ({delimiter!r} separates fields here)",
            )
        yield line, fields


def _read_csv_records(
    text: Iterable[str], delimiter: str, path: Path, n_skipped: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line it starts at, fields) of every record; a record may span several lines."""
    try:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
    except TypeError:
        raise ConfigError(f"the delimiter must be one character, got {delimiter!r}") from None
    while True:
        line = n_skipped + reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as failure:
            raise DataError(
                f"the record that starts here is not CSV ({failure})", file=path, line=line, remedy="check its quotes"
            ) from None
        yield line, fields


def _read_arrow(path: Path, max_records: int | None) -> RecordTable:
    table = read_arrow_file(path, max_records)
    names = find_class_names(table.schema)
    return RecordTable.from_columns(path, convert_columns(table, path, names), class_names=names)


def _read_excel(path: Path, max_records: int | None) -> RecordTable:
    """Return the first sheet of a workbook; its first row that is not empty names the columns."""
    others: list[str] = []
    rows = read_excel_rows(path, others)
    number, header = next(rows, (1, []))
    used = [place for place, cell in enumerate(header) if cell is not None]
    names = [str(header[place]).strip() for place in used]
    if len(used) > MAX_COLUMNS:
        raise DataError(
            f"the sheet has more than {MAX_COLUMNS:,} columns", file=path, line=number, remedy="remove some"
        )
    _check_different(names, path, number)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    lines: list[int] = []
    for line, cells in islice(rows, max_records):
        for name, place in zip(names, used, strict=True):
            columns[name].append(cells[place] if place < len(cells) else None)
        lines.append(line)
    more = ", …" if len(others) > MAX_NAMED_SHEETS else ""
    named = ", ".join(map(repr, others[:MAX_NAMED_SHEETS])) + more
    note = f"only the first sheet of {path.name} is read; save {named} as files of their own to use them"
    return replace(RecordTable.from_columns(path, columns, lines), notes=(note,) if others else ())


def _check_different(names: list[str], path: Path, line: int = 1) -> None:
    """Reject two columns of one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the column {twice!r} occurs twice", file=path, line=line, remedy="rename one of the two")
