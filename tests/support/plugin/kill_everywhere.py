"""Kill a worker right before each of its file operations in turn, let a second one go on, and compare the results.

    python kill_everywhere.py HOME DATA

Every worker is a fork of this process, which did all the work once itself, so nothing has to be imported or compiled
again and one point costs a fraction of a second. The answer is a JSON object on standard output: how many points there
were, and what was wrong at which of them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import count

import numpy as np
from kills import kill_before

from xcwork.methods import registry
from xcwork.runs import Run, RunStore, worker


def work(run: Run, kill_at: int | None = None) -> int:
    """Run a worker in a fork, killed before its `kill_at`-th change to a file of the run; its exit code."""
    child = os.fork()
    if child == 0:
        if kill_at is not None:
            kill_before(kill_at, run.id)
        os._exit(worker.main(run.folder))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def result(run: Run) -> tuple:
    topk = run.read_topk()
    return run.read_report().metrics, topk.ids.tolist(), np.round(topk.scores, 6).tolist()


def problems(run: Run, expected: tuple) -> list[str]:
    """What is wrong after one kill and one resumption."""
    found = []
    state = run.to_dict()["state"]
    if state not in ("queued", "lost", "finished"):
        found.append(f"the killed run shows as {state}")
    attempts = run.status.attempt
    code = work(run)
    if (code, state) not in ((0, "lost"), (0, "queued"), (2, "finished")):
        found.append(f"the second worker ended with {code} after {state}")
    if run.state != "finished" or run.status.attempt > attempts + 1:
        found.append(f"it ended {run.state} in attempt {run.status.attempt}: {run.status.message}")
    elif result(run) != expected:
        found.append("the result differs from that of an undisturbed run")
    litter = sorted(path.name for path in run.folder.rglob(".*"))
    return found + ([f"left behind: {litter}"] if litter and state != "finished" else [])


def main(home: str, data: str) -> None:
    registry.METHODS["gated"] = "gated:Gated"
    store = RunStore(home)
    undisturbed = store.create("gated", {"steps": 2}, data)
    assert worker.main(undisturbed.folder) == 0, undisturbed.read_log()
    expected, wrong = result(undisturbed), {}
    for point in count(1):
        run = store.create("gated", {"steps": 2}, data)
        code = work(run, kill_at=point)
        if code == 0:
            break
        found = problems(run, expected)
        if code != -signal.SIGKILL:
            found.append(f"the first worker ended with {code}")
        if found:
            wrong[point] = found
    print(json.dumps({"points": point - 1, "wrong": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
