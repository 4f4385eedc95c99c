"""Waiting for conditions instead of for time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

# For a first start on a busy machine; while tests are written, less is enough.
PATIENCE_SECONDS = float(os.environ.get("XCWORK_TEST_PATIENCE", "120"))
POLL_SECONDS = 0.02  # files and ports cannot wake us up


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition; too long without it is a failure that says what was missing."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still waiting for {what}"
        time.sleep(POLL_SECONDS)
