"""Two Dask worker processes compute what one process computes, and are told apart from it."""

from __future__ import annotations

import os
import socket

import numpy as np
import pytest

import xcwork
from xcwork.compute import cluster
from xcwork.compute.parallel import block_map, count_parallel_blocks
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.progress import Callback, listen

pytestmark = pytest.mark.slow

SETTINGS = {
    "one_vs_all": {},
    "label_tree": {"leaf_size": 4, "trees": 2},
    "landmarks": {"landmarks": 8},
    "zestxml": {},
}


class Numbers:
    """Data that can be sent."""

    def __init__(self, count: int) -> None:
        self.values = np.arange(count)


def sum_up_to(data: Numbers, item: int) -> tuple[int, int]:
    return int(data.values[:item].sum()), os.getpid()


def refuse(data: Numbers, item: int) -> int:
    raise DataError(f"block {item} cannot be used", remedy="look at it")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks a method, so that both workers get some."""
    monkeypatch.setattr("xcwork.methods.common.one_vs_all_svm.MAX_LABELS_PER_BLOCK", 5)
    monkeypatch.setattr("xcwork.methods.landmarks.affinity.LABELS_PER_BLOCK", 7)
    monkeypatch.setattr("xcwork.methods.landmarks.ridge.Ridge.block_size", 6)
    monkeypatch.setattr("xcwork.methods.common.pair_svm.MIN_LABELS_PER_BLOCK", 3)


def test_blocks_run_in_both_workers_in_order_and_the_data_go_once(on_cluster) -> None:
    data, before = Numbers(100), os.getpid()
    for _ in range(2):
        results = list(block_map(sum_up_to, data, range(12), "adding"))
    assert [total for total, _ in results] == [sum(range(item)) for item in range(12)]
    workers = {worker for _, worker in results}
    assert len(workers) == 2
    assert before not in workers
    assert len(on_cluster._sent) == 1
    del data
    assert not on_cluster._sent


def test_heavy_items_are_handed_out_one_after_the_other(on_cluster) -> None:
    taken, done = [], []

    def items():
        for item in (3, 4, 2, 1, 1, 1, 1, 1, 1):
            taken.append(item)
            yield item

    for item, (total, _) in on_cluster.map_stream(sum_up_to, Numbers(9), items(), "adding", weigh=float, max_weight=3):
        done.append((item, total))
        outstanding = sum(taken) - sum(item for item, _ in done)
        assert outstanding <= 3 + taken[-1]  # the next one is taken, and waits
    assert done == [(item, sum(range(item))) for item in (3, 4, 2, 1, 1, 1, 1, 1, 1)]


def test_an_error_of_a_block_is_the_error_of_the_caller(on_cluster) -> None:
    with pytest.raises(DataError, match="block 0 cannot be used; look at it"):
        list(block_map(refuse, Numbers(1), range(3), "refusing"))


def test_outside_of_the_block_work_stays_here(scheduler) -> None:
    with cluster.use_cluster(scheduler):
        assert count_parallel_blocks() == 2
    assert count_parallel_blocks() == 1
    assert {worker for _, worker in block_map(sum_up_to, Numbers(3), range(3), "adding")} == {os.getpid()}


@pytest.mark.parametrize("name", list(SETTINGS))
def test_the_cluster_trains_the_same_model(name, topics, on_cluster, small_blocks, monkeypatch) -> None:
    sent: dict[str, int] = {}
    map_stream = cluster.Cluster.map_stream

    def recorded(self, work, data, items, phase, **limits):
        for pair in map_stream(self, work, data, items, phase, **limits):
            sent[phase] = sent.get(phase, 0) + 1
            yield pair

    with monkeypatch.context() as patch:
        patch.setattr(cluster.Cluster, "map_stream", recorded)
        there = xcwork.create(name, **SETTINGS[name]).fit(topics.train)
    token = cluster._current.set(None)
    try:
        here = xcwork.create(name, **SETTINGS[name]).fit(topics.train)
    finally:
        cluster._current.reset(token)
    assert sent
    assert max(sent.values()) > 1, "one block only: nothing was shared"
    ours, theirs = here.predict(topics.test, 5), there.predict(topics.test, 5)
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-5, atol=1e-6)


class StopAt(Callback):
    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        return phase == "training classifiers" and step == 3


def test_a_cancelled_training_goes_on_without_the_cluster(topics, on_cluster, small_blocks, tmp_path) -> None:
    checkpoint = Checkpoint(tmp_path)
    with listen([StopAt()]), pytest.raises(Cancelled):
        xcwork.create("one_vs_all").fit(topics.train, checkpoint=checkpoint)
    assert len(checkpoint.restore()["states"]["classifiers"]["numbers"]) == 3 * 5
    token = cluster._current.set(None)
    try:
        resumed = xcwork.create("one_vs_all").fit(topics.train, checkpoint=checkpoint)
        whole = xcwork.create("one_vs_all").fit(topics.train)
    finally:
        cluster._current.reset(token)
    assert (resumed.model_.weights != whole.model_.weights).nnz == 0


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nonsense", "is not the address of a cluster"),
        ("http://host:80", "is not the address of a cluster"),
        ("tcp://host", "is not the address of a cluster"),
        ("local:0", "does not say how many processes"),
        ("local:many", "does not say how many processes"),
        ("tcp://127.0.0.1:99999", "is not the address"),
    ],
)
def test_a_wrong_address_is_one_sentence(address, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        cluster.check_address(address)


def test_nobody_at_the_address_is_one_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ConfigError, match=r"no cluster answers at tcp://127\.0\.0\.1:\d+ .*; give tcp://HOST:PORT"):
            cluster.check_address(address)


def test_a_run_trains_on_the_cluster_of_its_configuration(scheduler, home, monkeypatch) -> None:
    from xcwork.runs import RunStore, worker

    phases: list[str] = []
    map_stream = cluster.Cluster.map_stream

    def recorded(self, work, data, items, phase):
        phases.append(f"{phase} at {self.address}")
        return map_stream(self, work, data, items, phase)

    monkeypatch.setattr(cluster.Cluster, "map_stream", recorded)
    monkeypatch.setenv("XCWORK_CLUSTER", scheduler)  # as the dashboard gets it
    run = RunStore().create("one_vs_all", {}, "synthetic:n_documents=100,n_labels=20,n_topics=2")
    assert run.config["cluster"] == scheduler
    assert worker.main(run.folder) == 0, run.read_log(20)
    assert phases == [f"training classifiers at {scheduler}"]
    assert run.state == "finished"


def test_the_command_line_refuses_a_wrong_address_before_there_is_a_run(home) -> None:
    from typer.testing import CliRunner

    from xcwork.cli import app
    from xcwork.runs import RunStore

    done = CliRunner().invoke(app, ["train", "popularity", "--data", "synthetic", "--cluster", "host:8786"])
    assert done.exit_code == 2
    assert "'host:8786' is not the address of a cluster" in done.output
    assert RunStore().list() == []


def test_a_cluster_that_went_away_is_one_sentence_about_the_run(home) -> None:
    from xcwork.runs import RunStore, worker

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    run = RunStore().create("popularity", {}, "synthetic:n_documents=100,n_labels=20,n_topics=2", cluster=address)
    assert worker.main(run.folder) == 2
    assert run.state == "failed"
    assert run.status.message.startswith(f"no cluster answers at {address}")


def test_the_address_in_a_run_folder_alone_connects_to_nothing(home, monkeypatch) -> None:
    from xcwork.errors import RunError
    from xcwork.runs import RunStore, jobs

    started = []
    monkeypatch.setattr(jobs, "_start_worker", lambda run, status: started.append(run.config["cluster"]))
    monkeypatch.delenv("XCWORK_CLUSTER", raising=False)
    run = RunStore().create("popularity", {}, "synthetic", cluster="tcp://stranger:8786")
    with pytest.raises(RunError, match="--cluster tcp://stranger:8786` resumes there"):
        jobs.resume(run)
    assert started == []
    jobs.resume(run, cluster="")
    jobs.resume(run)
    monkeypatch.setenv("XCWORK_CLUSTER", "tcp://ours:8786")
    jobs.resume(run)
    assert started == ["", "", "tcp://ours:8786"]
