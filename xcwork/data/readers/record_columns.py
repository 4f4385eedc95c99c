"""Columns of records by name, and the fields of records inside them by path: `meta.tags`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class RecordColumns(dict[str, list[Any]]):
    """Columns by name; a path such as `meta.tags` is read from the records in `meta` when it is first asked for."""

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        super().__init__(columns)
        self._nested: dict[str, list[Any]] = {}

    def __missing__(self, path: str) -> list[Any]:
        if path not in self._nested:
            self._nested[path] = self._read_path(path)
        return self._nested[path]

    def has(self, path: str) -> bool:
        """Return whether this is a column, or the path of a field that a record has."""
        if path in self:
            return True
        try:
            return bool(self[path])
        except KeyError:
            return False

    def _read_path(self, path: str) -> list[Any]:
        parts = path.split(".")
        for n_parts in range(len(parts) - 1, 0, -1):  # names of columns may contain dots
            column = ".".join(parts[:n_parts])
            if column in self:
                values = [get_nested(value, parts[n_parts:]) for value in self[column]]
                if any(value is not None for value in values):
                    return values
        raise KeyError(path)

    def list_paths(self) -> list[str]:
        """Return the names of the columns, and of the fields of records in the first of their values."""
        paths = []
        for name, values in self.items():
            paths.append(name)
            record = next((value for value in values if value is not None), None)
            record = record[0] if isinstance(record, list) and record else record
            paths += [f"{name}.{key}" for key in record if isinstance(key, str)] if isinstance(record, dict) else []
        return paths


def get_nested(value: Any, parts: list[str]) -> Any:
    """Return the field of a record at a path; of a list of records, the list of their fields."""
    if not parts:
        return value
    if isinstance(value, str) and value[:1] in ("{", "["):  # JSON in a cell of a CSV file
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, list):
        found = [get_nested(each, parts) for each in value if isinstance(each, dict)]
        return [
            entry for each in found if each is not None for entry in (each if isinstance(each, list) else [each])
        ] or None
    return get_nested(value.get(parts[0]), parts[1:]) if isinstance(value, dict) else None
