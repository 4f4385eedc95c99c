"""A worker that labels a file stops after its first answers, so that a test decides when it is killed or goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MAX_SECONDS = 600  # a worker that its test has forgotten goes on


def pause_after_answers(gate: Path) -> None:
    """Announce every block of answers as the file `written` in the folder `gate`, and wait there for `open`."""
    from xcwork.runs.resumable_output import ContinuedFile

    write = ContinuedFile.write

    def write_and_wait(self: ContinuedFile, records: Iterable[Mapping[str, Any]]) -> None:
        write(self, records)
        (gate / "written").touch()
        deadline = time.monotonic() + MAX_SECONDS
        while not (gate / "open").exists() and time.monotonic() < deadline:
            threading.Event().wait(0.01)

    ContinuedFile.write = write_and_wait
