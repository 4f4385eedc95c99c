"""Several processes do the same thing at the same moment: `python together.py ACTION ARGUMENT …`.

Every process is a fork of this one and waits at a barrier first. The answer is a JSON object on standard output with
what each process returned.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xcwork.data import pyseealso
from xcwork.data.docstrings import Documented
from xcwork.data.load import load_dataset
from xcwork.errors import XcworkError
from xcwork.methods.registry import find_method_class
from xcwork.runs import Run, RunStore, jobs, worker
from xcwork.runs.resumable_output import ContinuedFile

PROCESSES, CREATED, LINES = 4, 15, 500
PATIENCE = 240  # seconds

Action = Callable[[int], Any]


def workers(folder: str) -> Action:
    """All want to be the worker of one run."""
    return lambda number: worker.main(folder)


def launches(folder: str) -> Action:
    """All launch one run; who cannot says why."""

    def launch(number: int) -> str:
        try:
            jobs.launch(Run(folder))
        except XcworkError as refusal:
            return str(refusal)
        return "launched"

    return launch


def verbs(folder: str) -> Action:
    """Two processes resume and two cancel the same run, again and again."""

    def press(number: int) -> int:
        run, refused = Run(folder), 0
        for _ in range(6):
            try:
                (jobs.resume if number % 2 else jobs.cancel)(run)
            except XcworkError:
                refused += 1
        return refused

    return press


def queue(home: str, corpus: str) -> Action:
    """Each is the worker of a run of its own and notes when its turn begins and ends."""
    store = RunStore(home)
    runs = [store.create("popularity", {"seed": number}, corpus) for number in range(PROCESSES)]
    notes = Path(home) / "notes.txt"
    begin, end = worker._load_data, worker._evaluate

    def note(text: str) -> None:
        with notes.open("ab", buffering=0) as file:
            file.write(f"{text}\n".encode())

    def noted_begin(run: Run, config: dict[str, Any]) -> Any:
        note(f"begin {run.id}")
        return begin(run, config)

    def noted_end(run: Run, *rest: Any) -> None:
        end(run, *rest)
        note(f"end {run.id}")

    worker._load_data, worker._evaluate = noted_begin, noted_end
    return lambda number: worker.main(runs[number].folder)


def datasets(home: str, corpus: str) -> Action:
    """All read the same files for the first time."""
    return lambda number: load_dataset(corpus, home=Path(home)).fingerprint


def embedded(home: str) -> Action:
    """All build the embedded dataset for the first time, from a few objects only."""
    names = [f"numpy.{word}" for word in ("sum", "prod", "mean", "median", "max", "min", "sort", "dot")]
    see = "Summary of {}.\n\nSee Also\n--------\n{} : other\n"
    objects = [
        Documented(name, [name], see.format(name, other))
        for name, other in zip(names, names[1:] + names[:1], strict=True)
    ]
    pyseealso.collect_documented = lambda: objects
    return lambda number: load_dataset("pyseealso", home=Path(home)).fingerprint


def creations(home: str, corpus: str) -> Action:
    """All create runs as fast as they can."""
    return lambda number: [RunStore(home).create("popularity", {}, corpus).id for _ in range(CREATED)]


def predictions(output: str) -> Action:
    """All write the same output file; who cannot says why."""

    def write(number: int) -> str:
        try:
            with ContinuedFile(Path(output), {"run": "a"}) as lines:
                for line in range(lines.done, LINES):
                    lines.write([{"document": line}])
        except XcworkError as refusal:
            return str(refusal)
        return "written"

    return write


ACTIONS = (workers, launches, verbs, queue, datasets, embedded, creations, predictions)


def main(name: str, *arguments: str) -> None:
    act = {action.__name__: action for action in ACTIONS}[name](*arguments)
    find_method_class("popularity")  # imported before the forks, so that they start together
    fork = multiprocessing.get_context("fork")
    barrier, answers = fork.Barrier(PROCESSES), fork.SimpleQueue()

    def run(number: int) -> None:
        barrier.wait(PATIENCE)
        answers.put((number, act(number)))

    children = [fork.Process(target=run, args=(number,)) for number in range(PROCESSES)]
    for child in children:
        child.start()
    found = dict(answers.get() for _ in children)
    for child in children:
        child.join(PATIENCE)
    print(json.dumps({"answers": [found[number] for number in range(PROCESSES)]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
