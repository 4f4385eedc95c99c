"""Waiting for conditions instead of for time."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 240.0  # for a first start on a busy machine
POLL_SECONDS = 0.02  # files and ports cannot wake us up


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition; too long without it is a failure that says what was missing."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still waiting for {what}"
        time.sleep(POLL_SECONDS)
