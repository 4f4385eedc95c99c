"""One training at a time per home folder and device; the others wait for their turn, first come, first served.

The turn is a kernel lock on `runs/.queue-<device>.lock`: it cannot outlive its holder. The lock does not know who came
first, so whoever gets it looks at the waiting runs of the home folder and steps back for one that was launched earlier.
A waiting run whose worker is gone counts as lost, not as waiting, so it holds nobody up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xcwork.errors import RunError
from xcwork.runs.locks import FileLock
from xcwork.runs.reporter import Reporter
from xcwork.runs.status import Status
from xcwork.runs.store import Run, RunStore

POLL_SECONDS = 0.2  # between two tries; a blocking wait could not see the cancel flag


def open_queue_lock(runs_folder: Path, device: str) -> FileLock:
    """Return the lock that is the turn on `device`."""
    return FileLock(runs_folder / f".queue-{device}.lock")


@contextmanager
def take_turn(run: Run, reporter: Reporter, device: str) -> Iterator[None]:
    """Wait, as `queued`, until nobody else trains on `device`, and keep the turn for the block."""
    lock = open_queue_lock(run.folder.parent, device)
    told = ""
    with lock:
        while True:
            reporter.stop_if_cancelled()
            if lock.acquire(holder=run.id):
                earlier = find_earlier_run(run, reporter.status, device)
                if earlier is None:
                    break
                lock.release()
            else:
                holder = lock.read_holder()
                # Our own name stands there for a moment when we stepped back and the next one has not signed yet.
                earlier = holder if holder != run.id else told
            if earlier != told:
                told = earlier
                reporter.update(phase="waiting", message=f"waiting for {earlier or 'another run'} to finish")
            time.sleep(POLL_SECONDS)
        yield


def find_earlier_run(run: Run, status: Status, device: str) -> str | None:
    """Return the id of a run that waits for the same device since before `run`, if there is one."""
    mine = (status.queued or "", run.id)
    for other in RunStore(run.home).list():
        waiting = other.status
        if waiting.state == "queued" and waiting.queued is not None and (waiting.queued, other.id) < mine:
            wanted = waiting.device or _read_asked_device(other)
            if wanted in (device, "auto"):
                return other.id
    return None


def _read_asked_device(run: Run) -> str:
    try:
        return run.config.get("device", "auto")
    except RunError:
        return "none"  # its worker will fail before it asks for a turn
