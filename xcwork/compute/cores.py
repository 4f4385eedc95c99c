"""How many cores this process may use."""

from __future__ import annotations

import os


def count_cores() -> int:
    """Return how many cores this process may use (an affinity mask counts, unlike with `os.cpu_count`)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
