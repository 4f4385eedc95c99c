"""Status updates of a worker: everything that others see of a running run goes through one `Reporter`.

It is a callback, so progress of the engine becomes `status.json` (at most twice a second) and `metrics.jsonl`, and a
`cancel` flag becomes a request to stop at the next step. A thread of its own repeats the status every few seconds,
because a compiled kernel may run for minutes without a step.
"""

from __future__ import annotations

import logging
import math
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xcwork.errors import Cancelled
from xcwork.progress import Callback
from xcwork.runs import events
from xcwork.runs.status import CANCEL_FLAG, Status, format_now, write_status

logger = logging.getLogger(__name__)

PROCESS_STATUS_FILE = Path("/proc/self/status")
STATUS_INTERVAL_SECONDS = 0.5
HEARTBEAT_INTERVAL_SECONDS = 3.0
FLURRY_SECONDS = 0.05  # phases that follow each other faster are not written one by one


@dataclass(frozen=True)
class Spent:
    """Time on the clock, and processor time of all threads of this process."""

    seconds: float
    cpu_seconds: float

    @classmethod
    def read_clocks(cls) -> Spent:
        return cls(time.monotonic(), time.process_time())


class Stopwatch:
    """Adds up the time of blocks, readable from another thread while one runs."""

    def __init__(self, seconds: float, cpu_seconds: float = 0.0) -> None:
        before = Spent(seconds, cpu_seconds)
        self._state: tuple[Spent, Spent | None] = (before, None)  # before the block, and when it began: set together

    def read(self) -> Spent:
        """Return all time so far."""
        before, since = self._state
        if since is None:
            return before
        now = Spent.read_clocks()
        return Spent(
            before.seconds + now.seconds - since.seconds, before.cpu_seconds + now.cpu_seconds - since.cpu_seconds
        )

    @contextmanager
    def run(self) -> Iterator[None]:
        """Count the time of this block."""
        self._state = (self.read(), Spent.read_clocks())
        try:
            yield
        finally:
            self._state = (self.read(), None)


class Reporter(Callback):
    """Writes the status and the events of one attempt. The worker holds the lock of the run meanwhile."""

    def __init__(self, folder: Path, status: Status, metrics_file: Path) -> None:
        self.status = status
        self._folder, self._metrics_file = folder, metrics_file
        self._begun = time.monotonic()
        self._written = self._phase_begun = 0.0
        self._work = Stopwatch(status.work_seconds, status.cpu_seconds)
        self._training = Stopwatch(status.train_seconds, status.train_cpu_seconds)
        self._calibration = Stopwatch(0.0, status.calibration_cpu_seconds)
        self._guard = threading.RLock()
        self._asked_to_stop, self._closed = False, threading.Event()
        self._heart = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Reporter:
        self.update()
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._heart.join()

    def update(self, **changes: Any) -> None:
        """Change the status and write it now."""
        with self._guard:
            peak = max(self.status.peak_memory_mb, measure_peak_memory_mb())
            measured: dict[str, Any] = {**self._read_times(), "peak_memory_mb": peak}
            self.status = replace(self.status, **{"updated": format_now()} | measured | changes)
            write_status(self._folder, self.status)
            self._written = time.monotonic()
            self._phase_begun = -math.inf  # what comes after a status that was written is no flurry yet

    def time_training(self) -> AbstractContextManager[None]:
        """Count the time of this block as training time."""
        return self._training.run()

    def time_calibration(self) -> AbstractContextManager[None]:
        """Count the time of this block as time of the calibration."""
        return self._calibration.run()

    def time_work(self) -> AbstractContextManager[None]:
        """Count the time of this block as time of the run, which a person waits for."""
        return self._work.run()

    def ask_to_stop(self) -> None:
        """Do what the `cancel` flag does, from a signal handler, which must not take locks: a plain flag."""
        self._asked_to_stop = True

    @property
    def is_cancelled(self) -> bool:
        return self._asked_to_stop or (self._folder / CANCEL_FLAG).exists()

    def stop_if_cancelled(self) -> None:
        """Raise `Cancelled` between phases, where no step asks."""
        if self.is_cancelled:
            raise Cancelled(f"stopped before {self.status.phase or 'the start'}")

    def on_phase(self, phase: str, total: int | None) -> None:
        # A phase may be shorter than the writing of a file, so only phases that are not one of a flurry are written.
        begun = time.monotonic()
        if begun - self._phase_begun >= FLURRY_SECONDS:
            self.update(phase=phase, step=0, total=total)
        else:
            self._remember(phase, 0, total)
        self._phase_begun = begun

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        cancelled = self.is_cancelled
        if cancelled:
            self.update(state="cancelling", phase=phase, step=step, total=total)
        elif time.monotonic() - self._written >= STATUS_INTERVAL_SECONDS:
            self.update(phase=phase, step=step, total=total)
        else:
            self._remember(phase, step, total)
        return cancelled

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        seconds = round(time.monotonic() - self._begun, 3)
        event = {"time": format_now(), "attempt": self.status.attempt, "phase": phase, "step": self.status.step}
        events.append_event(
            self._metrics_file, event | {"seconds": seconds, "memory_mb": measure_peak_memory_mb()} | values
        )

    def _read_times(self) -> dict[str, float]:
        work, training = self._work.read(), self._training.read()
        times = {
            "work_seconds": work.seconds,
            "cpu_seconds": work.cpu_seconds,
            "train_seconds": training.seconds,
            "train_cpu_seconds": training.cpu_seconds,
            "calibration_cpu_seconds": self._calibration.read().cpu_seconds,
        }
        return {name: round(seconds, 3) for name, seconds in times.items()}

    def _remember(self, phase: str, step: int, total: int | None) -> None:
        """Keep the step for the next heartbeat to write."""
        with self._guard:
            self.status = replace(self.status, phase=phase, step=step, total=total)

    def _beat(self) -> None:
        while not self._closed.wait(HEARTBEAT_INTERVAL_SECONDS):
            try:
                self.update()
            except (OSError, MemoryError) as problem:  # a full disk may have room again at the next beat
                logger.warning("the heartbeat could not be written: %s", problem)


def measure_peak_memory_mb() -> float:
    """Return the most memory this process has had so far.

    On Linux the usage that `getrusage` reports begins with that of the process that started this one.
    """
    try:
        lines = PROCESS_STATUS_FILE.read_text("ascii", "replace").splitlines()
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**10, 1)
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
