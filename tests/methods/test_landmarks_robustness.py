"""What goes wrong or grows: awkward data, interruption and resuming, bounded memory, threads."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.support.label_families import every_score, make_families, split_of
from xcwork.core.dataset import Dataset
from xcwork.errors import Cancelled
from xcwork.kernels import one_at_a_time
from xcwork.kernels.dense_products import score_rows
from xcwork.methods.common import one_vs_all_svm
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.landmarks import predictors
from xcwork.methods.landmarks.method import Landmarks
from xcwork.methods.landmarks.ridge import Ridge
from xcwork.progress import Callback


@pytest.fixture
def families() -> Dataset:
    return make_families()


class StopAt(Callback):
    def __init__(self, phase: str, step: int) -> None:
        self.phase, self.step = phase, step

    def on_step(self, phase, step, total):
        return phase == self.phase and step >= self.step


def test_more_landmarks_than_labels(jumble, caplog):
    with caplog.at_level(logging.WARNING):
        model = Landmarks(landmarks=1000).fit(jumble.train)
    assert "of the 1000 landmarks asked for there are only 9" in caplog.text
    assert sorted(model.model_.landmarks.tolist()) == np.flatnonzero(jumble.train.label_frequencies).tolist()
    assert len(model.model_.outliers) == 0


def test_labels_without_documents_are_said_and_never_predicted(jumble, caplog):
    with caplog.at_level(logging.INFO):
        model = Landmarks(landmarks=3).fit(jumble.train)
    assert "2 labels have no training document" in caplog.text
    best = model.predict(jumble.test.X, k=11)
    assert not np.isin(best.ids, [4, 9]).any()
    assert model.explain(jumble.test.X[[0]], 4).parts[0].label_term == "no training document to learn from"


@pytest.mark.parametrize("decoding", ["least_squares", "l1"])
def test_identical_labels_do_not_break_anything(decoding, caplog):
    families = make_families()
    with caplog.at_level(logging.INFO):
        model = Landmarks(landmarks=10, decoding=decoding, outlier_threshold=1.0).fit(families.train)
    assert "4 labels have exactly the same documents" in caplog.text
    assert decoding == "l1" or "landmarks have only" in caplog.text
    assert np.isfinite(every_score(model, families.test.X)).all()


def test_fewer_documents_than_landmarks(caplog):
    rng = np.random.default_rng(0)
    train = split_of(rng.random((5, 8)), rng.random((5, 20)) < 0.4)
    with caplog.at_level(logging.INFO):
        model = Landmarks(landmarks=15, outlier_threshold=1.0).fit(train)
    assert "fewer documents (5) than landmarks (15)" in caplog.text
    assert np.isfinite(every_score(model, train.X)).all()


def test_a_single_label_and_a_single_document():
    model = Landmarks().fit(split_of(np.ones((1, 2)), np.ones((1, 1))))
    assert model.predict(np.ones((1, 2)), k=5).get_row(0)[0][0] == 0


@pytest.mark.parametrize("phase", ["training predictors", "relating labels"])
def test_an_interrupted_training_goes_on(jumble, tmp_path, monkeypatch, phase):
    monkeypatch.setattr(Ridge, "block_size", property(lambda self: 2))
    whole = Landmarks(landmarks=4).fit(jumble.train)
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    with pytest.raises(Cancelled):
        Landmarks(landmarks=4).fit(jumble.train, callbacks=[StopAt(phase, 1)], checkpoint=checkpoint)
    solved = []
    solve = Ridge.solve
    monkeypatch.setattr(Ridge, "solve", lambda self, Y: solved.append(Y.shape[1]) or solve(self, Y))
    resumed = Landmarks(landmarks=4).fit(jumble.train, checkpoint=checkpoint)
    assert sum(solved) == (7 if phase == "training predictors" else 9)
    np.testing.assert_array_equal(every_score(resumed, jumble.test.X), every_score(whole, jumble.test.X))


def test_interrupted_support_vector_machines_go_on(jumble, tmp_path, monkeypatch):
    monkeypatch.setattr(one_vs_all_svm, "MAX_LABELS_PER_BLOCK", 2)
    whole = Landmarks(landmarks=4, predictor="svm").fit(jumble.train)
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    with pytest.raises(Cancelled):
        Landmarks(landmarks=4, predictor="svm").fit(
            jumble.train, callbacks=[StopAt("training classifiers", 2)], checkpoint=checkpoint
        )
    trained = []
    train = one_vs_all_svm.BlockTrainer.train
    monkeypatch.setattr(
        one_vs_all_svm.BlockTrainer, "train", lambda self, labels: trained.append(1) or train(self, labels)
    )
    resumed = Landmarks(landmarks=4, predictor="svm").fit(jumble.train, checkpoint=checkpoint)
    assert len(trained) == 3  # of five blocks
    np.testing.assert_array_equal(every_score(resumed, jumble.test.X), every_score(whole, jumble.test.X))


def test_a_checkpoint_of_other_data_or_settings_is_not_used(jumble, families, tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    Landmarks(landmarks=4).fit(jumble.train, checkpoint=checkpoint)
    for train, settings in ((families.train, {}), (jumble.train, {"gamma": 0.1})):
        expected = Landmarks(landmarks=4, **settings).fit(train)
        found = Landmarks(landmarks=4, **settings).fit(train, checkpoint=checkpoint)
        np.testing.assert_array_equal(every_score(found, train.X), every_score(expected, train.X))


def test_blocks_of_documents_do_not_matter(jumble, monkeypatch):
    model = Landmarks(landmarks=4).fit(jumble.train)
    whole = model.predict(jumble.test, k=5)
    monkeypatch.setattr("xcwork.methods.landmarks.prediction.SCORES_PER_BLOCK", 20)
    parts = model.predict(jumble.test, k=5)
    np.testing.assert_array_equal(parts.ids, whole.ids)


def test_a_stored_model_with_numbers_of_another_size_compiles_nothing(jumble):
    """Otherwise a strange file keeps the first prediction waiting for seconds."""
    model = Landmarks(landmarks=5, outlier_threshold=0.0).fit(jumble.train)
    expected, compiled = model.predict(jumble.test, k=5), list(score_rows.signatures)
    model.model_ = replace(model.model_, outliers=model.model_.outliers.astype(np.int32))
    found = model.predict(jumble.test, k=5)
    assert found.ids.tobytes() == expected.ids.tobytes()
    assert score_rows.signatures == compiled


def test_memory_of_weights_is_bounded(jumble, monkeypatch):
    monkeypatch.setattr(predictors, "MAX_TOTAL_WEIGHTS", 45)
    model = Landmarks(landmarks=4).fit(jumble.train)
    assert model.model_.landmark_weights.nnz + model.model_.outlier_weights.nnz + model.model_.rest_weights.nnz <= 45


def test_weights_that_hardly_matter_are_not_stored(jumble, monkeypatch):
    full = Landmarks(landmarks=4).fit(jumble.train)
    monkeypatch.setattr(
        predictors, "MAX_TOTAL_WEIGHTS", full.model_.landmark_weights.shape[0] * 9 - 1
    )  # one too few for all
    monkeypatch.setattr(predictors, "MIN_WEIGHT", 0.05)
    lean = Landmarks(landmarks=4).fit(jumble.train)
    for name in ("landmark_weights", "outlier_weights", "rest_weights"):
        whole, stored = getattr(full.model_, name), getattr(lean.model_, name)
        assert stored.dtype == np.float32
        assert np.abs(stored.data).min(initial=1.0) >= 0.05
        assert np.abs(whole.toarray() - stored.toarray()).max(initial=0.0) < 0.05
    assert lean.model_.landmark_weights.nnz < full.model_.landmark_weights.nnz
    for label, score in lean.predict(jumble.test.X[[0]], k=3).get_row(0):
        assert lean.explain(jumble.test.X[[0]], label).score == pytest.approx(score, abs=1e-6)


def test_kernels_of_several_threads_never_meet(jumble, monkeypatch):
    guarded = {
        "landmarks.affinity": "solve_columns",
        "landmarks.predictors": "keep_largest_of_columns",
        "common.sparse_torch": "multiply_sparse_by_dense",
        "landmarks.prediction": "score_rows",
    }
    called = set()

    def watch(module, name: str) -> None:
        kernel = getattr(module, name)

        def watched(*arguments):
            assert one_at_a_time.locked(), name
            called.add(name)
            return kernel(*arguments)

        monkeypatch.setattr(module, name, watched)

    for module, name in guarded.items():
        watch(import_module(f"xcwork.methods.{module}"), name)
    watch(import_module("xcwork.methods.landmarks.ridge"), "compute_sparse_gram")
    for solver in ("cholesky", "cg"):
        Landmarks(landmarks=4, ridge_solver=solver, max_weights=3).fit(jumble.train).predict(jumble.test, k=3)
    assert called == {*guarded.values(), "compute_sparse_gram"}
    assert not one_at_a_time.locked()
