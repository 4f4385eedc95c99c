"""The process that predicts for a file of texts: `python -m xcwork.runs.prediction_worker JOB_FOLDER`.

Answers are appended batch by batch. A worker that starts on the folder of a killed one cuts off a torn last line and
goes on after the complete ones, so every document is answered exactly once. SIGTERM and Ctrl-C mean cancel.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from xcwork.errors import Cancelled, RunError
from xcwork.runs import processes
from xcwork.runs.background import Signals, log_to_file
from xcwork.runs.document_files import read_batches
from xcwork.runs.locks import FileLock
from xcwork.runs.outcome import AttemptOutcome, explain_error
from xcwork.runs.prediction_jobs import LOCK_POLL_SECONDS, PredictionJob
from xcwork.runs.reporter import Reporter
from xcwork.runs.resumable_output import ContinuedFile
from xcwork.runs.status import Status, format_now, read_status
from xcwork.runs.store import LOG_FILE, METRICS_FILE

logger = logging.getLogger(__name__)

LOCK_SECONDS = 10.0  # a launcher holds the lock for a moment while it starts the worker
BATCH_DOCUMENTS = 32  # between two looks at the cancel flag
PHASE = "predicting"


def main(folder: str | Path) -> int:
    """Answer the documents of a job; 0 when it finished or was cancelled as asked, else 2."""
    job = PredictionJob(folder)
    try:
        with Signals() as signals, job.open_lock() as lock:
            status = _take_job(job, lock)
            with (
                log_to_file(job.folder / LOG_FILE),
                Reporter(job.folder, status, job.folder / METRICS_FILE) as reporter,
            ):
                signals.tell(reporter.ask_to_stop)
                end = AttemptOutcome()
                with end:
                    answer_documents(job, reporter)
            # Only now, with the heartbeat stopped, so that nothing is written after the last state.
            reporter.update(state=end.state, message=end.message, ended=format_now())
    except (RunError, OSError, MemoryError) as refusal:
        sys.stderr.write(f"{explain_error(refusal)}\n")
        return 2
    return 2 if end.state == "failed" else 0


def _take_job(job: PredictionJob, lock: FileLock) -> Status:
    """Lock the job and return the status that this worker starts with."""
    deadline, pid = time.monotonic() + LOCK_SECONDS, os.getpid()
    while not lock.acquire(holder=f"{processes.get_host_name()} {pid}"):
        if time.monotonic() > deadline:
            raise RunError("another process is already working on these texts; wait for it or cancel it")
        time.sleep(LOCK_POLL_SECONDS)
    born, here = processes.identify_process(pid) or "", processes.get_host_name()
    status = replace(read_status(job.folder), state="running", phase="loading the model", started=format_now())
    return replace(status, message="", pid=pid, process=born, host=here)


def answer_documents(job: PredictionJob, reporter: Reporter) -> None:
    """Append the answers that are missing; leaving without an error means that all are there."""
    from xcwork.runs.answers import Answerer, Question

    run, request = job.run, job.request
    reporter.stop_if_cancelled()
    has_decisions = request.decisions is not None
    question = Question(request.k, probabilities=has_decisions, decide=has_decisions)
    answerer = Answerer(run, run.load_model(), question, request.decisions)
    asked = {"run": run.id, "attempt": run.status.attempt, "job": request.to_dict()}
    with ContinuedFile(job.answers_file, asked) as lines:
        reporter.update(phase=PHASE, step=lines.done, total=request.n_documents)
        logger.info("%d of %d documents have been answered", lines.done, request.n_documents)
        for batch in read_batches(job.documents_file, lines.done, BATCH_DOCUMENTS):
            answers = answerer.answer([document.text for document in batch])
            lines.write(
                document.make_record(answer) | {"text": document.text}
                for document, answer in zip(batch, answers, strict=True)
            )
            done = batch[-1].number + 1
            if reporter.on_step(PHASE, done, request.n_documents) and done < request.n_documents:
                raise Cancelled(f"stopped after {done:,} of {request.n_documents:,} texts; resume to continue")


if __name__ == "__main__":
    # Under its own name rather than as `__main__`, so that its logger is one of xcwork's.
    from xcwork.runs import prediction_worker

    sys.exit(prediction_worker.main(sys.argv[1]))
