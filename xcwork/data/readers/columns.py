"""A file of records (CSV, TSV, JSON lines, Parquet) as named columns, with the line every record starts at."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from xcwork.compute.memory import check_memory
from xcwork.data.readers.safe_files import get_bare_name, read_lines, read_lines_with_ends
from xcwork.errors import ConfigError, DataError

JSON_SUFFIXES = (".jsonl", ".json", ".ndjson")
CSV_SUFFIXES = (".csv", ".tsv")
SUFFIXES = (*JSON_SUFFIXES, *CSV_SUFFIXES, ".parquet")
MAX_COLUMNS = 1000
DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class RecordTable:
    """The columns of a file, each a list with one value (or None) per record."""

    path: Path
    columns: dict[str, list[Any]]
    lines: list[int]  # where each record starts; its number, in Parquet

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
        return found or name

    def check_columns(self, names: list[str]) -> None:
        """Reject a name that is not a column."""
        for name in names:
            if name not in self.columns:
                raise DataError(
                    f"there is no column {name!r}; the columns are {self.list_columns()}",
                    file=self.path,
                    line=1,
                    remedy="name one of these columns",
                )

    def list_columns(self) -> str:
        """Return the names of the columns for a message."""
        shown = [repr(column) for column in list(self.columns)[:20]]
        return ", ".join(shown) + (", …" if len(self.columns) > 20 else "")

    def strings(self, column: str | None) -> list[str]:
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
    path: Path, encoding: str = "utf-8", delimiter: str | None = None, *, max_records: int | None = None
) -> RecordTable:
    """Return the records of a file, in the format its name tells: all, or the first `max_records`."""
    suffix = Path(get_bare_name(path)).suffix.lower()
    if suffix == ".parquet":
        table = _read_parquet(path, max_records)
    elif suffix in CSV_SUFFIXES:
        table = _read_csv(path, encoding, "\t" if delimiter is None and suffix == ".tsv" else delimiter, max_records)
    else:
        table = _read_json_lines(path, encoding, max_records)
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


def _read_json_lines(path: Path, encoding: str, max_records: int | None) -> RecordTable:
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for number, record in islice(read_json_records(path, encoding), max_records):
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
    return RecordTable(path, columns, lines)


def _read_csv(path: Path, encoding: str, delimiter: str | None, max_records: int | None) -> RecordTable:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents are longer than the default of 128 KiB
    text = (line for _, line in read_lines_with_ends(path, encoding))
    first = next(text, "")
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    records = _read_csv_records(chain([first], text), delimiter, path)
    _, names = next(records, (1, []))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the column {twice!r} occurs twice", file=path, line=1, remedy="rename one of the two")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    lines: list[int] = []
    for line, fields in islice(records, max_records):
        if not fields:
            continue
        if len(fields) != len(names):
            raise DataError(
                f"the record has {len(fields)} fields, but the first line names {len(names)}",
                file=path,
                line=line,
                remedy=f"check quotes and separators ({delimiter!r} separates fields here)",
            )
        for name, field in zip(names, fields, strict=True):
            columns[name].append(field)
        lines.append(line)
    return RecordTable(path, columns, lines)


def _read_csv_records(text: Iterable[str], delimiter: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line it starts at, fields) of every record; a record may span several lines."""
    try:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
    except TypeError:
        raise ConfigError(f"the delimiter must be one character, got {delimiter!r}") from None
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as failure:
            raise DataError(
                f"the record that starts here is not CSV ({failure})", file=path, line=line, remedy="check its quotes"
            ) from None
        yield line, fields


def _read_parquet(path: Path, max_records: int | None) -> RecordTable:
    import pyarrow as pa
    from pyarrow import parquet

    if path.stat().st_size == 0:
        raise DataError("the file is empty", file=path, remedy="download or write it again")
    try:
        file = parquet.ParquetFile(path)
        if max_records is None:
            groups = range(file.metadata.num_row_groups)
            check_memory(2 * sum(file.metadata.row_group(i).total_byte_size for i in groups), "the table", path)
            table = file.read()
        else:
            table = pa.Table.from_batches(
                islice(file.iter_batches(batch_size=max_records), 1), schema=file.schema_arrow
            )
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as failure:
        raise DataError(
            f"the Parquet file is damaged ({str(failure)[:100]})", file=path, remedy="download or write it again"
        ) from failure
    return RecordTable(path, columns, list(range(1, table.num_rows + 1)))
