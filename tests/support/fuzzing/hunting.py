"""Feeding a target: one input after the other, each in a folder of its own, under limits of time and memory.

An input is drawn with `random.Random(f"{seed}/{target}/{number}")`, so a finding is reproduced by its number alone.
"""

from __future__ import annotations

import base64
import json
import os
import random
import resource
import shutil
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.support.fuzzing.mutations import Files
from tests.support.fuzzing.targets import Target
from xcwork.errors import XcworkError

SECONDS = 2.0  # of CPU time an input may take
MEMORY = 2**30  # bytes it may take beyond what the process had: ten million names of labels fit


class Hang(BaseException):
    """Raised by the timer; not an `Exception`, so that no handler of the package can swallow it."""


@dataclass
class Finding:
    """An input that led to something else than a result or an error of the package."""

    target: str
    number: str  # of the input, or where it comes from
    what: str
    files: Files = field(repr=False)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        content = asdict(self) | {"files": {n: base64.b64encode(c).decode() for n, c in self.files.items()}}
        path = folder / f"{self.target}-{self.number.replace('/', '-')}.json"
        path.write_text(json.dumps(content, indent=1) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> Finding:
        content = json.loads(path.read_text())
        return cls(**content | {"files": {n: base64.b64decode(c) for n, c in content["files"].items()}})


@dataclass
class Tally:
    """What a walk over many inputs came to."""

    inputs: int = 0
    results: int = 0  # read without an error
    slowest: float = 0.0
    slowest_input: str = ""
    peak_mb: float = 0.0
    findings: list[Finding] = field(default_factory=list)


@contextmanager
def limited(memory: int = MEMORY) -> Iterator[None]:
    """No more address space than the process has now and `memory`."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def lay_out(folder: Path, files: Files) -> None:
    """Write the files into the emptied folder; a name the file system refuses is left out."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def warm_up(target: Target, folder: Path) -> None:
    """Run every sample once, so that kernels are compiled and libraries imported before anything is measured."""
    for files in getattr(target, "samples", {}).values():
        lay_out(folder, files)
        target.run(folder, files)


def feed(target: Target, name: str, number: str, files: Files, folder: Path, tally: Tally) -> None:
    """One input; whatever is not allowed is added to the findings."""
    lay_out(folder, files)
    before = _listing(folder)
    started, what = time.process_time(), ""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        target.run(folder, files)
        tally.results += 1
    except XcworkError as refusal:
        if isinstance(refusal.__cause__, MemoryError):
            what = f"the memory was used up before it was refused: {refusal}"
    except Hang:
        what = f"it took more than {SECONDS} s"
    except BaseException as defect:
        if isinstance(defect, KeyboardInterrupt):
            raise
        what = "".join(traceback.format_exception(defect)[-12:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    took = time.process_time() - started
    tally.inputs += 1
    if took > tally.slowest:
        tally.slowest, tally.slowest_input = took, number
    if not what and _listing(folder) != before:
        what = "reading changed the folder"
    if what:
        tally.findings.append(Finding(name, number, what, files))


def walk(
    target: Target, name: str, seed: int, numbers: range, folder: Path, most_findings: int = 200
) -> Iterator[Tally]:
    """Feed the inputs with these numbers; the tally so far comes after each."""
    tally = Tally()
    signal.signal(signal.SIGPROF, _stop)
    for number in numbers:
        drawn = f"{seed}/{name}/{number}"
        feed(target, name, drawn, target.draw(random.Random(drawn)), folder, tally)
        if number % 64 == 0 or number == numbers[-1]:
            tally.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield tally
        if len(tally.findings) >= most_findings:
            return


def _stop(*_: object) -> None:
    raise Hang


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            status = os.stat(os.path.join(place, name))  # noqa: PTH116, PTH118 - thousands a second
            found.append((name, status.st_size, status.st_mtime_ns))
    return sorted(found)
