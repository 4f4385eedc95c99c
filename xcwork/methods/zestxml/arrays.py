"""Work on blocks of rows and on shards, side by side on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from xcwork.parallel import cpu_count, parallel_map
from xcwork.progress import track

ROWS_A_BLOCK = 512

Result = TypeVar("Result")


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
