"""A worker that dies in the middle is survived, in trainings and predictions; nothing is answered twice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import xcwork
from xcwork.cli import app
from xcwork.compute import cluster
from xcwork.core.dataset import Dataset
from xcwork.progress import Callback, listen
from xcwork.runs import RunStore, worker
from xcwork.runs.answers import Answerer, Question
from xcwork.runs.document_files import read_batches

pytestmark = pytest.mark.slow

SOURCE = "synthetic:n_documents=200,n_labels=30,n_topics=4,seed=2"


def kill_one(place: cluster.Cluster) -> None:
    """End one of the worker processes as the operating system does it; its nanny starts another one."""
    os.kill(min(place.client.run(os.getpid).values()), signal.SIGKILL)


@pytest.fixture
def all_workers(on_cluster: cluster.Cluster) -> Iterator[cluster.Cluster]:
    """A cluster that is whole again for the next test."""
    on_cluster.client.wait_for_workers(2, timeout=120)
    yield on_cluster
    on_cluster.client.wait_for_workers(2, timeout=120)


class KillAtStep(Callback):
    def __init__(self, place: cluster.Cluster) -> None:
        self.place, self.kills = place, 0

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        if phase in ("training classifiers", "training tree 1") and step == 2 and not self.kills:
            self.kills += 1
            kill_one(self.place)
        return False


@pytest.mark.parametrize("name", ["one_vs_all", "label_tree"])
def test_a_training_survives_a_worker(
    name: str, topics: Dataset, all_workers: cluster.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data lie on the workers before (one_vs_all), or travel with the blocks (label_tree)."""
    settings = {"label_tree": {"leaf_size": 4, "trees": 1}}.get(name, {})
    monkeypatch.setattr("xcwork.methods.common.one_vs_all_svm.MAX_LABELS_PER_BLOCK", 3)
    killing = KillAtStep(all_workers)
    with listen([killing]):
        there = xcwork.create(name, **settings).fit(topics.train)
    token = cluster._current.set(None)
    try:
        here = xcwork.create(name, **settings).fit(topics.train)
    finally:
        cluster._current.reset(token)
    assert killing.kills == 1
    ours, theirs = here.predict(topics.test, 5), there.predict(topics.test, 5)
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def run_id(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A finished run in a home folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(tmp_path_factory.mktemp("home")))
        run = RunStore().create("label_tree", {"trees": 1}, SOURCE, calibration="none", label_map=False)
        assert worker.main(run.folder) == 0
        yield run.id


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A file of 600 texts, which are three batches."""
    rng, file = np.random.default_rng(0), tmp_path / "texts.txt"
    words = [f"w{number}" for number in range(200)]
    file.write_text("".join(" ".join(rng.choice(words, 8)) + "\n" for _ in range(600)))
    return file


def test_predictions_survive_a_worker_and_are_those_of_one_process(
    run_id: str, texts: Path, all_workers: cluster.Cluster
) -> None:
    run = RunStore().open(run_id)
    answerer = Answerer(run, run.load_model(), Question(3, False, False), None)
    found = []
    for batch, answers in answerer.answer_batches(read_batches(texts, 0, size=20)):
        found.extend(document.make_record(answer) for document, answer in zip(batch, answers, strict=True))
        if len(found) == 20:
            kill_one(all_workers)
    assert [each["document"] for each in found] == list(range(600))
    assert [each["predictions"] for each in found] == answerer.answer(texts.read_text().splitlines())


def test_the_command_line_predicts_on_a_cluster_and_goes_on_without_it(
    run_id: str, texts: Path, scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, shared = tmp_path / "alone.jsonl", tmp_path / "shared.jsonl"
    command = ["predict", run_id, "--file", str(texts), "--output"]
    assert CliRunner().invoke(app, [*command, str(alone)]).exit_code == 0
    computed = []
    map_stream = cluster.Cluster.map_stream

    def stop_after_one(self, *arguments, **limits):
        for number, pair in enumerate(map_stream(self, *arguments, **limits)):
            computed.append(number)
            if number == 1:
                raise KeyboardInterrupt
            yield pair

    with monkeypatch.context() as patch:
        patch.setattr(cluster.Cluster, "map_stream", stop_after_one)
        stopped = CliRunner().invoke(app, [*command, str(shared), "--cluster", scheduler])
    assert "interrupted with 256 of 600 documents" in stopped.output
    assert computed == [0, 1]
    done = CliRunner().invoke(app, [*command, str(shared), "--json"])
    assert json.loads(done.stdout)["continued_from"] == 256
    assert shared.read_bytes() == alone.read_bytes()
    shared.unlink()
    assert CliRunner().invoke(app, [*command, str(shared), "--cluster", scheduler]).exit_code == 0
    assert shared.read_bytes() == alone.read_bytes()


def test_a_cluster_is_for_files(run_id: str) -> None:
    done = CliRunner().invoke(app, ["predict", run_id, "--text", "w1", "--cluster", "local:2"])
    assert done.exit_code == 2
    assert "--cluster goes with --file" in done.output
