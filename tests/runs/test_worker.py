"""One attempt of a run, inside this process: what it leaves behind when it ends well, badly or early."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.support.paths import PLUGIN
from xcwork.core.dataset import compute_first_fingerprint
from xcwork.data.load import load_dataset
from xcwork.errors import DataError
from xcwork.methods import registry
from xcwork.metrics import evaluate
from xcwork.runs import worker
from xcwork.runs.status import read_status, write_status


def test_a_finished_run_has_everything(new_run, corpus, store):
    run = new_run()
    assert worker.main(run.folder) == 0
    status = run.status
    assert (status.state, status.message, status.attempt) == ("finished", "", 1)
    assert status.train_seconds > 0
    assert status.predict_ms_per_document > 0
    assert status.peak_memory_mb > 10
    stored = sum(f.stat().st_size for f in (run.folder / "model").iterdir() if f.name != "README.md")
    assert status.model_bytes == stored
    assert {path.name for path in run.folder.iterdir()} == {
        "config.json",
        "identity.json",
        "status.json",
        "metrics.jsonl",
        "log.txt",
        "lock",
        "map",
        "model",
        "eval",
    }
    assert {path.name for path in (run.folder / "eval").iterdir()} == {
        "metrics.json",
        "topk.npz",
        "per_label.csv",
        "per_document.csv",
        "errors.csv",
    }
    assert {path.name for path in (run.folder / "model").iterdir()} == {
        "state.json",
        "arrays.safetensors",
        "README.md",
    }
    data = load_dataset(corpus, home=store.home)
    assert run.config["dataset"]["fingerprint"] == data.fingerprint
    direct = evaluate(registry.create("gated").fit(data.train), data)
    assert run.read_report().metrics == direct.metrics
    assert np.array_equal(run.read_topk().ids, direct.topk.ids)
    assert run.to_dict()["metrics"] == direct.metrics
    assert np.array_equal(run.load_model().predict(data.test, 3).ids, direct.topk.ids[:, :3])
    assert [event["loss"] > 0 for event in run.read_events() if event["phase"] == "climbing"] == [True] * 4


def test_nothing_in_a_run_is_a_pickle(new_run):
    run = new_run()
    worker.main(run.folder)
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert {path.suffix for path in files} <= {".json", ".jsonl", ".txt", ".md", ".csv", ".npz", ".safetensors", ""}
    for path in files:
        assert not path.read_bytes().startswith(b"\x80"), path  # how every binary pickle begins
    with np.load(run.folder / "eval/topk.npz", allow_pickle=False) as stored:
        assert {stored[name].dtype.kind for name in stored} == {"i", "f"}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("memory", "there was not enough memory (unable to allocate 8 TiB); use a smaller"),
        ("library", "there was not enough memory (error return without exception set); use a smaller"),
        ("bug", "unexpected error, see log.txt: ZeroDivisionError: by <nothing>"),
        ("disk", "[Errno 28] No space left on device; check the disk space"),
    ],
)
def test_an_error_becomes_a_sentence_and_the_traceback_stays_in_the_log(new_run, error, sentence):
    run = new_run(error=error)
    assert worker.main(run.folder) == 2
    assert run.state == "failed"
    assert run.status.message.startswith(sentence)
    assert "Traceback" in run.read_log()
    assert run.status.details == run.read_log(20)


def test_an_error_of_the_data_is_told_as_it_is(store, corpus, tmp_path):
    data = shutil.copytree(corpus, tmp_path / "nowhere")
    run = store.create("gated", {}, data)
    shutil.rmtree(data)
    with pytest.raises(DataError) as told:
        load_dataset(data, home=store.home)
    assert worker.main(run.folder) == 2
    assert run.status.message == str(told.value)
    assert "Traceback" not in run.read_log()


def test_what_is_over_is_refused(new_run, capsys):
    run = new_run()
    worker.main(run.folder)
    before = (run.folder / "status.json").read_bytes()
    assert worker.main(run.folder) == 2
    assert "is finished already" in capsys.readouterr().err
    assert (run.folder / "status.json").read_bytes() == before


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert worker.main(tmp_path) == 2
    assert "is not a run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_cancelled_before_it_began_then_resumed(new_run):
    undisturbed, run = new_run(), new_run()
    worker.main(undisturbed.folder)
    (run.folder / "cancel").touch()
    assert worker.main(run.folder) == 0
    assert (run.state, (run.folder / "model").exists()) == ("cancelled", False)
    (run.folder / "cancel").unlink()
    write_status(run.folder, run.make_next_attempt(run.status))
    assert worker.main(run.folder) == 0
    assert (run.state, run.status.attempt) == ("finished", 2)
    assert run.read_report().metrics == undisturbed.read_report().metrics


def lose(run, **changes) -> None:
    """Make a finished run look as if its worker had been killed."""
    write_status(run.folder, replace(read_status(run.folder), state="evaluating", process="0-1", **changes))


def test_a_complete_model_is_not_trained_again(new_run, monkeypatch):
    run = new_run()
    worker.main(run.folder)
    metrics, seconds = run.read_report().metrics, run.status.train_seconds
    lose(run)
    monkeypatch.setattr(registry.find_method_class("gated"), "_fit", None)
    assert worker.main(run.folder) == 0
    assert (run.state, run.status.attempt, run.status.train_seconds) == ("finished", 2, seconds)
    assert run.read_report().metrics == metrics
    assert [past["state"] for past in run.status.history] == ["lost"]


def test_a_damaged_model_is_trained_again(new_run):
    run = new_run()
    worker.main(run.folder)
    metrics = run.read_report().metrics
    lose(run)
    (run.folder / "model/arrays.safetensors").write_bytes(b"\0" * 100)
    assert worker.main(run.folder) == 0
    assert run.read_report().metrics == metrics
    assert "training starts again" in run.read_log()


def test_a_run_that_recorded_the_first_kind_of_fingerprint_is_resumed(new_run, corpus, store):
    run = new_run()
    worker.main(run.folder)
    recorded = compute_first_fingerprint(load_dataset(corpus, home=store.home))
    run.complete_config(dataset=run.config["dataset"] | {"fingerprint": recorded})
    write_status(run.folder, run.make_next_attempt(run.status))
    assert worker.main(run.folder) == 0
    run.complete_config(dataset=run.config["dataset"] | {"fingerprint": "0123456789abcdef"})
    write_status(run.folder, run.make_next_attempt(run.status))
    assert worker.main(run.folder) == 2
    assert "changed since it started; start a new run" in run.status.message


def test_a_run_without_status_goes_on_with_the_next_attempt(new_run):
    run = new_run()
    worker.main(run.folder)
    (run.folder / "status.json").write_text("{")
    assert worker.main(run.folder) == 0
    assert (run.state, run.status.attempt) == ("finished", 2)


def test_data_that_changed_is_not_mixed_with_an_old_model(new_run, corpus):
    run = new_run()
    worker.main(run.folder)
    lose(run)
    test = corpus / "test.jsonl"
    test.write_text("".join(test.read_text().splitlines(keepends=True)[1:]))
    assert worker.main(run.folder) == 2
    assert "changed since it started" in run.status.message


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_before_any_file_operation_it_resumes_to_the_same_result(corpus, tmp_path):
    script = [sys.executable, str(PLUGIN / "kill_everywhere.py"), str(tmp_path / "home"), str(corpus)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["wrong"] == {}
    assert answer["points"] > 50


def test_leftovers_of_a_kill_are_cleared(new_run):
    run = new_run()
    for name in (".model.0123abcd.tmp", ".model.0123abcd.old", "checkpoint/.000001.0123abcd.tmp"):
        (run.folder / name).mkdir(parents=True)
    (run.folder / ".status.json.0123abcd.tmp").touch()
    (run.folder / ".mine").touch()
    assert worker.main(run.folder) == 0
    assert [path.name for path in run.folder.rglob(".*")] == [".mine"]
