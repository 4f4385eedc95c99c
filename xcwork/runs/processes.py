"""Is the process that wrote a status still alive? Process ids are reused, so the id alone cannot tell.

The time at which a process started, together with the boot of the machine, names it for good. On Linux this time is
counted from the boot, because setting the clock moves the wall time of a start that psutil reports.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

import psutil

BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


def get_host_name() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


def identify_process(pid: int) -> str | None:
    """Return a text that no other process of this machine ever has; "" if the system refuses; None for a dead one."""
    boot = psutil.boot_time()  # before the start time, which some versions of psutil compute from the last answer
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            # A zombie has ended; only its parent has not asked for the exit code yet. While it still has other threads,
            # though, they are on their way out and its files and locks are not closed.
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD) and process.num_threads() <= 1:
                return None
            started = process.create_time()
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return ""
    if psutil.LINUX:
        return f"{_read_boot_id()}-{round((started - boot) * os.sysconf('SC_CLK_TCK'))}"
    return f"boot-{round(started * 1000)}"


def is_alive(pid: int, known_identity: str) -> bool:
    """Return whether the process that had `pid` and `known_identity` still runs on this machine."""
    found = identify_process(pid)
    if found is None:
        return False
    return not found or not known_identity or found == known_identity


def can_identify(pid: int) -> bool:
    """Return whether the system tells which process has this id."""
    return bool(identify_process(pid))


@cache
def _read_boot_id() -> str:
    try:
        return BOOT_ID_FILE.read_text("ascii").strip()[:8]
    except OSError:
        return "boot"
