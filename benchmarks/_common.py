"""What benchmarks print around their figures: the machine, the versions, memory, tables as Markdown and JSON."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from xcwork.export.tables import render_markdown

ALONE = 200  # documents that are asked for one by one
PACKAGES = ("xcwork", "numpy", "scipy", "scikit-learn", "numba")


def machine() -> dict[str, Any]:
    """Processor, cores, memory and load: a benchmark on a busy machine is no benchmark."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": cores,
        "memory_gib": round(memory, 1),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def versions(*packages: str) -> dict[str, str]:
    """The versions of Python, the usual packages and `packages`; those not installed are left out."""
    found = {"python": platform.python_version()}
    for package in (*PACKAGES, *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peak_memory_mb() -> float:
    """The most memory this process has had so far.

    Linux hands the figure of `getrusage` on from a process to the one it starts, so its own account comes first.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def folder_bytes(folder: Path) -> int:
    """The size of all files below `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@dataclass
class Timing:
    """Seconds on the clock, and of processor time over all threads."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Timing]:
    """Measure the block."""
    timing, clock, cpu = Timing(), time.perf_counter(), cpu_seconds()
    try:
        yield timing
    finally:
        timing.seconds, timing.cpu_seconds = time.perf_counter() - clock, cpu_seconds() - cpu


def cpu_seconds() -> float:
    """Processor time of this process so far; unlike `time.process_time` it is fine-grained under a limit, too."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def median_alone(predict: Callable[[Any], object], rows: Any) -> float:
    """Milliseconds for a document that is asked for alone: the median over the first rows of a matrix."""
    times = []
    for row in range(min(ALONE, rows.shape[0])):
        one = rows[[row]]
        with timed() as single:
            predict(one)
        times.append(single.seconds)
    return 1000 * median(times)


def combined(rows: Sequence[Mapping[str, Any]], spread_of: str = "train s") -> dict[str, Any]:
    """Repeated measurements as one row of medians, with the spread of a column (largest over smallest)."""
    ended = [row for row in rows if "failed" not in row]
    if not ended:
        return dict(rows[0])
    times = [row[spread_of] for row in ended]
    middle = {name: median(row[name] for row in ended) if _number(value) else value for name, value in ended[0].items()}
    return middle | ({"spread": max(times) / min(times)} if len(ended) > 1 else {})


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def markdown_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Rows as a Markdown table; numbers to the right, floats with two decimals, what is missing as a dash."""
    columns = list(rows[0]) if columns is None else list(columns)
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    numeric = [all(not isinstance(row.get(column), str) for row in rows) for column in columns]
    return render_markdown(columns, cells, numeric)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value).replace("|", "\\|")


def conditions(**more: Any) -> dict[str, Any]:
    """What a figure depends on, for the JSON output."""
    return {"machine": machine(), "versions": versions(), "command": " ".join(["python", *_arguments()]), **more}


def described(facts: Mapping[str, Any]) -> str:
    """One line for people under a table."""
    m, v = facts["machine"], facts["versions"]
    return (
        f"{m['processor']}, {m['cores']} cores, {m['memory_gib']} GiB, load {m['load']}; "
        + ", ".join(f"{name} {number}" for name, number in v.items())
        + f"; `{facts['command']}`"
    )


def _arguments() -> list[str]:
    return [f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]


def earlier(path: Path | None) -> dict[str, Any]:
    """What a run that was cut short, or measured other rows, has written to `path`."""
    return json.loads(path.read_text("utf-8")) if path is not None and path.is_file() else {}


def write_json(path: str | Path, content: Any) -> None:
    """Raw figures beside the table that was made of them."""
    Path(path).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
