"""States that are seen rather than written: who is alive, who is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from xcwork.runs import processes
from xcwork.runs import reporter as reporter_module
from xcwork.runs import status as status_module
from xcwork.runs.locks import FileLock
from xcwork.runs.status import Status, format_now, observe_status, read_status, write_status

LONG_AGO = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()


@pytest.fixture
def running() -> Status:
    """A status that this very process could have written."""
    pid = os.getpid()
    return Status(
        state="running",
        phase="climbing",
        updated=format_now(),
        pid=pid,
        process=processes.identify_process(pid),
        host=processes.get_host_name(),
    )


@pytest.fixture
def sleeper():
    """A process that lives until the test ends it."""
    child = subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.wait()
    child.stdin.close()


def observed(folder, status: Status) -> str:
    write_status(folder, status)
    return observe_status(folder).state


@pytest.mark.parametrize("name", ["peak_memory_mb", "model_bytes", "predict_ms_per_document", "step"])
def test_a_number_beyond_all_counting_is_damage(tmp_path, name):
    (tmp_path / "status.json").write_text(json.dumps({"state": "finished", name: 10**400}))
    status = read_status(tmp_path)
    assert status.state == "lost"
    assert f"{name} is larger than anything that is counted" in status.message


def test_a_status_survives_its_file(tmp_path, running):
    status = replace(running, history=({"attempt": 1, "state": "lost"},), total=7, model_bytes=3)
    write_status(tmp_path, status)
    assert read_status(tmp_path) == status


def test_a_living_worker_runs_whatever_its_heartbeat_says(tmp_path, running):
    assert observed(tmp_path, replace(running, updated=LONG_AGO)) == "running"


def test_a_dead_worker_is_lost_at_once(tmp_path, running, sleeper):
    alive = replace(running, pid=sleeper.pid, process=processes.identify_process(sleeper.pid))
    assert observed(tmp_path, alive) == "running"
    sleeper.kill()
    sleeper.wait()
    assert observed(tmp_path, alive) == "lost"
    assert "while climbing" in observe_status(tmp_path).message


def test_a_zombie_is_dead(tmp_path, running, sleeper, until):
    status = replace(running, pid=sleeper.pid, process=processes.identify_process(sleeper.pid))
    os.kill(sleeper.pid, signal.SIGKILL)  # and nobody collects the exit code
    until(lambda: observed(tmp_path, status) == "lost", "the zombie to be recognised")
    assert sleeper.returncode is None


def test_another_process_with_the_same_id_is_not_the_worker(tmp_path, running):
    assert observed(tmp_path, replace(running, process="0-1")) == "lost"


def test_setting_the_clock_makes_no_other_process(running, monkeypatch):
    boot, created = psutil.boot_time, psutil.Process.create_time
    monkeypatch.setattr(psutil, "boot_time", lambda: boot() + 3600)
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: created(process) + 3600)
    assert processes.identify_process(running.pid) == running.process


def test_another_machine_is_judged_by_its_heartbeat(tmp_path, running):
    there = replace(running, host="elsewhere", pid=1)
    assert observed(tmp_path, there) == "running"
    assert observed(tmp_path, replace(there, updated=LONG_AGO)) == "lost"
    assert "elsewhere" in observe_status(tmp_path).message


def test_a_queued_run_without_a_worker_is_lost_after_a_while(tmp_path):
    assert observed(tmp_path, Status(updated=format_now())) == "queued"
    assert observed(tmp_path, Status(updated=LONG_AGO)) == "lost"
    assert observed(tmp_path, Status(updated="yesterday")) == "lost"


@pytest.mark.parametrize("state", ["finished", "cancelled", "failed"])
def test_what_is_over_stays_as_it_is(tmp_path, running, state):
    (tmp_path / "cancel").touch()
    assert observed(tmp_path, replace(running, state=state, process="0-1", updated=LONG_AGO)) == state


def test_a_cancel_flag_shows_at_once(tmp_path, running):
    (tmp_path / "cancel").touch()
    assert observed(tmp_path, running) == "cancelling"
    assert read_status(tmp_path).state == "running"


def test_finishing_while_somebody_looks_is_not_a_loss(tmp_path, running, monkeypatch):
    write_status(tmp_path, running)

    def ends_now(pid: int, identity: str) -> bool:
        write_status(tmp_path, replace(running, state="finished"))
        return False

    monkeypatch.setattr(status_module.processes, "is_alive", ends_now)
    assert observe_status(tmp_path).state == "finished"


def test_where_the_system_refuses_the_heartbeat_decides(tmp_path, running, monkeypatch):
    def refuse(process: psutil.Process) -> float:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "create_time", refuse)
    assert observed(tmp_path, running) == "running"
    assert observed(tmp_path, replace(running, updated=LONG_AGO)) == "lost"


def test_the_next_attempt_keeps_the_past(running):
    ended = replace(running, state="failed", message="no luck", attempt=2, train_seconds=5.0, device="cpu")
    following = ended.make_next_attempt()
    assert (following.state, following.attempt, following.train_seconds, following.pid) == ("queued", 3, 5.0, None)
    assert [(past["attempt"], past["state"], past["message"]) for past in following.history] == [
        (2, "failed", "no luck")
    ]


def test_a_lock_has_one_holder_and_dies_with_it(tmp_path, until):
    mine, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert mine.acquire("me")
    assert not other.acquire("other")
    assert other.read_holder() == "me"
    mine.release()
    code = "import sys; from xcwork.runs.locks import FileLock as L; l = L(sys.argv[1]); l.acquire('it'); input()"
    with subprocess.Popen([sys.executable, "-c", code, str(mine.path)], stdin=subprocess.PIPE) as holder:
        until(lambda: mine.read_holder() == "it", "the other process to take the lock")
        assert not mine.acquire("me")
        holder.kill()
        holder.wait()
        assert mine.acquire("me")
    mine.release()


def test_a_lock_follows_no_link(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic link"):
        FileLock(tmp_path / "lock").acquire("me")
    assert precious.read_text() == "mine"


def test_the_first_phase_after_a_written_status_is_written_too(tmp_path, monkeypatch):
    monkeypatch.setattr(reporter_module.time, "monotonic", lambda: 100.0)  # everything happens in the same moment
    reporter = reporter_module.Reporter(tmp_path, Status(state="running"), tmp_path / "metrics.jsonl")
    reporter.on_phase("reading", None)
    reporter.on_phase("counting", None)
    assert read_status(tmp_path).phase == "reading"  # phases that short are not worth a file each
    reporter.update(phase="training")
    reporter.on_phase("climbing", 4)
    assert read_status(tmp_path).phase == "climbing"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell")
def test_peak_memory_does_not_count_the_process_that_started_this_one():
    ballast = b"x" * 700_000_000
    asked = "from xcwork.runs.reporter import measure_peak_memory_mb; print(measure_peak_memory_mb())"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    del ballast
    assert 10 < float(done.stdout) < 500
