"""Is the process that wrote a status still alive? Process ids are reused, so the id alone cannot tell.

On Linux the start time of the process (in clock ticks since boot, from /proc) together with the id of the boot names a
process for good. Elsewhere only the process id can be asked, and the heartbeat of the status has to settle the rest.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

PROC = Path("/proc")
THREADS_FIELD, START_TIME_FIELD = 17, 19  # of /proc/<pid>/stat, counted after the command name


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def identity(pid: int) -> str | None:
    """A text that no other process of this machine ever has; "" where it cannot be known; None when `pid` is dead."""
    if not (PROC / "self").exists():
        return "" if _answers(pid) else None
    try:
        stat = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name stands in parentheses and may itself contain blanks and parentheses.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not asked for the exit code yet. While it still has other threads, though,
    # they are on their way out and its files and locks are not closed.
    ended = fields[0] in "ZX" and int(fields[THREADS_FIELD]) <= 1
    return None if ended else f"{_boot()}-{fields[START_TIME_FIELD]}"


def alive(pid: int, known_identity: str) -> bool:
    """Whether the process that had `pid` and `known_identity` still runs on this machine."""
    found = identity(pid)
    if found is None:
        return False
    return not found or not known_identity or found == known_identity


def can_identify() -> bool:
    """Whether this system tells processes with the same id apart."""
    return bool(identity(os.getpid()))


@cache
def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()[:8]
    except OSError:
        return "boot"


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
