"""Small conversions between scipy's matrices and the arrays that kernels take."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from xcwork.kernels.linear import Rows
from xcwork.parallel import cpu_count, parallel_map
from xcwork.progress import track

ROWS_A_BLOCK = 512

Result = TypeVar("Result")


def rows_of(matrix: sparse.csr_array, kind: type | None = np.float32) -> Rows:
    """A CSR matrix as kernels take it; `kind` None keeps the type of the values."""
    data = matrix.data if kind is None else matrix.data.astype(kind, copy=False)
    return Rows(data, matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.int64, copy=False))


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


def only(matrix: sparse.csr_array, keep: np.ndarray) -> sparse.csr_array:
    """The entries marked in `keep` (nnz,), in a matrix of the same shape."""
    kept_before = np.concatenate([[0], np.cumsum(keep)])  # (nnz + 1,)
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], kept_before[matrix.indptr]), shape=matrix.shape)
