"""The cells of a labels column as lists of names; how cells list labels is decided over the whole column.

A cell is a list already (JSON lines, Parquet), a single number or record, or text: a JSON list, a Python list, or names
with a separator (see `separators`). The entries of a list are names, whole numbers, or records such as
`{"id": 28, "name": "Action"}`, of which one field is the name: `label_field`, or else the first of NAME_FIELDS that all
records have.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from xcwork.data.readers.columns import RecordTable
from xcwork.data.readers.record_columns import get_nested
from xcwork.data.readers.separators import PUNCTUATION, SPACE, WHOLE_CELL, find_separator, has_moving_labels, split_at
from xcwork.errors import DataError

NAME_FIELDS = ("name", "label", "title", "text", "tag", "term", "value", "uri", "uid", "id")
WRITE_A_LIST = 'write a list such as ["a", "b"], or names with one separator'
_MISSING_COMMA = re.compile(r"(['\"])\s+(?=['\"])")  # how numpy prints a list of names


@dataclass(frozen=True)
class LabelCells:
    """The labels of every record of every table, and how the cells were understood."""

    labels: list[list[list[str]]]
    how: str
    notes: list[str]  # what the cells could mean otherwise, and the option that says so


def split_labels(
    tables: Sequence[RecordTable], column: str, separator: str | None = None, label_field: str | None = None
) -> LabelCells:
    """Read the labels of all records; what separates them is found unless `separator` says it."""
    cells = chain.from_iterable(table.columns[column] for table in tables)
    texts = [text for cell in cells if isinstance(cell, str) and (text := cell.strip())]
    read_text, how, notes = _choose_cell_reader(texts, column, separator)
    entries = [[_read_cell(table, column, row, read_text) for row in range(len(table))] for table in tables]
    field = _find_name_field(tables, column, entries, label_field)
    labels = [
        [_name_all(listed, field, table, column, row) for row, listed in enumerate(rows)]
        for table, rows in zip(tables, entries, strict=True)
    ]
    return LabelCells(labels, how if field is None else f"{how} of records, names from {field!r}", notes)


def _choose_cell_reader(
    texts: list[str], column: str, separator: str | None
) -> tuple[Callable[[str], list[Any]], str, list[str]]:
    """Return (function that reads a text cell, its description, notes)."""
    if separator is not None:
        return partial(split_at, separator), _describe_separator(separator), []
    if not texts:
        return partial(split_at, WHOLE_CELL), "lists", []
    opened = [text for text in texts if text.startswith(("[", "{"))]
    n_closed = sum(text.endswith(("]", "}")) for text in opened)
    if 2 * len(opened) > len(texts) and 2 * n_closed >= len(opened):  # names such as `[urgent] fix` are not closed
        return (_read_json, "JSON lists", []) if all(map(_is_json, texts)) else (_read_python, "Python lists", [])
    found = find_separator(texts, column)
    return partial(split_at, found), _describe_separator(found), list(_list_doubts(texts, column, found))


def _describe_separator(separator: str) -> str:
    if separator == WHOLE_CELL:
        return "one label per cell"
    return "names separated by " + ("spaces" if separator == SPACE else f"`{separator}`")


def _list_doubts(texts: list[str], column: str, found: str) -> Iterator[str]:
    """Say where a separator is uncertain, which other ones the cells contain, and the options that decide otherwise."""
    if found == "," and not has_moving_labels(texts, found):
        count = sum(found in text for text in texts)
        yield (
            f"{count:,} of {len(texts):,} cells of {column!r} are split at `,`, although no label was seen in two "
            f"places; separator={WHOLE_CELL!r} reads every cell as one label"
        )
    for other in PUNCTUATION:
        if other != found and (count := sum(other in text for text in texts)):
            read = "the names contain it" if found else "these cells are read as one label each"
            yield (
                f"{count:,} of {len(texts):,} cells of {column!r} contain `{other}`: {read}; "
                f"separator={other!r} would split them there"
            )
    if found == WHOLE_CELL and 2 * (count := sum(SPACE in text for text in texts)) > len(texts):
        yield (
            f"{count:,} of {len(texts):,} cells of {column!r} contain a space and are read as one label each; "
            f"separator={SPACE!r} would split them there"
        )


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        return False


def _read_json(text: str) -> list[Any]:
    return _to_list(json.loads(text))


def _read_python(text: str) -> list[Any]:
    return _to_list(ast.literal_eval(_MISSING_COMMA.sub(r"\1, ", text)))


def _to_list(value: Any) -> list[Any]:
    """Return the entries of a list; a record is a list of one."""
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list | tuple | set):
        raise ValueError("not a list")
    return list(value)


def _read_cell(table: RecordTable, column: str, row: int, read_text: Callable[[str], list[Any]]) -> list[Any]:
    """Return the entries of one cell: names, numbers or records."""
    cell = table.columns[column][row]
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):  # how pandas writes a missing value
        return []
    try:
        if isinstance(cell, str):
            return read_text(cell.strip()) if cell.strip() else []
        return [cell] if isinstance(cell, int | float) else _to_list(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise _describe_bad_cell(table, column, row, "is not a list of labels") from None


def _find_name_field(
    tables: Sequence[RecordTable], column: str, entries: list[list[list[Any]]], wanted: str | None
) -> str | None:
    """Return the field that holds the names of the labels, or None where no entry is a record."""
    shared: dict[str, None] | None = None  # a set that keeps the order
    for table, rows in zip(tables, entries, strict=True):
        for row, listed in enumerate(rows):
            for record in listed:
                if not isinstance(record, dict):
                    continue
                shared = {key: None for key in record if shared is None or key in shared}
                is_named = bool(shared.keys() & {*NAME_FIELDS}) if wanted is None else _has_field(record, wanted)
                if not is_named:
                    fields = ", ".join(map(repr, list(record)[:10])) or "none"
                    missing = f"no field {wanted!r}" if wanted else "no field that looks like a name"
                    remedy = "say which field holds the names of the labels, such as label_field='name'"
                    raise _describe_bad_cell(table, column, row, f"has {missing}; the fields are {fields}", remedy)
    if shared is None:
        return None
    return wanted or next(field for field in NAME_FIELDS if field in shared)


def _get_field(record: dict[str, Any], field: str) -> Any:
    """Return a field of a record, or of a record inside it, such as `category.name`; None where there is none."""
    return record[field] if field in record else get_nested(record, field.split("."))


def _has_field(record: dict[str, Any], field: str) -> bool:
    return field in record or get_nested(record, field.split(".")) is not None


def _name_all(listed: list[Any], field: str | None, table: RecordTable, column: str, row: int) -> list[str]:
    """Return the names of the entries of one cell, each once."""
    names: dict[str, None] = {}
    for entry in listed:
        label = _get_field(entry, field or "") if isinstance(entry, dict) else entry
        if isinstance(label, float) and label.is_integer():
            label = int(label)  # pandas makes numbers with gaps floats
        if isinstance(label, bool) or not isinstance(label, str | int):
            reason = f"because {str(label)[:40]} is neither a name nor a whole number"
            raise _describe_bad_cell(table, column, row, f"is not a list of labels, {reason}")
        if not (name := str(label).strip()):
            raise _describe_bad_cell(table, column, row, "is not a list of labels, because one of them is empty")
        names[name] = None
    return list(names)


def _describe_bad_cell(
    table: RecordTable, column: str, row: int, problem: str, remedy: str = WRITE_A_LIST
) -> DataError:
    cell = str(table.columns[column][row])[:60]
    return DataError(f"{cell!r} in column {column!r} {problem}", file=table.path, line=table.lines[row], remedy=remedy)
