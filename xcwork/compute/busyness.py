"""How long processor time takes on this machine, with what else it has to do."""

from __future__ import annotations

import math
from collections.abc import Iterable

from xcwork.compute.cores import count_cores

SERIAL_SHARE = 0.54  # of a run, that one core does while the others wait: two cores are 1.3 times as fast as one
AVERAGING_SECONDS = 60.0  # over which the operating system averages the load


def estimate_clock_seconds(cpu_seconds: float, other_load: float = 0.0, n_cores: int = 0) -> float:
    """Return how long a run with this much processor time takes, beside so many threads of others.

    On an idle machine the serial share of the work decides. On a busy one all threads share the cores alike: with n
    cores and as many threads of its own, a run gets n / (n + others) of them.
    """
    cores = n_cores or count_cores()
    alone = SERIAL_SHARE + (1.0 - SERIAL_SHARE) / cores
    beside = (cores + other_load) / cores**2
    return cpu_seconds * max(alone, beside)


def limit_load(load: float, clock_seconds: float, cpu_seconds: float, n_cores: int = 0) -> float:
    """Return the load of others, at most as large as a run met it that took so long on the clock.

    The operating system counts all threads alike. Those that have a lower priority, share the cores as a group, or wait
    for a disk, take less than an equal share, and how much less only shows in what they leave to others.
    """
    cores = n_cores or count_cores()
    met = cores**2 * clock_seconds / cpu_seconds - cores
    return min(load, max(0.0, met))


def measure_load(own: Iterable[tuple[float, float]] = (), own_threads: float = 0.0) -> float:
    """Return how many threads of others wanted a core in the last minute.

    `own` are runs of ours, which will be over when the next one begins: how many seconds ago each began and ended. What
    they have in the average of the operating system, which forgets exponentially, is left out.
    """
    import psutil

    threads = own_threads or float(count_cores())
    shares = (math.exp(-end / AVERAGING_SECONDS) - math.exp(-begin / AVERAGING_SECONDS) for begin, end in own)
    return max(0.0, psutil.getloadavg()[0] - threads * sum(shares))
