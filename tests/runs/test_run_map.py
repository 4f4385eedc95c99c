"""The map of a run: made when the run is finished, kept, resumed, cancelled, and never the reason of a failure."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.errors import Cancelled, RunError
from xcwork.layout import label_layout
from xcwork.progress import Callback, listen
from xcwork.runs import RunStore, map_job, run_map, worker
from xcwork.runs.manage import delete_run


@pytest.fixture
def store(tmp_path):
    names = [f"{topic}{i}" for i in range(12) for topic in ("pear", "nut")]
    lines = [f'"{name} number {copy}",{name}' for name in names for copy in range(3)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "fruit.csv").write_text("text,labels\n" + "\n".join(lines) + "\n")
    return RunStore(tmp_path)


@pytest.fixture
def run(store):
    return store.create("one_vs_all", {}, store.home / "data" / "fruit.csv")


class StopAt(Callback):
    """Asks to stop in one phase, and remembers all phases."""

    def __init__(self, phase: str = "") -> None:
        self.phase = phase
        self.phases: list[str] = []

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.phases.append(phase)
        return bool(self.phase) and phase.startswith(self.phase)


def test_the_worker_makes_the_map_after_it_finished_the_run(run):
    assert worker.main(run.folder) == 0
    assert run.state == "finished"
    made = run_map.read_map(run)
    assert made is not None
    assert made.layout.n_labels == 24
    assert len(made.layout.ids) >= 20  # a label may be in the test split only
    progress = map_job.read_map_progress(run)
    assert progress is not None
    assert progress.state == "finished"
    assert "map of 24 labels" in run.read_log()


def test_a_run_without_a_map_gets_one_when_asked(store):
    run = store.create("one_vs_all", {}, store.home / "data" / "fruit.csv", label_map=False)
    assert worker.main(run.folder) == 0
    assert run_map.read_map(run) is None
    assert map_job.read_map_progress(run) is None
    made = run_map.make_map(run)
    again = run_map.read_map(run)
    assert again is not None
    assert np.array_equal(made.layout.positions, again.layout.positions)
    assert made.regions.regions == again.regions.regions


def test_a_killed_map_leaves_no_file_once_the_map_is_made(run):
    folder = run.folder / run_map.MAP_FOLDER
    folder.mkdir()
    (folder / f".{map_job.PROGRESS_FILE}.0123abcd.tmp").write_text("{")
    assert worker.main(run.folder) == 0
    assert run_map.read_map(run) is not None
    assert [path.name for path in folder.rglob(".*")] == []


def test_a_map_that_fails_leaves_a_finished_run_and_a_line_in_the_log(run, monkeypatch):
    def fail(*_args, **_settings):
        raise ZeroDivisionError("no such layout")

    monkeypatch.setattr(run_map, "compute_label_layout", fail)
    assert worker.main(run.folder) == 0
    assert run.state == "finished"
    progress = map_job.read_map_progress(run)
    assert progress is not None
    assert progress.state == "failed"
    assert "has no map: unexpected error" in run.read_log()


def test_an_interrupted_layout_resumes_where_it_stopped(run, monkeypatch):
    assert worker.main(run.folder) == 0
    whole = run_map.read_map(run)
    assert whole is not None
    stop, go_on = StopAt("finding regions"), StopAt()
    with pytest.raises(Cancelled), listen([stop]):
        run_map.make_map(run, again=True)
    monkeypatch.setattr(label_layout, "reduce_vectors", lambda *_args, **_settings: pytest.fail("reduced again"))
    with listen([go_on]):
        resumed = run_map.make_map(run, again=True)
    assert "reducing label vectors" in stop.phases
    assert "reducing label vectors" not in go_on.phases
    assert np.array_equal(resumed.layout.positions, whole.layout.positions)


def test_a_damaged_map_is_made_again(run, caplog):
    assert worker.main(run.folder) == 0
    (run.folder / "map" / "umap" / "arrays.safetensors").write_bytes(b"damaged")
    assert run_map.read_map(run) is None
    assert "cannot be used" in caplog.text
    assert run_map.make_map(run).layout.n_labels == 24
    assert run_map.read_map(run) is not None


def test_a_wish_to_stop_ends_the_map_and_not_the_run(run, monkeypatch):
    def ask(vectors, frequencies, **settings):
        map_job.cancel_map(run)
        return label_layout.compute_label_layout(vectors, frequencies, **settings)

    monkeypatch.setattr(run_map, "compute_label_layout", ask)
    assert worker.main(run.folder) == 0
    progress = map_job.read_map_progress(run)
    assert progress is not None
    assert (run.state, progress.state) == ("finished", "cancelled")


def test_two_makers_do_not_work_on_one_map(run):
    assert worker.main(run.folder) == 0
    with run_map.FileLock(run.folder / "map" / "lock-umap") as lock:
        assert lock.acquire()
        with pytest.raises(RunError, match="being made already"):
            run_map.make_map(run, again=True)


def test_a_second_run_on_the_same_labels_resembles_the_first(store, run):
    other = store.create("bm25", {}, store.home / "data" / "fruit.csv")
    assert worker.main(run.folder) == worker.main(other.folder) == 0
    assert run_map.find_reference(other) is not None
    like = run_map.make_map(other, like=run)
    assert (other.folder / "map" / f"umap-like-{run.id}").is_dir()
    assert len(like.layout.ids)


def test_deleting_a_run_takes_its_map_along(run):
    assert worker.main(run.folder) == 0
    delete_run(run)
    assert not run.folder.exists()
