"""Trainings on a device that has too little memory: halves of blocks give the same, and what never fits is said."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

import xcwork
from tests.support.emulated_accelerator import emulate
from xcwork.core.dataset import Dataset
from xcwork.data.groups import collect_groups
from xcwork.errors import ConfigError
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.grlr import assign_labels
from xcwork.methods.label_tree.training import TreeTrainer, make_clustering
from xcwork.methods.landmarks.admm import relate_labels_by_admm
from xcwork.methods.landmarks.predictors import RidgeSettings, train_ridge
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.near_negatives import StoredNegatives
from xcwork.methods.zestxml.xhtp import find_pairs

pytestmark = pytest.mark.slow
Numbers = Sequence[np.ndarray]


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return xcwork.load_dataset(
        "synthetic:n_documents=100,n_labels=80,n_topics=5,label_terms=2,topic_terms=3,common_terms=10"
    )


def relate(corpus: Dataset) -> Numbers:
    return [relate_labels_by_admm(corpus.train.Y, 1.0, device="emu")[0].Z.toarray()]


def regress(corpus: Dataset) -> Numbers:
    settings = RidgeSettings(1.0, "cg", 1e-8, "emu", 0)
    labels = np.flatnonzero(corpus.train.label_frequencies)
    progress = TrainingProgress(None, corpus.train, settings)
    found = train_ridge(corpus.train, labels, settings, corpus.train.X.shape[1] + 1, progress)
    return [found.weights.toarray(), found.errors]


def assign(corpus: Dataset) -> Numbers:
    return [assign_labels(corpus.train.X, collect_groups(corpus.train), device="emu").Y.toarray()]


def count_pairs(corpus: Dataset) -> Numbers:
    found = find_pairs(corpus.train.X, corpus.train.Y, corpus.train.labels.Z, keep=5, blend=0.02, device="emu")
    return [found.voters.toarray()]


def grow(corpus: Dataset) -> Numbers:
    params = Params(xcwork.create("label_tree", device="emu", leaf_size=5, C=1.0, power=3).get_params())
    clustering = make_clustering(TreeTrainer.from_split(corpus.train, params), params)
    return [clustering.grow_tree(np.flatnonzero(corpus.train.label_frequencies).astype(np.int32), (0, 0), "").targets]


@pytest.mark.parametrize("compute", [relate, regress, assign, count_pairs, grow])
def test_blocks_that_do_not_fit_are_halved_and_said(
    compute: Callable[[Dataset], Numbers], corpus: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    with emulate() as traffic:
        expected = compute(corpus)
    with emulate(memory=int(0.85 * traffic.peak_bytes)), caplog.at_level(logging.WARNING):
        found = compute(corpus)
    assert "EMU ran out of memory: blocks are halved" in caplog.text
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["eagle", "label_tree", "landmarks", "one_vs_all", "zestxml"])
def test_a_training_that_never_fits_is_refused_with_what_to_do(name: str, corpus: Dataset) -> None:
    with emulate(memory=10_000), pytest.raises(ConfigError, match=r"memory of EMU is too small.*use device=cpu"):
        xcwork.create(name, device="emu").fit(corpus.train)


def test_negatives_for_which_there_is_no_room_are_chosen_on_the_cpu(
    corpus: Dataset, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train() -> xcwork.TopK:
        params = {"epochs": 1, "classifier_epochs": 3, "dimension": 8, "terms": False, "validation": 0.0}
        with emulate():
            return xcwork.create("siamesexml", device="emu", **params).fit(corpus.train).predict(corpus.test, k=5)

    def refuse(*_: object) -> StoredNegatives:
        raise torch.OutOfMemoryError("full")

    expected = train()
    monkeypatch.setattr(StoredNegatives, "from_documents", refuse)
    with caplog.at_level(logging.INFO, "xcwork.methods.siamesexml"):
        found = train()
    assert "the device has no room for all negatives; they are chosen on the CPU" in caplog.text
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
