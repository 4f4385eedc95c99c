"""How much memory is free, and a clear error where something would not fit."""

from __future__ import annotations

from pathlib import Path

import psutil

from xcwork.errors import DataError

CONTAINER_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")
MAX_USED_SHARE = 0.9  # of the free memory


def measure_available_memory() -> int:
    """Return the bytes that can be allocated now: what the system has free, at most the limit of the container."""
    free = int(psutil.virtual_memory().available)
    try:
        return min(free, int(CONTAINER_LIMIT_FILE.read_text()))
    except (OSError, ValueError):  # no container, or "max": one without a limit
        return free


def check_memory(needed: int, what: str, file: str | Path) -> None:
    """Refuse what cannot fit before anything is allocated."""
    available = measure_available_memory()
    if needed > MAX_USED_SHARE * available:
        raise DataError(
            f"{what} would need {needed / 2**30:.1f} GiB, but only {available / 2**30:.1f} GiB of memory are free",
            file=file,
            remedy="check the file, use a subset of the data, or use a machine with more memory",
        )
