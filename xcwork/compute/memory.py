"""How much memory is free, and a clear error where something would not fit."""

from __future__ import annotations

import os
from pathlib import Path

from xcwork.errors import DataError


def available_memory() -> int:
    """Bytes that can be allocated now, as far as the system tells."""
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        limits.append(int(fields.get("MemAvailable", "0 kB").split()[0]) * 1024)
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    cgroup = Path("/sys/fs/cgroup/memory.max")
    if cgroup.exists() and (limit := cgroup.read_text().strip()).isdigit():
        limits.append(int(limit))
    return min([limit for limit in limits if limit > 0], default=8 * 2**30)


def check_memory(needed: int, what: str, file: str | Path) -> None:
    """Refuse what cannot fit before anything is allocated."""
    available = available_memory()
    if needed > 0.9 * available:
        raise DataError(
            f"{what} would need {needed / 2**30:.1f} GiB, but only {available / 2**30:.1f} GiB of memory are free",
            file=file,
            remedy="check the file, take a part of it, or use a machine with more memory",
        )
