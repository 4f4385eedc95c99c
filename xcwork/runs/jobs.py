"""Start, watch, cancel and resume runs. The dashboard, the command line and notebooks all use these four verbs.

A worker is a process of its own in a session of its own: it survives a closed tab and a closed terminal, and nothing
but the run folder connects it with whoever started it. `wait` therefore works from any process, also on a run that
somebody else started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from xcwork.compute.cores import count_cores
from xcwork.errors import RunError
from xcwork.progress import Callback
from xcwork.runs import processes
from xcwork.runs.config import read_place
from xcwork.runs.events import Tail
from xcwork.runs.status import CANCEL_FLAG, RESUMABLE_STATES, Status, format_now, read_status, write_status
from xcwork.runs.store import LOG_FILE, METRICS_FILE, Run, refuse_links

NICENESS = 5  # the dashboard stays responsive while a worker uses every core
POLL_SECONDS = 0.2  # files cannot wake us up
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Threads of OpenMP that wait for each other sleep. On a machine that does other things, too, they would keep turning on
# cores that others need, and the training would take many times its processor time.
WAITING = {"OMP_WAIT_POLICY": "PASSIVE"}
EVENT_FIELDS = ("time", "attempt", "phase", "step", "seconds", "memory_mb")


def launch(run: Run) -> Run:
    """Hand a new run to a worker process. The run is `queued` before the process exists, so nobody misses it."""
    with _hold_run(run) as status:
        if not _was_never_started(status):
            raise RunError(f"run {run.id} was started before and is {run.state}; resume it if it stopped")
        _start_worker(run, status)
    return run


def resume(run: Run, *, cluster: str | None = None) -> Run:
    """Open another attempt of a run that is lost, failed or cancelled; it continues from what is stored.

    `cluster` is the address of a Dask cluster, "" for none; if it is not given, that of XCWORK_CLUSTER.
    """
    with _hold_run(run) as status:
        if not _was_never_started(status):
            observed = run.status
            if observed.state not in RESUMABLE_STATES:
                raise RunError(f"run {run.id} is {observed.state}; there is nothing to resume")
            status = run.make_next_attempt(observed)
        chosen = _choose_cluster(run, cluster)
        if chosen != read_place(run.config)[0]:
            run.complete_config(cluster=chosen)
        _start_worker(run, status)
    return run


def _choose_cluster(run: Run, given: str | None) -> str:
    """Return the cluster to continue on.

    A run folder may be untrusted, and a cluster can run code here, therefore an address in a run folder is not enough:
    the user has to name it.
    """
    known = read_place(run.config)[0]
    given = os.environ.get("XCWORK_CLUSTER") if given is None else given
    if given is not None:
        return given
    if known and not known.startswith("local:"):
        raise RunError(
            f"run {run.id} was trained on the cluster at {known}; `xcwork resume {run.id} --cluster {known}` resumes "
            "there, and --cluster '' here"
        )
    return known


def cancel(run: Run) -> Status:
    """Ask the worker to stop at its next step; a run without a worker is cancelled immediately."""
    refuse_links(run.folder)
    status = run.status
    if status.state in ("finished", "failed"):
        raise RunError(f"run {run.id} is {status.state}; there is nothing to cancel")
    if _has_no_worker(status):
        with run.open_lock() as lock:
            if lock.acquire(holder="cancel") and _has_no_worker(status := run.status):
                ended = replace(
                    status, state="cancelled", message="cancelled", updated=format_now(), ended=format_now()
                )
                write_status(run.folder, ended)
                return ended
    if status.is_active:
        (run.folder / CANCEL_FLAG).touch()
    return run.status


def wait(run: Run, callbacks: Iterable[Callback] = (), *, timeout: float | None = None) -> Status:
    """Follow a run until it is over (or `timeout` seconds passed) and return its last status.

    Phases, steps and values reach the callbacks as if the training ran here; one that asks to stop cancels the run.
    """
    watcher = _Watcher(run, tuple(callbacks))
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        status = run.status
        if watcher.show_status(status) and status.is_active:
            with suppress(RunError):  # it was over before it could be cancelled
                cancel(run)
        if status.is_over or (deadline is not None and time.monotonic() > deadline):
            return status
        time.sleep(POLL_SECONDS)


class _Watcher:
    """Retells a run, as its files show it, to callbacks."""

    def __init__(self, run: Run, callbacks: tuple[Callback, ...]) -> None:
        self.callbacks = callbacks
        self.events = Tail(run.folder / METRICS_FILE)
        self.phase = ""
        self.events.read()  # what happened before is not news

    def show_status(self, status: Status) -> bool:
        """Tell what is new; True when a callback wants to stop."""
        if status.phase != self.phase or status.is_over:
            if self.phase:
                for callback in self.callbacks:
                    callback.on_phase_end(self.phase)
            self.phase = "" if status.is_over else status.phase
            if self.phase:
                for callback in self.callbacks:
                    callback.on_phase(self.phase, status.total)
        for event in self.events.read():
            values = {name: value for name, value in event.items() if name not in EVENT_FIELDS and value is not None}
            for callback in self.callbacks:
                callback.on_values(str(event.get("phase", "")), values)
        if not self.phase:
            return False
        wishes = [callback.on_step(self.phase, status.step, status.total) for callback in self.callbacks]
        return any(wishes)


def _was_never_started(status: Status) -> bool:
    return status.state == "queued" and status.queued is None


def _has_no_worker(status: Status) -> bool:
    return status.state == "lost" or _was_never_started(status)


@contextmanager
def _hold_run(run: Run) -> Iterator[Status]:
    """Yield the stored status of a run, locked so that it stays true; only a working run is locked for long."""
    run.check()
    with run.open_lock() as lock:
        if not lock.acquire(holder="launcher"):
            raise RunError(f"run {run.id} has a worker already; wait for it or cancel it")
        yield read_status(run.folder)


def _start_worker(run: Run, status: Status) -> None:
    """Write `queued`, start the worker, write who it is. The caller holds the lock; the worker waits for it."""
    (run.folder / CANCEL_FLAG).unlink(missing_ok=True)
    queued = replace(status, state="queued", message="", queued=format_now(), updated=format_now(), phase="starting")
    write_status(run.folder, queued)
    worker = _spawn_worker(run)
    born = processes.identify_process(worker.pid) or ""
    write_status(
        run.folder, replace(queued, pid=worker.pid, process=born, host=processes.get_host_name(), updated=format_now())
    )
    # Somebody has to collect the exit code, or a finished worker stays in the process table as a zombie.
    threading.Thread(target=worker.wait, name=f"reaper {run.id}", daemon=True).start()


def _spawn_worker(run: Run) -> subprocess.Popen[bytes]:
    ranks = read_place(run.config)[1]
    module = ["xcwork.runs.worker", str(run.folder)]
    if ranks > 1:  # torchrun starts that many workers, which know each other, and ends all when one ends badly
        module = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "--module", *module]
    return spawn_module(module, run.folder / LOG_FILE, run.home, n_processes=ranks)


def spawn_module(module: Sequence[str], log_file: Path, home: Path, *, n_processes: int = 1) -> subprocess.Popen[bytes]:
    """Start a module of Python with its arguments, in a session of its own that survives this process."""
    threads = str(max(1, (count_cores() if count_cores() <= 2 else count_cores() - 1) // n_processes))
    environment = dict.fromkeys(THREAD_VARIABLES, threads) | WAITING | os.environ
    # A crash in compiled code leaves its stack in the log.
    environment |= {"XCWORK_HOME": str(home), "PYTHONFAULTHANDLER": "1"}
    if n_processes > 1:
        environment["PYTHONSAFEPATH"] = "1"  # -P for the workers that torchrun starts
    # -P: a file called numpy.py in the user's folder must not be taken for the library.
    command = [sys.executable, "-P", "-m", *module]
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=home,
            start_new_session=True,
        )
    with suppress(ProcessLookupError, PermissionError):  # it ended already, or the system does not allow it
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
    return process
