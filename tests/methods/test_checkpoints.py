"""Progress of a training: states come back to the same training only, blocks add up, saving is not overdone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.methods.common import checkpoints
from xcwork.methods.common.checkpoints import Checkpoint, TrainedBlocks, TrainingProgress

PARAMS = {"C": 1.0}


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Seconds that pass only when a test says so."""
    now = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    return now


def rows(*values: float) -> sparse.csr_array:
    return sparse.csr_array(np.array(values, np.float32)[:, None])


def test_a_state_comes_back(jumble, tmp_path):
    progress = TrainingProgress(Checkpoint(tmp_path), jumble.train, PARAMS)
    assert progress.get_state("first") is None
    progress.update("first", lambda: {"value": 3})
    progress.update("second", lambda: {"value": np.arange(2)})
    progress.save()
    again = TrainingProgress(Checkpoint(tmp_path), jumble.train, PARAMS)
    assert again.get_state("first") == {"value": 3}
    np.testing.assert_array_equal(again.get_state("second")["value"], [0, 1])


@pytest.mark.parametrize(
    "changed", ["parameters", "features", "labels", "label features", "filter pairs", "parents", "groups"]
)
def test_a_state_of_another_training_does_not(jumble, tmp_path, changed):
    train, params = jumble.train, dict(PARAMS)
    TrainingProgress(Checkpoint(tmp_path), train, params).update("first", lambda: {"value": 3})
    if changed == "parameters":
        params["C"] = 2.0
    elif changed == "features":
        train = replace(train, X=train.X * np.float32(2))
    elif changed == "labels":
        train = replace(train, Y=sparse.csr_array(train.Y[:, ::-1]))
    elif changed == "filter pairs":
        train = replace(train, filter_pairs=np.array([[1, 0]]))
    elif changed == "parents":
        train = replace(train, labels=replace(train.labels, parents=[["a"]] * train.n_labels))
    elif changed == "groups":
        train = replace(train, groups=["g"] * len(train))
    else:
        Z = sparse.csr_array(np.ones((train.n_labels, 3), np.float32))
        train = replace(train, labels=replace(train.labels, Z=Z))
    assert TrainingProgress(Checkpoint(tmp_path), train, params).get_state("first") is None


def test_without_a_checkpoint_nothing_is_kept(jumble):
    progress = TrainingProgress(None, jumble.train, PARAMS)
    progress.update("first", lambda: pytest.fail("nobody asked for this state"))
    progress.save()
    assert progress.get_state("first") is None


def test_saving_takes_a_twentieth_of_the_time_at_most(jumble, tmp_path, clock, monkeypatch):
    saved = []

    def save(self, state):
        saved.append(clock[0])
        clock[0] += 1.0  # a second for every save

    monkeypatch.setattr(Checkpoint, "save", save)
    progress = TrainingProgress(Checkpoint(tmp_path), jumble.train, PARAMS)
    for _ in range(100):
        progress.update("first", lambda: {"value": 3})
        clock[0] += 1.0
    assert saved[0] == 100.0
    assert (np.diff(saved) > checkpoints.MIN_SAVING_TIMES_BETWEEN_SAVES).all()
    assert len(saved) == 5


def test_blocks_are_joined_in_order_and_go_on(jumble, tmp_path):
    progress = TrainingProgress(Checkpoint(tmp_path), jumble.train, PARAMS)
    blocks = TrainedBlocks(progress, "weights")
    assert len(blocks) == 0
    blocks.add(rows(1, 2), np.array([10.0, 20.0]))
    blocks.add(rows(3), np.array([30.0]))
    progress.save()
    again = TrainedBlocks(TrainingProgress(Checkpoint(tmp_path), jumble.train, PARAMS), "weights")
    assert len(again) == 3
    again.add(rows(4), np.array([40.0]))
    weights, numbers = again.join()
    np.testing.assert_array_equal(weights.toarray().ravel(), [1, 2, 3, 4])
    np.testing.assert_array_equal(numbers, [10, 20, 30, 40])
    assert len(again) == 4
