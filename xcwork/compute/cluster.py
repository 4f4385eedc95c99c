"""A Dask cluster as the place where the blocks of `xcwork.compute.parallel` are worked on.

    with cluster.use_cluster("tcp://scheduler:8786"):  # or "local:2": two worker processes on this machine
        model.fit(train)

Inside the block every `parallel.block_map` sends its data to each worker once, however many blocks and phases follow,
and then one small message per block: which labels, which node. What comes back is small as well (pruned weights). So
the network carries

    workers · (size of the data)  +  (size of the model)

and the workers need the data, one block per thread, and nothing of the model. The process that called `fit` keeps the
model and the checkpoint, and cancelling or resuming works as on one machine. A block is a pure function of data and
item, so the result does not depend on who computed it, and a block of a worker that died is computed again elsewhere.

joblib has a Dask back end, too; it sends the data again with every call, which is why futures are used directly.
"""

from __future__ import annotations

import math
import re
import socket
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from xcwork.errors import ConfigError, RunError
from xcwork.extras import require_package

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 10
WAITING_BLOCKS_PER_THREAD = 2  # handed out beyond the one at work, so that no thread waits for the network
MAX_LOCAL_WORKERS = 256
_END = object()  # of what is handed out
ADDRESS_HINT = "give tcp://HOST:PORT as `dask scheduler` prints it, or local:N for N processes on this machine"


def check_address(address: str) -> str:
    """Return `address` if a cluster may be there, else raise one sentence; nothing is started."""
    require_package("distributed", "a Dask cluster")
    if address.startswith("local:"):
        _count_local_workers(address)
        return address
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in ("tcp", "tls") or not host or not port:
        raise ConfigError(f"{address!r} is not the address of a cluster; {ADDRESS_HINT}")
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as problem:
        raise ConfigError(f"no cluster answers at {address} ({problem}); {ADDRESS_HINT}") from None
    return address


def _count_local_workers(address: str) -> int:
    number = address.removeprefix("local:")
    if not re.fullmatch(r"\d{1,4}", number) or not 1 <= int(number) <= MAX_LOCAL_WORKERS:
        raise ConfigError(f"{address!r} does not say how many processes; write local:2 (at most {MAX_LOCAL_WORKERS})")
    return int(number)


class Cluster:
    """An open connection: its workers, and what they have been given."""

    def __init__(self, client: Client, address: str) -> None:
        self.client, self.address = client, address
        self._sent: dict[int, Future[Any]] = {}

    @property
    def threads(self) -> int:
        """Blocks that are worked on at a time."""
        return max(1, sum(self.client.nthreads().values()))

    def run(self, work: Callable[[Any, Any], Any], data: Any, items: Sequence[Any], phase: str) -> Iterator[Any]:
        """Yield `work(data, item)` of all items in order."""
        return (result for _, result in self.map_stream(work, data, items, phase))

    def map_stream(
        self,
        work: Callable[[Any, Any], Any],
        data: Any,
        items: Iterable[Any],
        phase: str,
        *,
        weigh: Callable[[Any], float] = lambda item: 0,
        max_weight: float = math.inf,
    ) -> Iterator[tuple[Any, Any]]:
        """Yield (item, `work(data, item)`) of all items in order; only a few are taken before their turn.

        `data` go to every worker once; None: all that a block needs is part of its item. Items that are handed out
        together weigh no more than `max_weight`, unless one alone does.
        """
        waiting = iter(items)
        next_item = next(waiting, _END)
        weight = 0.0
        pending: deque[tuple[Any, Future[Any]]] = deque()
        try:
            sent = None if data is None else self._send(data)
            while True:
                n_at_once = (1 + WAITING_BLOCKS_PER_THREAD) * self.threads  # less when workers died
                while next_item is not _END and len(pending) < n_at_once:
                    if pending and weight + weigh(next_item) > max_weight:
                        break
                    weight += weigh(next_item)
                    pending.append((next_item, self.client.submit(work, sent, next_item, pure=False)))
                    next_item = next(waiting, _END)
                if not pending:
                    return
                item, future = pending[0]
                result = future.result()
                pending.popleft()
                weight -= weigh(item)
                del future  # the cluster may forget it
                yield item, result
        except self._losses as loss:
            raise RunError(
                f"the cluster at {self.address} was lost during {phase} ({type(loss).__name__}); see the logs of its "
                "workers, which may have run out of memory, and resume the run"
            ) from loss
        finally:
            if pending:
                self.client.cancel([future for _, future in pending])

    def _send(self, data: Any) -> Future[Any]:
        """Send `data` to the workers, once, and return its place; it is dropped there when it is gone here."""
        known = self._sent.get(id(data))
        if known is None:
            known = self._sent[id(data)] = self.client.scatter(data, broadcast=True, hash=False)
            weakref.finalize(data, self._sent.pop, id(data), None)
        return known

    @property
    def _losses(self) -> tuple[type[BaseException], ...]:
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        return (KilledWorker, CommClosedError, CancelledError, TimeoutError)


_current: ContextVar[Cluster | None] = ContextVar("xcwork_cluster", default=None)


def get_cluster() -> Cluster | None:
    """Return the cluster of the surrounding `use_cluster`, if there is one."""
    return _current.get()


@contextmanager
def use_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Let the cluster at `address` work on blocks until the block ends; None or empty: this machine."""
    if not address:
        yield None
        return
    check_address(address)
    with ExitStack() as stack:
        cluster = _connect(address, stack)
        token = _current.set(cluster)
        stack.callback(_current.reset, token)
        yield cluster


def _connect(address: str, stack: ExitStack) -> Cluster:
    from distributed import Client, LocalCluster

    if address.startswith("local:"):
        from xcwork.compute.cores import count_cores

        n_workers = _count_local_workers(address)
        threads = max(1, count_cores() // n_workers)
        # Loopback: nobody else may hand work to these processes.
        place: Any = stack.enter_context(
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=threads,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
                memory_limit=0,
                env={"NUMBA_NUM_THREADS": str(threads)},
            )
        )
    else:
        place = address
    try:
        client = stack.enter_context(Client(place, timeout=CONNECT_SECONDS, set_as_default=False))
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError as problem:
        raise ConfigError(f"the cluster at {address} has no workers that answer ({problem}); start some") from None
    except OSError as problem:
        raise ConfigError(f"no Dask scheduler answers at {address} ({problem}); {ADDRESS_HINT}") from None
    _check_versions(client, address)
    return Cluster(client, address)


def _check_versions(client: Client, address: str) -> None:
    """Reject workers with another version of xcwork: blocks must be computed by the same code everywhere."""
    import xcwork

    try:
        versions = client.run(_read_version)
    except ModuleNotFoundError:
        raise ConfigError(f"the workers of {address} have no xcwork; install {xcwork.__version__} there") from None
    for worker, version in versions.items():
        if version != xcwork.__version__:
            raise ConfigError(
                f"the worker {worker} has xcwork {version}, but this is {xcwork.__version__}; install the same there"
            )


def _read_version() -> str:
    import xcwork

    return xcwork.__version__
