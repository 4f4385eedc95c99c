"""What every process in the background does: it stops when asked by a signal, and logs to the file of its run."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any


class Signals:
    """SIGTERM and Ctrl-C ask for a clean stop, from the first line of the worker to the last status it writes."""

    def __init__(self) -> None:
        self._asked = False
        self._listener: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def tell(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a signal comes, or now if one came before there was anybody to tell."""
        self._listener = listener
        if self._asked:
            listener()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if self._listener is not None:
            self._listener()

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():  # Python lets only this one say what signals do
            self._before = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Send everything that xcwork logs to the file."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("xcwork")
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        with suppress(OSError):  # lines that found no room on the disk must not hide how the run ended
            handler.close()
