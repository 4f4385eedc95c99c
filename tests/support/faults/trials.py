"""One trial: a run, a fault, a look at what is left, and the way back to the result of an undisturbed run."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.faults.processes import NO_FAULT, UNCAUGHT, Ending, Fault, start
from tests.support.faults.workload import Known, copied_home, digest_of, params_of, result_of
from xcwork.errors import XcworkError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.runs import Run, RunStore, jobs, worker
from xcwork.runs.map_job import work_on_map

FAULTS = ("kill", "term", "oom", "disk", "readonly", "clock")
# How a run may look after a fault. `finished`: the fault came too late, or the run could go on in spite of it.
# A worker that runs out of memory inside a library may die there, and one that cannot write cannot say how it ended.
STATES = {
    "kill": ("lost", "finished"),
    "term": ("cancelled", "finished"),
    "oom": ("failed", "finished", "lost"),
    "disk": ("failed", "finished", "lost"),
    "readonly": ("failed", "finished", "lost"),
    "clock": ("finished",),
}
WORDS = {"oom": ("memory",), "disk": ("No space left",), "readonly": ("Read-only file system",)}
JUMPS = (-10 * 365 * 86400, -86400, -120, 120, 86400, 10 * 365 * 86400)  # seconds
MEMORY_LEFT = (0, 0, 2**16, 2**18, 2**20, 2**22)  # bytes
CHAIN = 0.3  # share of trials in which the resumed worker is killed too
ROOM = 64 * 1024  # bytes a small disk has at least beyond what is on it


@dataclass
class Trial:
    """What was done to one run, how it showed, and what was wrong."""

    method: str
    fault: Fault
    state: str
    message: str
    faults: int  # that took effect
    problems: list[str]

    def __str__(self) -> str:
        return f"{self.method}, {self.fault}: {self.state}; " + "; ".join(self.problems)


def undisturbed(method: str, corpus: Path, template: Path) -> Known:
    """Train twice without a fault: here, which also warms everything up, and as a fork that is counted."""
    store = RunStore(template)
    run = store.create(method, params_of(method), corpus)
    if worker.main(run.folder) != 0:
        raise SystemExit(f"{method} cannot be trained: {run.status.message}")
    counted = store.create(method, params_of(method), corpus)
    ending = start(jobs.launch, counted, NO_FAULT)
    if result_of(counted) != result_of(run):
        raise SystemExit(f"two undisturbed trainings of {method} differ; faults cannot be judged")
    counted.folder.rename(template.parent / f"counted-{counted.id}")
    notes = ending.notes
    boundaries = tuple((number, phase) for number, phase in notes["boundaries"])
    return Known(result_of(run), ending.seconds, notes["changes"], notes["allocations"], boundaries, notes["signs"])


def planned(kind: str, known: Known, rng: random.Random, turn: int) -> Fault:
    """Fault number `turn` of its kind: phases in turn, every kind of moment in turn, the rest by chance."""
    change = rng.randint(1, known.changes)
    boundary = known.boundaries[(turn // 2) % len(known.boundaries)][0]
    sign = boundary if turn % 2 else rng.randint(1, known.signs)
    if kind in ("disk", "readonly"):
        return Fault(kind, "change", change, lasting=rng.choice((1, 3, 2**62)))
    if kind == "clock":
        return Fault(kind, "change", change, amount=rng.choice(JUMPS))
    if kind == "oom" and turn % 2 == 0:
        return Fault(kind, "allocation", rng.randint(1, known.allocations), lasting=rng.choice((1, 20, 400)))
    if kind == "oom":
        return Fault(kind, "sign", sign, amount=rng.choice(MEMORY_LEFT))
    moments = ("change", "amid", "sign", "time") if kind == "kill" else ("sign", "time")
    moment = moments[turn % len(moments)]
    at = {"time": rng.random(), "sign": sign}.get(moment, change)
    return Fault(kind, moment, at)


def trial(
    method: str, fault: Fault, known: Known, corpus: Path, template: Path, folder: Path, rng: random.Random
) -> Trial:
    """Do it in a copy of the home `template` at `folder`, which keeps a finished run that must stay as it is."""
    with copied_home(template, folder, with_cache=rng.random() < 0.5) as store:
        (witness,) = store.list()
        before = digest_of(witness.folder)
        run = store.create(method, params_of(method), corpus)
        ending = start(jobs.launch, run, fault, known.seconds)
        state, message = run.state, run.status.message
        problems = _after_fault(run, fault, ending)
        faults = int(_took_effect(fault, ending))
        if run.state != "finished" and rng.random() < CHAIN:
            second = Fault("kill", rng.choice(("change", "amid")), rng.randint(1, known.changes))
            killed = start(jobs.resume, run, second)
            faults += killed.code == -signal.SIGKILL
            problems += _after_fault(run, second, killed)
        if run.state != "finished":
            problems += _ended_well(start(jobs.resume, run, NO_FAULT), run)
        problems += _after_all(run, known)
        if digest_of(witness.folder) != before:
            problems.append("a finished run of the same home was changed")
        return Trial(method, fault, state, message, faults, problems)


def _took_effect(fault: Fault, ending: Ending) -> bool:
    if fault.kind == "kill":
        return ending.code == -signal.SIGKILL
    if fault.moment == "time":
        return ending.code != 0 or fault.at < 1
    reached = ending.notes.get({"change": "changes", "allocation": "allocations"}.get(fault.moment, "signs"))
    return reached is None or reached >= fault.at


def _after_fault(run: Run, fault: Fault, ending: Ending) -> list[str]:
    """What is wrong with the run folder right after the fault."""
    problems = []
    try:
        record, status = run.to_dict(), run.status
        run.read_events(), run.read_log(20)
    except (OSError, XcworkError, ValueError, LookupError, TypeError) as error:
        return [f"the run folder does not open: {error!r}"]
    early = ending.code == -signal.SIGTERM and status.phase == "starting"  # before the worker could answer signals
    if record["state"] not in STATES[fault.kind] and not early:
        problems.append(f"it shows as {record['state']} ({status.message})")
    if ending.code == UNCAUGHT:
        problems.append(f"an error escaped from the worker: {run.read_log(1)}")
    if status.state == "failed" and not any(word in status.message for word in WORDS.get(fault.kind, ())):
        problems.append(f"it failed with the wrong words: {status.message}")
    if status.state == "lost" and not status.message:
        problems.append("it is lost without a word")
    if ending.seen_lost:
        problems.append("it was shown as lost while its worker lived")
    return problems + _checkpoint_problems(run)


def _checkpoint_problems(run: Run) -> list[str]:
    folder = run.folder / "checkpoint"
    stored = [entry for entry in folder.iterdir() if entry.name.isdigit()] if folder.is_dir() else []
    if stored and Checkpoint(folder).restore() is None and not (run.folder / "model").is_dir():
        return [f"none of {len(stored)} checkpoints can be read"]
    return []


def _ended_well(ending: Ending, run: Run) -> list[str]:
    return [] if ending.code == 0 else [f"resumed, it ended with {ending.code} ({run.status.message})"]


def _after_all(run: Run, known: Known) -> list[str]:
    """What is wrong with the run at its end, compared with an undisturbed one."""
    if run.state != "finished":
        return [f"it is {run.state} at the end ({run.status.message})"]
    problems = [] if result_of(run) == known.result else ["the result differs from that of an undisturbed run"]
    work_on_map(run)  # a worker killed while it laid out labels leaves a finished run whose map is made when asked for
    left = sorted(path.name for path in run.folder.rglob(".*"))
    problems += [f"left behind: {', '.join(left)}"] if left else []
    return problems + (["the checkpoint is still there"] if (run.folder / "checkpoint").exists() else [])


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A file system in memory of `size` bytes at `folder`; only root may do that."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge_disk(folder: Path, size: int) -> None:
    """Room again."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def on_small_disk(method: str, known: Known, corpus: Path, template: Path, folder: Path, rng: random.Random) -> Trial:
    """The same with a disk that really fills up: a home folder in a file system with little room."""
    used = sum(path.stat().st_size // 4096 * 4096 + 8192 for path in template.rglob("*"))
    with (
        small_disk(folder, used + ROOM + rng.randrange(2**19)),
        copied_home(template, folder, with_cache=True) as store,
    ):
        (witness,) = store.list()
        before = digest_of(witness.folder)
        run = store.create(method, params_of(method), corpus)
        fault = Fault("disk", "small file system")
        ending = start(jobs.launch, run, fault)
        state, message = run.state, run.status.message
        problems = _after_fault(run, fault, ending)
        enlarge_disk(folder, 2**28)
        if state != "finished":
            problems += _ended_well(start(jobs.resume, run, NO_FAULT), run)
        problems += _after_all(run, known)
        if digest_of(witness.folder) != before:
            problems.append("a finished run of the same home was changed")
        return Trial(method, fault, state, message, int(state != "finished"), problems)
