"""Several processes (ranks) that train one neural model together: each holds the classifiers of some labels.

`torchrun` starts the ranks and tells them about each other; `join_ranks` connects them:

    torchrun --nproc-per-node 2 script.py        # script.py: with ranks.join_ranks(): model.fit(train); …

`xcwork train flat --ranks 2` does the same in the worker of a run. Inside it, `flat`, `mhs`, `mhc` and `mhp` cut what
grows with the labels by rows (`Shard`): a rank keeps, scores and trains its own rows only. See
`xcwork.methods.multihead.sharded` for what is exchanged. Collectives run over gloo on CPUs and over NCCL between CUDA
devices.

Nothing here imports torch before a group is joined.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from xcwork.errors import ConfigError

if TYPE_CHECKING:
    import torch

# The first rank may wait in a queue for long; torchrun ends all ranks when one dies, so nobody waits in vain.
MAX_WAIT_DAYS = 7


def count_torchrun_ranks() -> int:
    """Return how many processes torchrun started, including this one; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "TORCHELASTIC_RUN_ID" in os.environ else 1


@dataclass(frozen=True)
class Group:
    """The ranks, seen from one of them. Every rank must make the same calls in the same order."""

    rank: int
    size: int

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over all ranks, in place."""
        import torch.distributed as dist

        dist.all_reduce(values)
        return values

    def max(self, values: torch.Tensor) -> torch.Tensor:
        """Return the largest of all ranks, entry by entry, in place."""
        import torch.distributed as dist

        dist.all_reduce(values, op=dist.ReduceOp.MAX)
        return values

    def copy_from_first(self, values: torch.Tensor) -> torch.Tensor:
        """Return what the first rank has, in place."""
        import torch.distributed as dist

        dist.broadcast(values, src=0)
        return values

    def join_columns(self, values: np.ndarray) -> np.ndarray:
        """Return the arrays (n, k) of all ranks as one (n, k · size)."""
        import torch
        import torch.distributed as dist

        mine = torch.from_numpy(np.ascontiguousarray(values))
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(parts, mine)
        return np.hstack([part.numpy() for part in parts])

    def agree(self, wish: bool | None) -> bool:
        """Return what the first rank wishes; the others give None."""
        import torch

        return bool(self.copy_from_first(torch.tensor([int(bool(wish))]))[0])


@dataclass(frozen=True)
class Shard:
    """The rows of a table that one rank holds: stretches of equal length, give or take one."""

    group: Group
    n_rows: int  # of the whole table

    def __post_init__(self) -> None:
        if self.n_rows < self.group.size:
            raise ConfigError(f"{self.n_rows} labels cannot be shared by {self.group.size} ranks; use fewer ranks")

    def compute_bounds(self, rank: int) -> tuple[int, int]:
        """Return the first row of a rank and the row after its last one."""
        return rank * self.n_rows // self.group.size, (rank + 1) * self.n_rows // self.group.size

    @property
    def first(self) -> int:
        return self.compute_bounds(self.group.rank)[0]

    @property
    def stop(self) -> int:
        return self.compute_bounds(self.group.rank)[1]

    def take_mine(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of this rank, from all rows or from themselves."""
        return rows[self.first : self.stop] if len(rows) == self.n_rows else rows

    def gather_whole(self, rows: np.ndarray) -> np.ndarray:
        """Return all rows on the first rank; every other one sends its rows and keeps them."""
        import torch
        import torch.distributed as dist

        rows = np.ascontiguousarray(rows)
        if self.group.rank > 0:
            dist.send(torch.from_numpy(rows), dst=0)
            return rows
        everything = np.empty((self.n_rows, *rows.shape[1:]), rows.dtype)
        everything[self.first : self.stop] = rows
        for rank in range(1, self.group.size):
            dist.recv(torch.from_numpy(everything[slice(*self.compute_bounds(rank))]), src=rank)
        return everything


@dataclass(frozen=True)
class GroupedShard(Shard):
    """The rows of a table in groups of so many, which stay together."""

    rows_per_group: int

    def __post_init__(self) -> None:
        Shard(self.group, self.n_rows // self.rows_per_group)  # refuses too few groups

    def compute_bounds(self, rank: int) -> tuple[int, int]:
        """Return the first row of a rank and the row after its last one."""
        first, stop = Shard(self.group, self.n_rows // self.rows_per_group).compute_bounds(rank)
        return first * self.rows_per_group, stop * self.rows_per_group


_current: ContextVar[Group | None] = ContextVar("xcwork_ranks", default=None)


def get_group() -> Group | None:
    """Return the ranks that share the work of this process, if there are any."""
    return _current.get()


def make_shard(n_rows: int) -> Shard | None:
    """Return this rank's part of a table with `n_rows` rows; None when the table is not shared."""
    group = get_group()
    return None if group is None else Shard(group, n_rows)


def take_own_gpu() -> str:
    """Let this rank use the GPU of its local number, where there are GPUs; return what connects the ranks."""
    import torch

    if not torch.cuda.is_available():
        return "gloo"
    number = int(os.environ["LOCAL_RANK"])
    if number >= torch.cuda.device_count():
        raise ConfigError(
            f"there are {torch.cuda.device_count()} GPUs here, but rank {number + 1} of this machine needs one of its "
            "own; use as many ranks as there are GPUs"
        )
    torch.cuda.set_device(number)
    return "cpu:gloo,cuda:nccl"


@contextmanager
def join_ranks() -> Iterator[Group | None]:
    """Connect with the other ranks that torchrun started; without torchrun, or with one rank, nothing changes."""
    if count_torchrun_ranks() == 1:
        yield None
        return
    import torch.distributed as dist

    dist.init_process_group(take_own_gpu(), timeout=timedelta(days=MAX_WAIT_DAYS))
    group = Group(dist.get_rank(), dist.get_world_size())
    token = _current.set(group)
    try:
        yield group
    finally:
        _current.reset(token)
        dist.destroy_process_group()


@contextmanager
def work_alone() -> Iterator[None]:
    """Let this rank work for itself until the block ends: whole models, nothing exchanged."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
