"""Predictions for a million documents from the command line: flat memory, and every line once in spite of kills.

    python -m benchmarks.predict_million [--documents 1000000] [--kills 2] [--method tfidf] [--out FILE.json]

A small run is trained, short documents are written to a JSON Lines file, and `xcwork predict RUN --file … --output …`
is started. It is killed with SIGKILL a few times within the first tenth and started again with the same command; the
last process does the rest. Its memory is looked at all the while. In the end the output must hold every document once,
in order. The exit code is 1 when it does not, or when the memory between a tenth of the documents and the end grew by
more than a twentieth.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._common import conditions, described, markdown_table, write_json
from tests.support.faults import workload
from xcwork.runs import Run, RunStore, jobs

WATCH_EVERY = 0.02  # seconds
GROWTH = 1.05
LOOKS = (0.1, 0.25, 0.5, 0.75, 1.0)  # shares of the documents at which memory is reported


@dataclass(frozen=True)
class Look:
    """The process at one moment."""

    documents: int
    memory_mb: float
    seconds: float


class Lines:
    """Counts the lines of a growing file without reading anything twice."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._lines = path, 0, 0

    def count(self) -> int:
        if not self._path.exists():
            return 0
        with self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END) < self._offset:  # a torn line was cut off
                self._offset = self._lines = 0
            file.seek(self._offset)
            while block := file.read(2**20):
                self._lines += block.count(b"\n")
                self._offset += len(block)
        return self._lines


def write_documents(path: Path, count: int) -> None:
    """Short documents about the topics of the small dataset."""
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            words = [f"{rng.choice(workload.TOPICS)}{rng.randrange(2)}" for _ in range(8)]
            file.write(json.dumps({"uid": f"q{number}", "text": " ".join(words)}) + "\n")


def predict(run: Run, documents: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "xcwork", "predict", run.id, "--file", str(documents)]
    command += ["--output", str(output), "--home", str(run.home)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def watched(process: subprocess.Popen[bytes], lines: Lines) -> Iterator[Look]:
    """The process while it lives."""
    begun = time.monotonic()
    while process.poll() is None:
        try:
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError, IndexError):
            break
        yield Look(lines.count(), pages * os.sysconf("SC_PAGE_SIZE") / 2**20, time.monotonic() - begun)
        time.sleep(WATCH_EVERY)


def killed_at(run: Run, documents: Path, output: Path, lines: int) -> int:
    """Start and kill when the output has so many lines; how many there were."""
    process = predict(run, documents, output)
    for look in watched(process, Lines(output)):
        if look.documents >= lines:
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    return Lines(output).count()


def complete(run: Run, documents: Path, output: Path) -> tuple[int, list[Look]]:
    """Start and wait for the end; the exit code and what was seen on the way."""
    process = predict(run, documents, output)
    looks = list(watched(process, Lines(output)))
    return process.wait(), looks


def is_complete(output: Path, documents: int) -> bool:
    """Whether every document stands there once, in order, with predictions."""
    number = -1
    with output.open("rb") as file:
        for number, line in enumerate(file):
            record = json.loads(line)
            if record["document"] != number or record["uid"] != f"q{number}" or not record["predictions"]:
                return False
    return number == documents - 1 and not output.with_name(f"{output.name}.job").exists()


def memory_at(looks: list[Look], documents: int) -> float:
    """The most memory seen up to the moment when so many documents were done."""
    return max((look.memory_mb for look in looks if look.documents <= documents), default=float("nan"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--method", default="tfidf")
    parser.add_argument("--out", metavar="FILE.json", help="write the raw figures here")
    arguments = parser.parse_args()
    total = arguments.documents
    facts: dict[str, Any] = conditions()
    with tempfile.TemporaryDirectory() as scratch:
        corpus = workload.write_corpus(Path(scratch) / "corpus")
        run = RunStore(Path(scratch) / "home").create(arguments.method, workload.params_of(arguments.method), corpus)
        if jobs.wait(jobs.launch(run)).state != "finished":
            raise SystemExit(f"the small run is {run.state}: {run.status.message}")
        documents, output = Path(scratch) / "documents.jsonl", Path(scratch) / "predictions.jsonl"
        write_documents(documents, total)
        marks = [total // 10 * (number + 1) // (arguments.kills + 1) for number in range(arguments.kills)]
        stopped = [killed_at(run, documents, output, mark) for mark in marks]
        code, looks = complete(run, documents, output)
        whole = code == 0 and is_complete(output, total)
        size = output.stat().st_size / 1e6
    done, seconds = looks[-1].documents - (stopped[-1] if stopped else 0), looks[-1].seconds
    rows = [
        {"documents": int(total * share), "memory MB": round(memory_at(looks, int(total * share)), 1)}
        for share in LOOKS
    ]
    flat = rows[-1]["memory MB"] <= GROWTH * rows[0]["memory MB"]
    sys.stdout.write(
        f"{markdown_table(rows)}\n\n{total:,} documents, killed at {', '.join(map(str, stopped)) or 'no line'}; "
        f"{done / seconds:,.0f} documents a second in the last process; output {size:,.0f} MB, "
        f"{'every line once' if whole else 'NOT every line once'}\n\n{described(facts)}\n"
    )
    if arguments.out:
        figures = {"rows": rows, "killed_at": stopped, "seconds": seconds, "done": done, "every_line_once": whole}
        write_json(arguments.out, figures | facts)
    sys.exit(int(not (whole and flat)))


if __name__ == "__main__":
    main()
