"""What the fault campaign found, each as a test of its own that needs no campaign."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from xcwork.cli import app, dashboard
from xcwork.errors import ConfigError
from xcwork.runs import Run, status, worker
from xcwork.runs import reporter as reporter_module
from xcwork.runs.outcome import explain_error
from xcwork.runs.resumable_output import ContinuedFile
from xcwork.storage import atomic
from xcwork.storage.state import read_state, write_state

FULL = "Error while serializing: I/O error: No space left on device (os error 28)"


@pytest.fixture
def run(store, corpus) -> Run:
    return store.create("popularity", {}, corpus)


def disk_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_is_full_for_arrays_is_a_full_disk(run, monkeypatch):
    def save_file(*_: object) -> None:
        raise SafetensorError(FULL)

    monkeypatch.setattr("safetensors.numpy.save_file", save_file)
    assert worker.main(run.folder) == 2
    assert run.state == "failed"
    assert "No space left on device" in run.status.message
    assert "check the disk space" in run.status.message
    assert not list(run.folder.rglob(".*"))


def test_a_state_that_does_not_fit_leaves_the_old_one(tmp_path, monkeypatch):
    write_state(tmp_path / "state", {"a": np.arange(3)})

    def save_file(*_: object) -> None:
        raise SafetensorError(FULL)

    monkeypatch.setattr("safetensors.numpy.save_file", save_file)
    with pytest.raises(OSError, match=r"arrays\.safetensors cannot be written"):
        write_state(tmp_path / "state", {"a": np.arange(4)})
    assert read_state(tmp_path / "state")["a"].tolist() == [0, 1, 2]
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("writes", range(4))
def test_a_worker_that_cannot_write_its_status_ends_with_a_sentence(run, monkeypatch, capsys, writes):
    """Also when it is the last status that finds no room: the run is lost, not torn, and resumes."""
    original, left = status.write_json, iter(range(writes))

    def write_json(path: Path, content: object) -> None:
        if next(left, None) is None:
            disk_full()
        original(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(status, "write_json", write_json)
        assert worker.main(run.folder) == 2
    assert "No space left on device; check the disk space" in capsys.readouterr().err
    assert run.state in ("queued", "running")  # this process is the worker, and it lives
    assert worker.main(run.folder) == 0
    assert run.state == "finished"


def test_a_finished_run_has_no_checkpoint_left(store, corpus, monkeypatch):
    """A file system that is read-only for a moment, just when the checkpoint is to go: the resumed run removes it."""
    run = store.create("one_vs_all", {}, corpus)

    remove = shutil.rmtree

    def rmtree(path: Path, **options: bool) -> None:
        if path.name == "checkpoint":
            raise OSError(errno.EROFS, "Read-only file system")
        remove(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", rmtree)
        assert worker.main(run.folder) == 2
    assert run.state == "failed"
    assert "Read-only file system" in run.status.message
    assert (run.folder / "checkpoint").is_dir()
    status.write_status(run.folder, run.make_next_attempt(run.status))
    assert worker.main(run.folder) == 0
    assert run.state == "finished"
    assert not (run.folder / "checkpoint").exists()


def test_not_even_standard_error_has_room(run, monkeypatch):
    class Full:
        write = flush = staticmethod(disk_full)

    monkeypatch.setattr(status, "write_json", disk_full)
    monkeypatch.setattr(sys, "stderr", Full())
    assert worker.main(run.folder) == 2


def test_a_signal_before_the_first_status_cancels(run, monkeypatch):
    take = worker._take_run

    def interrupted(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        return take(*arguments)

    monkeypatch.setattr(worker, "_take_run", interrupted)
    assert worker.main(run.folder) == 0
    assert run.state == "cancelled"


def test_a_signal_after_the_work_does_not_lose_the_run(run, monkeypatch):
    work = worker._do_attempt

    def then_signal(*arguments: object) -> None:
        work(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(worker, "_do_attempt", then_signal)
    before = signal.getsignal(signal.SIGTERM)
    assert worker.main(run.folder) == 0
    assert run.state == "finished"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("can't start new thread"),
        MemoryError("Unable to allocate 8 TiB"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_every_way_to_run_out_of_memory_gets_the_same_words(error):
    assert explain_error(error).startswith("there was not enough memory (")


def test_a_replaced_folder_is_never_missing(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    if not atomic._exchange_entries(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot swap two folders in one step")
    folder, seen = tmp_path / "model", []
    write_state(folder, {"version": 1})
    rename, remove = Path.rename, shutil.rmtree

    def watched_rename(path: Path, target: Path) -> Path:
        seen.append(folder.is_dir())
        return rename(path, target)

    def watched_remove(path: Path, **options: bool) -> None:
        seen.append(folder.is_dir())
        remove(path, **options)

    monkeypatch.setattr(Path, "rename", watched_rename)
    monkeypatch.setattr(shutil, "rmtree", watched_remove)
    write_state(folder, {"version": 2})
    assert seen
    assert all(seen)
    assert read_state(folder) == {"version": 2}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b", "model"]


def test_a_folder_is_replaced_where_the_system_cannot_swap(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_exchange_entries", lambda *_: False)
    for version in (1, 2):
        write_state(tmp_path / "model", {"version": version})
    assert read_state(tmp_path / "model") == {"version": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_the_same_output_is_not_written_twice_at_once(tmp_path):
    path = tmp_path / "out.jsonl"
    with ContinuedFile(path, {"run": "a"}) as lines:
        with pytest.raises(ConfigError, match="another xcwork predict is writing"):
            ContinuedFile(path, {"run": "a"})
        lines.write([{"document": 0}])
    assert path.read_text() == '{"document": 0}\n'
    assert ContinuedFile(path, {"run": "a"}).done == 0  # finished, so the next one starts again


def test_demo_runs_are_queued_by_a_process_that_ends(tmp_path, monkeypatch):
    """Otherwise their workers stay in the process table for as long as the server runs."""
    from typer.testing import CliRunner

    started: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> object:
        started.append(command)
        return type("Done", (), {"returncode": 2})

    monkeypatch.setattr(dashboard.subprocess, "run", refuse)
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the server starts although the demo runs do not"))
    done = CliRunner().invoke(app, ["app", "--demo", "--port", "18765", "--home", str(tmp_path)])
    assert done.exit_code == 2
    assert started[0][-3:] == ["demo-runs", "--home", str(tmp_path)]


def test_the_heart_beats_on_after_a_moment_without_room(run, monkeypatch):
    """A beat that cannot be written is followed by others, whatever was missing."""
    original, failures = status.write_json, iter((MemoryError(), OSError(errno.ENOSPC, "No space left on device")))
    beats = threading.Event()
    monkeypatch.setattr(reporter_module, "HEARTBEAT_INTERVAL_SECONDS", 0.001)
    with reporter_module.Reporter(run.folder, run.status, run.folder / "metrics.jsonl"):

        def write_json(path: Path, content: object) -> None:
            if (failure := next(failures, None)) is not None:
                raise failure
            original(path, content)
            beats.set()

        monkeypatch.setattr(status, "write_json", write_json)
        assert beats.wait(60)
