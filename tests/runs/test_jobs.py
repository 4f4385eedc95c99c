"""Real worker processes: started, watched, cancelled, killed, queued and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_SECONDS
from xcwork.errors import RunError
from xcwork.progress import Callback
from xcwork.runs import Run, jobs, processes, worker
from xcwork.runs.status import Status, format_now, read_status, write_status

pytestmark = pytest.mark.slow


class Listener(Callback):
    """Remembers what it is told; opens the gate once it listens, and asks to stop in the phase `stop_in`."""

    def __init__(self, gate: Path, stop_in: str = "") -> None:
        self.gate, self.stop_in = gate, stop_in
        self.phases, self.ended, self.values = [], [], []

    def on_phase(self, phase, total):
        self.phases.append(phase)

    def on_phase_end(self, phase):
        self.ended.append(phase)

    def on_values(self, phase, values):
        self.values.append((phase, values))

    def on_step(self, phase, step, total):
        if phase == self.stop_in:
            return True
        (self.gate / "open").touch()
        return False


def kill(run: Run) -> None:
    os.kill(read_status(run.folder).pid, signal.SIGKILL)


@pytest.fixture
def undisturbed(new_run):
    """The metrics of the gated method when nothing gets in its way."""
    run = new_run()
    assert worker.main(run.folder) == 0
    return run.read_report().metrics


def test_launch_and_wait(new_run, undisturbed, gate, until):
    run, listener = new_run(gate=str(gate)), Listener(gate)
    assert jobs.launch(run) is run
    assert read_status(run.folder).pid is not None  # known as soon as launch returns
    until((gate / "reached-0").exists, "the first step")
    until(lambda: run.status.phase == "climbing", "the status to say so")
    assert jobs.wait(run, timeout=0).state == "running"
    status = jobs.wait(run, [listener])
    assert (status.state, status.attempt) == ("finished", 1)
    assert status.pid != os.getpid()
    assert run.read_report().metrics == undisturbed
    assert listener.phases[0] == "climbing"
    assert sorted(listener.ended) == sorted(listener.phases)
    told = dict(listener.values)
    assert told["evaluating all"] == undisturbed
    assert set(told["climbing"]) == {"loss"}
    with pytest.raises(RunError, match="was started before and is finished"):
        jobs.launch(run)
    for verb in (jobs.resume, jobs.cancel):
        with pytest.raises(RunError, match="is finished; there is nothing to"):
            verb(run)


def test_killed_in_any_step_it_resumes_to_the_same_metrics(new_run, undisturbed, gate, until):
    run = new_run(gate=str(gate))
    jobs.launch(run)
    for step, following in pairwise((0, 2, 3, 4)):  # killed three times, each time further on
        until((gate / f"reached-{step}").exists, f"step {step}")
        kill(run)
        until(lambda: run.state == "lost", "the loss to show")
        assert "stopped without a message while climbing" in run.status.message
        for opened in range(step, following):
            (gate / f"open-{opened}").touch()
        jobs.resume(run)
    status = jobs.wait(run)
    assert (status.state, status.attempt, [past["state"] for past in status.history]) == ("finished", 4, ["lost"] * 3)
    assert run.read_report().metrics == undisturbed
    assert max(event["attempt"] for event in run.read_events()) == 4


def test_a_callback_cancels_and_resume_goes_on(new_run, undisturbed, gate, until):
    run = new_run(gate=str(gate))
    jobs.launch(run)
    until((gate / "reached-0").exists, "the first step")
    assert jobs.cancel(run).state == "cancelling"
    (gate / "open-0").touch()
    status = jobs.wait(run)
    assert (status.state, status.message) == ("cancelled", "stopped during climbing")
    assert not (gate / "reached-1").exists()
    assert jobs.cancel(run).state == "cancelled"
    jobs.resume(run)
    until((gate / "reached-1").exists, "the step after the checkpoint")
    (gate / "open-1").touch()
    until((gate / "reached-2").exists, "the third step")
    until(lambda: run.status.phase == "climbing", "the status to say so")
    assert jobs.wait(run, [Listener(gate, stop_in="climbing")], timeout=0).state == "running"
    assert run.state == "cancelling"
    (gate / "open").touch()
    assert jobs.wait(run).state == "cancelled"
    jobs.resume(run)
    assert jobs.wait(run).state == "finished"
    assert run.read_report().metrics == undisturbed


def test_sigterm_is_a_cancel(new_run, gate, until):
    run = new_run(gate=str(gate))
    jobs.launch(run)
    until((gate / "reached-0").exists, "the first step")
    os.kill(read_status(run.folder).pid, signal.SIGTERM)
    (gate / "open").touch()
    assert jobs.wait(run).state == "cancelled"
    assert not (gate / "reached-3").exists()


def test_two_workers_never_share_a_run(new_run, gate, until, undisturbed):
    run = new_run(gate=str(gate))
    jobs.launch(run)
    until((gate / "reached-0").exists, "the first step")
    before = read_status(run.folder)
    command = [sys.executable, "-P", "-m", "xcwork.runs.worker", str(run.folder)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert second.returncode == 2
    assert second.stderr.strip() == f"another worker is running {run.id}; wait for it or cancel it"
    for verb in (jobs.launch, jobs.resume):
        with pytest.raises(RunError, match="has a worker already"):
            verb(run)
    assert read_status(run.folder).pid == before.pid
    (gate / "open").touch()
    assert jobs.wait(run).state == "finished"
    assert run.read_report().metrics == undisturbed


def test_the_queue_keeps_its_order_and_a_killed_holder_blocks_nobody(new_run, store, gate, tmp_path, until):
    gates = [gate, *(tmp_path / f"gate-{i}" for i in range(1, 4))]
    for folder in gates[1:]:
        folder.mkdir()
    first, cancelled, second, third = (new_run(gate=str(folder)) for folder in gates)
    jobs.launch(first)
    until((gates[0] / "reached-0").exists, "the first run to hold the turn")
    for run in (cancelled, second, third):
        jobs.launch(run)
    for run in (cancelled, second, third):
        until(lambda run=run: run.status.message == f"waiting for {first.id} to finish", f"{run.id} to wait")
        assert run.state == "queued"
    assert jobs.cancel(cancelled).state == "cancelling"
    assert jobs.wait(cancelled).state == "cancelled"
    kill(first)
    until((gates[2] / "reached-0").exists, "the next in line")
    assert (first.state, third.state) == ("lost", "queued")
    until(lambda: third.status.message == f"waiting for {second.id} to finish", "the last to see whom it waits for")
    kill(second)
    until((gates[3] / "reached-0").exists, "the last in line")
    kill(third)
    assert not (gates[1] / "reached-0").exists()


def as_mine(status: Status) -> Status:
    """The status as if this process were the worker."""
    pid = os.getpid()
    return replace(
        status,
        queued=format_now(),
        updated=format_now(),
        pid=pid,
        process=processes.identify_process(pid),
        host=processes.get_host_name(),
    )


def test_a_run_launched_earlier_goes_first_even_if_its_worker_is_slower(new_run, until):
    early, late = new_run(), new_run()
    write_status(early.folder, as_mine(read_status(early.folder)))
    worker_of_late = threading.Thread(target=worker.main, args=[late.folder])
    worker_of_late.start()
    until(lambda: late.status.message == f"waiting for {early.id} to finish", "the later run to step back")
    write_status(early.folder, replace(read_status(early.folder), state="failed"))
    worker_of_late.join()
    assert late.state == "finished"


def test_a_run_that_never_started_can_be_cancelled_and_resumed(new_run):
    run = new_run()
    assert jobs.cancel(run).state == "cancelled"
    assert jobs.cancel(run).state == "cancelled"
    with pytest.raises(RunError, match="was started before and is cancelled"):
        jobs.launch(run)
    jobs.resume(run)
    assert (jobs.wait(run).state, run.status.attempt) == ("finished", 2)


def test_a_lost_run_can_be_cancelled(new_run):
    run = new_run()
    write_status(run.folder, replace(as_mine(read_status(run.folder)), state="running", process="0-1"))
    assert run.state == "lost"
    assert (jobs.cancel(run).state, run.state) == ("cancelled", "cancelled")


def test_a_worker_that_cannot_start_is_lost_with_its_words_in_the_log(new_run, monkeypatch, tmp_path, until):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/numpy.py").write_text("raise ImportError('a broken installation')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    run = new_run()
    jobs.launch(run)
    until(lambda: run.state == "lost", "the loss to show")
    assert "a broken installation" in run.read_log(3)


def test_a_damaged_run_is_refused_before_anything_starts(new_run):
    run = new_run()
    (run.folder / "config.json").write_text("{")
    for verb in (jobs.launch, jobs.resume):
        with pytest.raises(RunError, match="cannot be read"):
            verb(run)
    assert not (run.folder / "log.txt").exists()
