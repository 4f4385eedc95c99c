"""Workers as forks of this process, which has imported everything: a trial costs a fraction of a second.

`jobs.launch` and `jobs.resume` do all their work as always; only the command they would start is replaced by a fork
that calls the same function. Faults are set up inside the fork, so the parent never suffers from them.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.faults import shim
from tests.support.faults.shim import Strike
from xcwork.progress import Callback, listen
from xcwork.runs import Run, jobs, worker
from xcwork.runs.store import LOG_FILE

UNCAUGHT = 70  # exit code of a worker that an error escaped from
POLL = 0.02  # seconds
PATIENCE = 300.0  # seconds; a worker of these small trainings that takes longer hangs


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong. `at` counts changes to files or signs of progress, or is a share of the duration."""

    kind: str  # kill, term, oom, disk, readonly, clock, or nothing
    moment: str = ""  # change, amid, sign, time, allocation
    at: float = 0
    lasting: int = shim.FOREVER
    amount: int = 0  # seconds of a clock jump, bytes of memory left

    def __str__(self) -> str:
        return f"{self.kind} at {self.moment} {self.at:g}" + (f" ({self.amount})" if self.amount else "")


NO_FAULT = Fault("nothing")


class Signs(Callback):
    """Counts every sign of progress, remembers where phases begin and end, and strikes at sign number `at`."""

    def __init__(self, at: int = 0, strike: Callable[[], None] | None = None) -> None:
        self.at, self.strike, self.count = at, strike, 0
        self.boundaries: list[tuple[int, str]] = []

    def _sign(self) -> None:
        self.count += 1
        if self.count == self.at and self.strike is not None:
            self.strike()

    def on_phase(self, phase: str, total: int | None) -> None:
        self._sign()
        self.boundaries.append((self.count, phase))

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self._sign()
        return False

    def on_phase_end(self, phase: str) -> None:
        self._sign()
        self.boundaries.append((self.count, phase))


@dataclass
class Ending:
    """How a worker ended, and what it noted for its parent."""

    code: int
    seconds: float
    notes: dict = field(default_factory=dict)
    seen_lost: bool = False  # shown as lost although it was alive


def start(verb: Callable[[Run], Run], run: Run, fault: Fault, expected_seconds: float = 0.0) -> Ending:
    """Launch or resume `run` with a worker that meets `fault`, and wait for its end."""
    children: list[_Fork] = []

    def fork(run: Run) -> _Fork:
        children.append(_Fork(run, fault))
        return children[-1]

    with _replaced(fork):
        verb(run)
    return children[0].ending(run, fault.at * expected_seconds if fault.moment == "time" else None)


@contextmanager
def _replaced(spawn: Callable[[Run], _Fork]) -> Iterator[None]:
    original = jobs._spawn_worker
    jobs._spawn_worker = spawn
    try:
        yield
    finally:
        jobs._spawn_worker = original


class _Fork:
    """The part of `subprocess.Popen` that `jobs` uses."""

    def __init__(self, run: Run, fault: Fault) -> None:
        self.fault = fault
        self.notes = mmap.mmap(-1, 2**16)  # shared with the child
        self.begun = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._work(run)

    def wait(self) -> int:
        """The exit code is collected by `ending`."""
        return 0

    def _work(self, run: Run) -> None:
        code = UNCAUGHT
        try:
            os.setsid()
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # as with a new program: the launcher's lock is not ours
            log = os.open(run.folder / LOG_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.dup2(log, 1)
            os.dup2(log, 2)
            signs = _set_up(self.fault, run.home)
            with listen([signs]):
                code = worker.main(run.folder)
            noted = {"signs": signs.count, "boundaries": signs.boundaries, **shim.counts()}
            self.notes.write(json.dumps(noted).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def ending(self, run: Run, strike_after: float | None) -> Ending:
        """Wait; on the way send the signal of a fault that comes by time, and look at the run as others would."""
        lost = False
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            elapsed = time.monotonic() - self.begun
            if pid:
                break
            lost = lost or (run.state == "lost" and _still_runs(self.pid))
            if strike_after is not None and elapsed >= strike_after:
                os.kill(self.pid, signal.SIGTERM if self.fault.kind == "term" else signal.SIGKILL)
                strike_after = None
            if elapsed > PATIENCE:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(POLL)
        noted = bytes(self.notes).rstrip(b"\0")
        return Ending(os.waitstatus_to_exitcode(status), elapsed, json.loads(noted or b"{}"), lost)


def _still_runs(pid: int) -> bool:
    """Asked after the run was seen as lost: a worker that lives now lived then."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _set_up(fault: Fault, home: Path) -> Signs:
    """Arrange for the fault inside the worker."""
    at = int(fault.at)
    if fault.moment == "allocation":
        shim.arm(Strike.MEMORY, home, at=at, lasting=fault.lasting)
        return Signs()
    by_change = {
        "kill": Strike.KILL_AMID if fault.moment == "amid" else Strike.KILL_BEFORE,
        "disk": Strike.FULL_DISK,
        "readonly": Strike.READ_ONLY,
        "clock": Strike.CLOCK,
    }.get(fault.kind)
    if by_change is not None and fault.moment in ("change", "amid"):
        shim.arm(by_change, home, at=at, lasting=fault.lasting, seconds=fault.amount)
        return Signs()
    shim.arm(Strike.COUNT, home)
    if fault.moment != "sign":
        return Signs()
    by_sign = {
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "term": lambda: os.kill(os.getpid(), signal.SIGTERM),
        "oom": lambda: _limit_memory(fault.amount),
    }
    return Signs(at, by_sign[fault.kind])


def _limit_memory(more: int) -> None:
    """Allow `more` bytes of address space beyond what the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))
