"""Locks that die with their holder.

An advisory lock of the kernel (`flock`) belongs to the open file, so it is released when the process ends, however it
ends. The file itself stays: removing it would let two processes lock two different files of the same name. Its content
names the holder, for people and messages only.

The library filelock does not replace this: it keeps the descriptor to itself, so the holder could not be named in the
file that is locked; and where the file system has no `flock` it goes over to lock files that a killed process leaves
behind. `flock` is the same on Linux and macOS.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """An exclusive lock on a file; `acquire` never blocks."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._descriptor: int | None = None

    def acquire(self, holder: str = "") -> bool:
        """Take the lock if it is free, and write `holder` into the file."""
        # A link in a run folder from elsewhere could lead to any file of the user's, which would be overwritten.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, holder.encode())
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read_holder(self) -> str:
        """Return who wrote its name last: the holder, while there is one."""
        try:
            return self.path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
