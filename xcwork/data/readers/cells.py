"""The labels column of a table: how its cells list labels is decided over the whole column.

A cell is a list already (JSON lines, Parquet), or text: a JSON list, a Python list, or names separated by `|`, `;`, `,`
or blanks. Blanks separate only if that yields fewer distinct names than there are distinct cells; otherwise names
such as `New York` would be torn apart.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from xcwork.data.readers.tables import Table
from xcwork.errors import DataError

SEPARATORS = {"|": "`|`", ";": "`;`", ",": "`,`"}
_MISSING_COMMA = re.compile(r"(['\"])\s+(?=['\"])")  # how numpy prints a list of names


def split_labels(tables: Sequence[Table], column: str, separator: str | None) -> tuple[list[list[list[str]]], str]:
    """(the labels of every record of every table, how the cells were understood)."""
    texts = [cell.strip() for cell in chain(*(table.columns[column] for table in tables)) if isinstance(cell, str)]
    if not any(texts):
        read_text, how = None, "lists"
    elif separator is not None:
        how = f"names separated by {separator!r}" if separator else "one name a cell"
        read_text = _splitter(separator)
    else:
        read_text, how = _understood([text for text in texts if text])
    return [_split_table(table, column, read_text) for table in tables], how


def _split_table(table: Table, column: str, read_text: Callable[[str], list[Any]] | None) -> list[list[str]]:
    rows = []
    for cell, line in zip(table.columns[column], table.lines, strict=True):
        try:
            if isinstance(cell, str):
                names = read_text(cell.strip()) if read_text and cell.strip() else []
            else:
                names = [] if cell is None else _listed(cell)
            rows.append(list(dict.fromkeys(map(_name, names))))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise DataError(
                f"{str(cell)[:60]!r} in column {column!r} is not a list of labels",
                file=table.path, line=line, remedy='write a list such as ["a", "b"], or names with one separator',
            ) from None  # fmt: skip
    return rows


def _understood(texts: list[str]) -> tuple[Callable[[str], list[Any]], str]:
    """(function that reads a cell, its description)."""
    bracketed = sum(text.startswith("[") for text in texts)
    if 2 * bracketed > len(texts):
        return (_json_list, "JSON lists") if all(map(_is_json, texts)) else (_python_list, "Python lists")
    for separator, shown in SEPARATORS.items():
        if sum(separator in text for text in texts) >= max(1, len(texts) // 100):
            return _splitter(separator), f"names separated by {shown}"
    cells = set(texts)
    if len(set(chain(*map(str.split, cells)))) < len(cells):
        return str.split, "names separated by blanks"
    return lambda text: [text], "one name a cell"


def _splitter(separator: str) -> Callable[[str], list[Any]]:
    if not separator:
        return lambda text: [text]
    if separator.isspace():
        return str.split
    return lambda text: [name for part in text.split(separator) if (name := part.strip())]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _json_list(text: str) -> list[Any]:
    return _listed(json.loads(text))


def _python_list(text: str) -> list[Any]:
    return _listed(ast.literal_eval(_MISSING_COMMA.sub(r"\1, ", text)))


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | set):
        raise ValueError("not a list")
    return list(value)


def _name(label: Any) -> str:
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise ValueError("not a label")
    name = str(label).strip()
    if not name:
        raise ValueError("an empty label")
    return name
