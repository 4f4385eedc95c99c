"""Trainings in a row: do they leave processes, file handles, threads, temporary files or memory behind?

    python -m benchmarks.long_runs --runs 200 [--inside 200] [--methods popularity,tfidf,…] [--out FILE.json]

`--runs` trainings are started as the dashboard starts them, in worker processes, one after the other; the figures are
those of the process that starts them. `--inside` trainings happen in one process, as in a notebook. Methods take turns.
Everything is counted after a few trainings, when what stays for good is there, and again at the end; temporary files
are counted in a folder that nobody else uses. The exit code is 1 when anything has grown.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks._common import conditions, described, markdown_table, write_json

WARM = 2  # rounds of all methods before the first count
MEMORY_GROWTH_MB = 16.0  # allowed over all trainings; a leak of a model or a dataset each time is far more
PATIENCE = 120.0  # seconds for a worker to leave after its last status; a busy machine takes its time


def _children_of(task: Path) -> list[str]:
    """The processes that a thread of ours has started."""
    try:
        return (task / "children").read_text().split()
    except FileNotFoundError:  # the thread ended after it was listed
        return []


def counted(temporary: Path) -> dict[str, Any]:
    """What this process has open and has left behind."""
    gc.collect()
    children = [pid for task in Path("/proc/self/task").iterdir() for pid in _children_of(task)]
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "file handles": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "children": len(children),
        "threads": threading.active_count(),
        "temporary files": sum(1 for _ in temporary.rglob("*")),
        "memory MB": round(pages * resource.getpagesize() / 2**20, 1),
    }


def settled(temporary: Path) -> dict[str, Any]:
    """Return the counts once no worker is left, nor the thread that collects its exit code a moment later."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        reapers = [thread for thread in threading.enumerate() if thread.name.startswith("reaper")]
        if not reapers and not counted(temporary)["children"]:
            break
        time.sleep(0.05)
    return counted(temporary)


def repeat(train: Callable[[str], None], methods: list[str], runs: int, temporary: Path) -> list[dict[str, Any]]:
    """Train `runs` times; the counts before, half-way and at the end."""
    warm = min(WARM * len(methods), runs // 2)
    turns = cycle(methods)
    rows = []
    for upto, first in ((warm, 0), (runs // 2, warm), (runs, runs // 2)):
        for method in islice(turns, max(upto - first, 0)):
            train(method)
        rows.append({"trainings": upto, **settled(temporary)})
    return rows


def grown(rows: list[dict[str, Any]]) -> list[str]:
    """What there is more of at the end than after the first trainings."""
    first, last = rows[0], rows[-1]
    names = [name for name in first if name not in ("trainings", "memory MB", "how") and last[name] > first[name]]
    return names + (["memory MB"] if last["memory MB"] > first["memory MB"] + MEMORY_GROWTH_MB else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="trainings in worker processes")
    parser.add_argument("--inside", type=int, default=0, help="trainings in one process")
    parser.add_argument("--methods", default="popularity,tfidf,one_vs_all,zestxml,siamesexml,mhc")
    parser.add_argument("--out", metavar="FILE.json", help="write the raw figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        temporary = Path(scratch) / "temporary"
        temporary.mkdir()
        # Before anything is imported that asks for the folder; the workers inherit it.
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        from tests.support.faults import workload
        from xcwork.runs import RunStore, jobs, worker

        methods = workload.methods(arguments.methods)
        corpus, store = workload.write_corpus(Path(scratch) / "corpus"), RunStore(Path(scratch) / "home")

        def launched(method: str) -> None:
            run = jobs.launch(store.create(method, workload.params_of(method), corpus))
            if jobs.wait(run).state != "finished":
                raise SystemExit(f"{method} is {run.state}: {run.status.message}")

        def inside(method: str) -> None:
            run = store.create(method, workload.params_of(method), corpus)
            if worker.main(run.folder) != 0:
                raise SystemExit(f"{method} failed: {run.status.message}")

        facts, rows, problems = conditions(), [], []
        for how, train, runs in (("workers", launched, arguments.runs), ("one process", inside, arguments.inside)):
            if runs:
                mine = [{"how": how, **row} for row in repeat(train, methods, runs, temporary)]
                problems += [f"{how}: {name} grew" for name in grown(mine)]
                rows += mine
    sys.stdout.write(f"{markdown_table(rows)}\n\n{described(facts)}\n")
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    if arguments.out:
        write_json(arguments.out, {"rows": rows, "problems": problems, **facts})
    sys.exit(int(bool(problems)))


if __name__ == "__main__":
    main()
