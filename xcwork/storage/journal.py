"""Files of lines that are only ever appended to, by several processes at a time, and that no kill can damage.

An append takes the kernel's lock of the file, which ends with its holder, and adds the line in one write. What a kill
or a full disk cut short is either taken back or closed with a line break, so that it costs that one line and nothing
else. With `is_durable` the line has reached the disk when the function returns.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def append_line(path: Path, line: bytes, *, is_durable: bool = False) -> None:
    """Add `line`, which has no line break in it, to the end of the file at `path`; create the file if need be."""
    is_new = not path.exists()
    # A link in a folder from elsewhere could lead to any file of the user's.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        try:
            _write_all(descriptor, (b"\n" if is_torn else b"") + line + b"\n")
            if is_durable:
                os.fsync(descriptor)
        except OSError:  # a full disk: half a line would be in the way of the next one
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
    if is_new and is_durable:
        _sync_folder(path.parent)


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _sync_folder(folder: Path) -> None:
    """Bring the name of a new file to the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
