"""The one seam for CPU parallelism: threads on one machine, the workers of a Dask cluster on several.

Numba kernels release the GIL, therefore threads share the big arrays without copying them.

* `parallel_map`, `map_row_blocks` and `stream_map` call a function for many items, for stretches of rows, for a stream.
* `run_on_all_threads` calls one kernel on every core, each time for another shard of the same arrays.
* `block_map` is for work that another machine could do as well, a pure function of data and item: inside
  `xcwork.compute.cluster.use_cluster` the data go to every worker once and the blocks go wherever a thread is free.

Kernels with threads of their own are started under `xcwork.kernels.use_cores_for`, and torch chooses its number of
threads in `xcwork.compute.device`: both only say how many threads of a library are used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from threading import Semaphore
from typing import Any, NamedTuple, TypeVar

from xcwork.compute import cluster
from xcwork.compute.cores import count_cores
from xcwork.progress import track

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")

ROWS_PER_BLOCK = 512
ITEMS_PER_THREAD = 2  # handed out and not finished: the one at work, and one so that no thread waits for the next


def parallel_map(
    work: Callable[[Item], Result], items: Iterable[Item], phase: str, *, n_jobs: int = -1, total: int | None = None
) -> list[Result]:
    """Return `[work(item) for item in items]`, computed on `n_jobs` threads (-1: all cores), tracked as `phase`."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    return list(track(stream_map(work, items, n_jobs=n_jobs), phase, total=total))


def map_row_blocks(
    work: Callable[[int, int], Result], n_rows: int, phase: str, size: int = ROWS_PER_BLOCK
) -> list[Result]:
    """Return `work(start, stop)` of all blocks of `size` rows, computed on all cores."""
    starts = range(0, max(n_rows, 1), size)
    # One document should not pay for starting threads.
    n_jobs = 1 if len(starts) == 1 else -1
    return parallel_map(lambda start: work(start, min(start + size, n_rows)), starts, phase, n_jobs=n_jobs)


def stream_map(work: Callable[[Item], Result], items: Iterable[Item], *, n_jobs: int = -1) -> Iterator[Result]:
    """Yield `work(item)` of all items in order, computed on `n_jobs` threads (-1: all cores).

    `items` may be endless: only a few are taken before their turn. The first item that fails ends the stream.
    """
    n_threads = count_cores() if n_jobs == -1 else n_jobs
    if n_threads == 1:
        yield from map(work, items)
        return
    places = Semaphore(ITEMS_PER_THREAD * n_threads)
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            for item in items:
                places.acquire()
                pending.append(threads.submit(work, item))
                pending[-1].add_done_callback(lambda _: places.release())
                while pending and pending[0].done():
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for unwanted in pending:
                unwanted.cancel()


@contextmanager
def multiply_on_one_thread() -> Iterator[None]:
    """Let numpy multiply matrices on the thread that asks: results then do not depend on the number of cores."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def run_on_all_threads(kernel: Callable[..., Any], *arguments: Any, shards_per_core: int = 1) -> None:
    """Call `kernel(shard, n_shards, *arguments)` for every shard, as many at a time as there are cores.

    More shards than cores even out shards of different cost.
    """
    n_shards = shards_per_core * count_cores()
    with ThreadPoolExecutor(count_cores()) as threads:
        for done in [threads.submit(kernel, shard, n_shards, *arguments) for shard in range(n_shards)]:
            done.result()


class Share(NamedTuple):
    """An item with the part of the data that it needs, and how large that is beside all of them."""

    data: Any
    item: Any
    weight: float


def _work_on_share(work: Callable[[Any, Any], Any], nothing: None, share: Share) -> Any:
    return work(share.data, share.item)


def _weigh_share(share: Share) -> float:
    return share.weight


def block_map(
    work: Callable[[Data, Item], Result],
    data: Data,
    items: Sequence[Item],
    phase: str,
    *,
    n_jobs: int = -1,
    done: int = 0,
    here: bool = False,
    cut: Callable[[Data, Item], Share] | None = None,
) -> Iterator[Result]:
    """Yield `work(data, item)` of all items in order, computed on the cluster or on `n_jobs` threads here.

    `work` is a function of a module, and changes neither `data`, which is one object, nor anything else. `done` steps
    were finished in an earlier attempt and count as progress. `here`: not on the cluster, because the data live on an
    accelerator. `cut`: a cluster gets with each item the part of the data that it needs, and never all of them.
    """
    place = None if here else cluster.get_cluster()

    def compute() -> Iterator[Any]:
        yield from [None] * done
        if place is None:
            yield from stream_map(lambda item: work(data, item), items, n_jobs=n_jobs)
        elif items and cut is not None:
            shares = (cut(data, item) for item in items)
            found = place.map_stream(
                partial(_work_on_share, work), None, shares, phase, weigh=_weigh_share, max_weight=1
            )
            yield from (result for _, result in found)
        elif items:
            yield from place.run(work, data, items, phase)

    yield from islice(track(compute(), phase, total=done + len(items)), done, None)


def count_parallel_blocks() -> int:
    """Return how many blocks are computed at a time: the threads of the cluster, or 1, since a block here uses all."""
    place = cluster.get_cluster()
    return 1 if place is None else place.threads
