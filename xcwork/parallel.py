"""The one seam for CPU parallelism: joblib's threads on one machine, the workers of a Dask cluster on several.

Numba kernels release the GIL, therefore threads share the big arrays without copying them (`parallel_map`). Work that
another machine could do as well is written as a pure function of data and item (`block_map`): inside
`xcwork.cluster.using` the data go to every worker once and the blocks go wherever a thread is free.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import TypeVar

from joblib import Parallel, delayed

from xcwork import cluster
from xcwork.progress import track

Data = TypeVar("Data")
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
    return list(track(_on_threads(work, items, n_jobs), phase, total=total))


def block_map(
    work: Callable[[Data, Item], Result], data: Data, items: Sequence[Item], phase: str, *,
    n_jobs: int = -1, light: bool = False, done: int = 0, here: bool = False,
) -> Iterator[Result]:  # fmt: skip
    """`work(data, item)` of every item, in order and as they come, on the cluster or on `n_jobs` threads here.

    `work` is a function of a module, and changes neither `data`, which is one object, nor anything else. Many small
    items are `light`: they travel together. `done` steps were finished in an earlier attempt and count as progress.
    `here`: not on the cluster, because the data live on an accelerator.
    """
    place = None if here else cluster.current()
    if place is not None:
        results: Iterable[Result] = place.run(work, data, items, phase, light=light) if items else ()
    elif n_jobs == 1:
        results = (work(data, item) for item in items)
    else:
        results = _on_threads(lambda item: work(data, item), items, n_jobs)
    steps = track(chain(repeat(None, done), results), phase, total=done + len(items))
    for step, result in enumerate(steps):
        if step >= done:
            yield result


def at_once() -> int:
    """Blocks that are worked on at the same time: the threads of the cluster, or 1, since a block here uses all."""
    place = cluster.current()
    return 1 if place is None else place.threads


def _on_threads(work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterable[Result]:
    jobs = cpu_count() if n_jobs == -1 else n_jobs
    return Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(delayed(work)(item) for item in items)
