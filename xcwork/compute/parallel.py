"""The one seam for CPU parallelism: joblib's threads on one machine, the workers of a Dask cluster on several.

Numba kernels release the GIL, therefore threads share the big arrays without copying them (`parallel_map`). Work that
another machine could do as well is written as a pure function of data and item (`block_map`): inside
`xcwork.compute.cluster.using` the data go to every worker once and the blocks go wherever a thread is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from typing import Any, TypeVar

from joblib import Parallel, delayed

from xcwork.compute import cluster
from xcwork.compute.cores import cpu_count
from xcwork.progress import track

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(
    work: Callable[[Item], Result], items: Iterable[Item], phase: str, *, n_jobs: int = -1, total: int | None = None
) -> list[Result]:
    """`[work(item) for item in items]` on `n_jobs` threads (-1: all cores), in order, tracked as `phase`."""
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    return list(track(_on_threads(work, items, n_jobs), phase, total=total))


def block_map(
    work: Callable[[Data, Item], Result],
    data: Data,
    items: Sequence[Item],
    phase: str,
    *,
    n_jobs: int = -1,
    light: bool = False,
    done: int = 0,
    here: bool = False,
) -> Iterator[Result]:
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


ROWS_A_BLOCK = 512


def by_blocks(work: Callable[[int, int], Result], n_rows: int, phase: str, size: int = ROWS_A_BLOCK) -> list[Result]:
    """`work(start, stop)` for blocks that cover the rows, side by side on all cores."""
    if n_rows <= size:  # one document should not pay for starting threads
        return [work(0, n_rows) for _ in track(range(1), phase)]
    return parallel_map(lambda start: work(start, min(start + size, n_rows)), range(0, n_rows, size), phase)


def on_all_threads(kernel: Callable[..., Any], *arguments: Any, shards_a_core: int = 1) -> None:
    """Call `kernel(shard, n_shards, *arguments)` for every shard, as many at the same time as there are cores.

    More shards than cores even out shards of different cost.
    """
    n_shards = shards_a_core * cpu_count()
    with ThreadPoolExecutor(cpu_count()) as threads:
        for done in [threads.submit(kernel, shard, n_shards, *arguments) for shard in range(n_shards)]:
            done.result()
