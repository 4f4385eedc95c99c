"""`metrics.jsonl`: one JSON object per line, only ever appended to.

A kill can cut the last line short. The reader leaves out what is not a complete object, and the writer
(`storage/journal.py`) starts a fresh line when the file does not end with one, so a torn line costs that one event and
nothing else.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from xcwork.storage.atomic import encode_json
from xcwork.storage.journal import append_line


def append_event(path: Path, event: dict[str, Any]) -> None:
    """Add one event in a single write."""
    append_line(path, encode_json({key: _to_plain(value) for key, value in event.items()}))


def read_events(path: Path) -> list[dict[str, Any]]:
    """Return all complete events, in order."""
    return Tail(path).read()


class Tail:
    """Reads a growing file: every `read` gives the events that became complete since the last one."""

    def __init__(self, path: Path) -> None:
        self.path, self._offset = path, 0

    def read(self) -> list[dict[str, Any]]:
        """Return the events that became complete since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                complete, newline, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._offset += len(complete) + len(newline)
        parsed = (_parse_line(line) for line in complete.split(b"\n"))
        return [event for event in parsed if event is not None]


def _parse_line(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _to_plain(value: Any) -> Any:
    """Return numbers of any library as JSON numbers; what JSON cannot hold (NaN, infinity) as null."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
