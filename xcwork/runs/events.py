"""`metrics.jsonl`: one JSON object per line, only ever appended to.

A kill can cut the last line short. The reader leaves out what is not a complete object, and the writer starts a fresh
line when the file does not end with one, so a torn line costs that one event and nothing else.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from xcwork.storage.atomic import json_bytes


def append(path: Path, event: dict[str, Any]) -> None:
    """Add one event in a single write."""
    line = json_bytes({key: _plain(value) for key, value in event.items()}) + b"\n"
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)


def read(path: Path) -> list[dict[str, Any]]:
    """Return all complete events, in order."""
    return Tail(path).read()


class Tail:
    """Reads a growing file: every `read` gives the events that became complete since the last one."""

    def __init__(self, path: Path) -> None:
        self.path, self._offset = path, 0

    def read(self) -> list[dict[str, Any]]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                complete, newline, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._offset += len(complete) + len(newline)
        parsed = (_parse(line) for line in complete.split(b"\n"))
        return [event for event in parsed if event is not None]


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _plain(value: Any) -> Any:
    """Numbers of any library as JSON numbers; what JSON cannot hold (NaN, infinity) as null."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
