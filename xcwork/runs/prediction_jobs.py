"""Predictions for a file of texts, made by a process of their own: start, cancel, resume, read.

A job lives below its run, in `predictions/<job>/`, and survives a closed tab and a killed worker:

| file            | content                                                                            |
| --------------- | ---------------------------------------------------------------------------------- |
| `job.json`      | name of the file, labels per document, the thresholds in use                       |
| `documents.*`   | the texts, as they were handed over                                                |
| `status.json`   | state, step, heartbeat, process (as of a run, see `status.py`)                     |
| `answers.jsonl` | one line per document: its text and its predictions; continued after a kill        |
| `lock`, `cancel`, `log.txt`, `metrics.jsonl` | as of a run                                           |
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xcwork.decisions.choice import Decisions
from xcwork.errors import DataError, RunError
from xcwork.export.text import clean_name
from xcwork.runs import jobs, processes
from xcwork.runs.document_files import count_documents
from xcwork.runs.locks import FileLock
from xcwork.runs.status import CANCEL_FLAG, RESUMABLE_STATES, Status, format_now, observe_status, write_status
from xcwork.runs.store import LOCK_FILE, LOG_FILE, RUN_ID_PATTERN, Run, make_run_id, refuse_links
from xcwork.storage.atomic import write_json

FOLDER = "predictions"
JOB_FILE = "job.json"
ANSWERS_FILE = "answers.jsonl"
SUFFIXES = (".csv", ".tsv", ".jsonl", ".txt")
SCHEMA_VERSION = 1
RELEASE_SECONDS = 10.0  # a worker lets go of the lock a moment after it has written its end
LOCK_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class JobRequest:
    """What was asked for."""

    name: str  # of the file, for people
    suffix: str
    n_documents: int
    k: int
    decisions: Decisions | None  # None: the run gives no probabilities

    def to_dict(self) -> dict[str, Any]:
        decisions = None if self.decisions is None else self.decisions.to_dict()
        return {"schema": SCHEMA_VERSION, "name": self.name, "suffix": self.suffix, "n_documents": self.n_documents} | {
            "k": self.k,
            "decisions": decisions,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> JobRequest:
        """Return the request that `to_dict` described."""
        try:
            if content["schema"] != SCHEMA_VERSION or content["suffix"] not in SUFFIXES:
                raise ValueError("its layout is unknown")
            decisions = content["decisions"]
            n_documents, k = int(content["n_documents"]), int(content["k"])
            if n_documents < 0 or k < 1:
                raise ValueError("a number is negative")
            read = None if decisions is None else Decisions.from_dict(decisions)
            return cls(str(content["name"]), content["suffix"], n_documents, k, read)
        except (LookupError, TypeError, ValueError, AttributeError) as damage:
            raise DataError(f"the job cannot be read ({damage})", remedy="start another one") from None


class PredictionJob:
    """One folder of predictions; everything is read when asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def run(self) -> Run:
        return Run(self.folder.parent.parent)

    @property
    def request(self) -> JobRequest:
        """What was asked for."""
        try:
            content = json.loads((self.folder / JOB_FILE).read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as damage:
            raise DataError(f"the job cannot be read ({damage})", remedy="start another one") from None
        return JobRequest.from_dict(content)

    @property
    def status(self) -> Status:
        """The job at this moment, with `lost` and `cancelling` worked out."""
        return observe_status(self.folder)

    @property
    def documents_file(self) -> Path:
        return self.folder / f"documents{self.request.suffix}"

    @property
    def answers_file(self) -> Path:
        return self.folder / ANSWERS_FILE

    def open_lock(self) -> FileLock:
        """Return the lock held by its worker, or briefly by a launcher."""
        return FileLock(self.folder / LOCK_FILE)

    def iterate_answers(self) -> Iterator[dict[str, Any]]:
        """Yield the complete answers so far, in the order of the documents."""
        try:
            with self.answers_file.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield json.loads(line)
        except FileNotFoundError:
            return
        except ValueError as damage:
            raise DataError(f"an answer cannot be read ({damage})", file=self.answers_file) from None


def create_job(run: Run, name: str, content: bytes, *, k: int) -> PredictionJob:
    """Store the texts of a file for prediction. All of it is read once, so that nothing stops half way."""
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            f"texts are read from {', '.join(SUFFIXES)}, not from {suffix or 'a file without a suffix'}",
            remedy="rename or convert the file",
        )
    if k < 1:
        raise DataError(f"at least 1 label per text must be asked for, got {k}")
    run.check()
    parent = run.folder / FOLDER
    parent.mkdir(exist_ok=True)
    draft = parent / f".new-{uuid.uuid4().hex[:8]}"
    draft.mkdir()
    try:
        documents = draft / f"documents{suffix}"
        documents.write_bytes(content)
        n_documents = count_documents(documents)
        if n_documents == 0:
            raise DataError("there is no text in it", remedy="give one text per line or record")
        decisions = run.read_decisions() if run.read_calibration() is not None else None
        request = JobRequest(clean_name(name), suffix, n_documents, k, decisions)
        write_json(draft / JOB_FILE, request.to_dict())
        write_status(draft, Status(message="not started yet", updated=format_now(), total=n_documents))
        folder = parent / make_run_id("texts")
        draft.rename(folder)
    except DataError as problem:
        # The name that a person knows, in place of the path of the copy.
        known = Path(clean_name(name))
        raise DataError(problem.problem, file=known, line=problem.line, remedy=problem.remedy) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return PredictionJob(folder)


def list_jobs(run: Run) -> list[PredictionJob]:
    """Return the jobs of a run, newest first."""
    parent = run.folder / FOLDER
    if not parent.is_dir():
        return []
    names = [
        entry.name
        for entry in parent.iterdir()
        if RUN_ID_PATTERN.fullmatch(entry.name) and not entry.is_symlink() and (entry / JOB_FILE).is_file()
    ]
    return [PredictionJob(parent / name) for name in sorted(names, reverse=True)]


def start(job: PredictionJob) -> PredictionJob:
    """Hand a job to a worker process: a new one, or one that is lost, failed or cancelled, which resumes there."""
    refuse_links(job.run.folder)
    with job.open_lock() as lock:
        if not _take_lock(job, lock, "launcher"):
            raise RunError("another process is already working on these texts; wait for it or cancel it")
        status = job.status
        is_new = status.state == "queued" and status.queued is None
        if not is_new and status.state not in RESUMABLE_STATES:
            raise RunError(f"these texts are {status.state}; there is nothing to start")
        (job.folder / CANCEL_FLAG).unlink(missing_ok=True)
        fresh = status if is_new else status.make_next_attempt()
        queued = replace(fresh, state="queued", message="", queued=format_now(), updated=format_now(), phase="starting")
        write_status(job.folder, queued)
        module = ["xcwork.runs.prediction_worker", str(job.folder)]
        worker = jobs.spawn_module(module, job.folder / LOG_FILE, job.run.home)
        born = processes.identify_process(worker.pid) or ""
        here = processes.get_host_name()
        write_status(job.folder, replace(queued, pid=worker.pid, process=born, host=here, updated=format_now()))
        # Somebody has to collect the exit code, or a finished worker stays in the process table as a zombie.
        threading.Thread(target=worker.wait, name=f"reaper {job.id}", daemon=True).start()
    return job


def cancel(job: PredictionJob) -> None:
    """Ask the worker to stop after the documents it is at; what it has answered stays."""
    refuse_links(job.run.folder)
    if job.status.is_active:
        (job.folder / CANCEL_FLAG).touch()


def delete(job: PredictionJob) -> None:
    """Remove a job that nobody works on."""
    with job.open_lock() as lock:
        if not _take_lock(job, lock, f"delete {os.getpid()}"):
            raise RunError("a process is working on these texts; cancel it first")
        shutil.rmtree(job.folder)


def _take_lock(job: PredictionJob, lock: FileLock, holder: str) -> bool:
    """Take the lock unless a process is working on the job; a worker that has come to its end is waited for."""
    deadline = time.monotonic() + RELEASE_SECONDS
    while not lock.acquire(holder=holder):
        if job.status.is_active or time.monotonic() > deadline:
            return False
        time.sleep(LOCK_POLL_SECONDS)
    return True
