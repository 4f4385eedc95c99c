"""The one seam for CPU parallelism: joblib, so that a cluster back end can take the same work.

Numba kernels release the GIL, therefore threads share the big arrays without copying them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

from joblib import Parallel, delayed

from xcwork.progress import track

Item = TypeVar("Item")
Result = TypeVar("Result")


def cpu_count() -> int:
    """Cores this process may use (an affinity mask counts, unlike with `os.cpu_count`)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(
    work: Callable[[Item], Result], items: Iterable[Item], phase: str, *, n_jobs: int = -1, total: int | None = None
) -> list[Result]:
    """`[work(item) for item in items]` on `n_jobs` threads (-1: all cores), in order, tracked as `phase`."""
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    jobs = cpu_count() if n_jobs == -1 else n_jobs
    results = Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(delayed(work)(item) for item in items)
    return list(track(results, phase, total=total))
