"""The whole method: one-vs-rest as a limit, known dependencies, explanations, awkward data, interruption, the graph."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

import xcwork
from xcwork.data.dataset import Dataset, Features, LabelSpace, Split
from xcwork.errors import Cancelled, DataError
from xcwork.kernels import one_at_a_time
from xcwork.methods import one_vs_all
from xcwork.methods.base import Method
from xcwork.methods.landmarks import Landmarks, predictors
from xcwork.methods.landmarks.graph import landmark_graph
from xcwork.methods.landmarks.predictors import with_bias
from xcwork.methods.landmarks.ridge import Ridge
from xcwork.metrics import evaluate
from xcwork.progress import Callback
from xcwork.storage import Checkpoint

SHARED = Path(os.environ.get("XCWORK_SHARED_DATA", "../shared/data"))
N_GROUPS = 4


def split_of(X: np.ndarray, Y: np.ndarray) -> Split:
    features = Features(X.shape[1], [f"word{i}" for i in range(X.shape[1])])
    labels = LabelSpace([f"label{i}" for i in range(Y.shape[1])])
    return Split(sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32)), labels, features)


def make_families(n_documents: int = 240, seed: int = 0) -> Dataset:
    """Four words decide four labels; labels 4 … 7 are the same again, 8 is 0 or 1, 9 is a coin toss seen as a word."""
    rng = np.random.default_rng(seed)
    present = rng.random((n_documents, N_GROUPS)) < 0.4
    present[np.arange(n_documents), rng.integers(N_GROUPS, size=n_documents)] = True
    coin = rng.random(n_documents) < 0.3
    X = np.column_stack([present, coin, rng.random((n_documents, 6)) < 0.3]).astype(float)
    Y = np.column_stack([present, present, present[:, 0] | present[:, 1], coin])
    half = n_documents // 2
    train, test = split_of(X[:half], Y[:half]), split_of(X[half:], Y[half:])
    return Dataset("families", train, replace(test, labels=train.labels, features=train.features))


@pytest.fixture
def families() -> Dataset:
    return make_families()


class StopAt(Callback):
    def __init__(self, phase: str, step: int) -> None:
        self.phase, self.step = phase, step

    def on_step(self, phase, step, total):
        return phase == self.phase and step >= self.step


def every_score(model: Landmarks, X: sparse.csr_array) -> np.ndarray:
    return model._scorer().scores(with_bias(X), np.float64)


def test_threshold_zero_is_one_vs_rest_ridge(jumble):
    model = Landmarks(landmarks=4, outlier_threshold=0.0).fit(jumble.train)
    weights, _ = Ridge(with_bias(jumble.train.X), 1.0, 11).solve(sparse.csc_array(jumble.train.Y))
    expected = with_bias(jumble.test.X).toarray().astype(np.float64) @ weights
    np.testing.assert_allclose(every_score(model, jumble.test.X), expected, atol=1e-10)
    assert len(model.outliers_) + len(model.landmarks_) == np.count_nonzero(jumble.train.label_frequencies)


@pytest.mark.parametrize("decoding", ["least_squares", "l1"])
def test_threshold_one_is_decoding_alone(jumble, decoding):
    model = Landmarks(landmarks=4, outlier_threshold=1.0, decoding=decoding).fit(jumble.train)
    weights, _ = Ridge(with_bias(jumble.train.X), 1.0, 11).solve(sparse.csc_array(jumble.train.Y))
    predicted = with_bias(jumble.test.X).toarray().astype(np.float64) @ weights[:, model.landmarks_]
    np.testing.assert_allclose(every_score(model, jumble.test.X), predicted @ model.decoder_.toarray(), atol=1e-10)
    assert len(model.outliers_) == 0
    if decoding == "least_squares":
        dense = jumble.train.Y.toarray().astype(np.float64)
        Z, *_ = np.linalg.lstsq(dense[:, model.landmarks_], dense, rcond=None)
        np.testing.assert_allclose(model.decoder_.toarray(), Z, atol=1e-8)


def test_dependencies_are_found_and_decoded(families):
    model = Landmarks(landmarks=5).fit(families.train)
    # One of each pair of twins, never both; the coin toss belongs to nobody.
    twins = [label % N_GROUPS for label in model.landmarks_.tolist() if label < 2 * N_GROUPS]
    assert len(twins) == len(set(twins))
    for label in range(2 * N_GROUPS):
        assert label in model.outliers_ or label in model.landmarks_ or model.residuals_[label] < 1e-6
    best = model.predict(families.test, k=3)
    metrics = evaluate(model, families).metrics
    assert metrics["nDCG@1"] > 97
    assert len(best) == len(families.test)


def test_an_independent_label_is_an_outlier(families):
    model = Landmarks(landmarks=4, selection="most_frequent").fit(families.train)
    assert 9 in model.outliers_
    assert model.residuals_[9] > 0.7


def test_explanations_add_up_to_the_scores(jumble):
    model = Landmarks(landmarks=4, outlier_threshold=0.9).fit(jumble.train)
    scores = every_score(model, jumble.test.X)
    assert len(model.outliers_)
    for document in (0, 2, 4):
        best = dict(model.predict(jumble.test.X[[document]], k=11).row(0))
        for label in np.flatnonzero(jumble.train.label_frequencies).tolist():
            reason = model.explain(jumble.test.X[[document]], label)
            assert reason.exact
            assert sum(part.value for part in reason) == pytest.approx(scores[document, label], abs=1e-10)
            assert reason.score == pytest.approx(best[label], abs=1e-5)


def test_explanations_name_landmarks_and_terms(families):
    model = Landmarks(landmarks=4, selection="most_frequent", outlier_threshold=0.8).fit(families.train)
    names = {families.labels.names[label] for label in model.landmarks_}
    decoded = next(label for label in range(8) if label not in model.outliers_ and label not in model.landmarks_)
    X = sparse.csr_array(np.eye(11, dtype=np.float32)[[decoded % N_GROUPS]])
    first = model.explain(X, decoded).parts[0]
    assert first.document_term == f"word{decoded % N_GROUPS}"
    assert first.label_term in names
    assert first.label_term == f"label{next(s for s in model.landmarks_ if s % N_GROUPS == decoded % N_GROUPS)}"
    assert {part.label_term for part in model.explain(X, 9)} == {"its own regressor"}
    assert {part.document_term for part in model.explain(X, 9)} <= {*families.features.names, "(any document)"}


def test_embeddings_are_the_columns_of_Z(families):
    model = Landmarks(landmarks=4, selection="most_frequent").fit(families.train)
    vectors = model.label_embeddings()
    assert vectors.shape == (10, 4)
    np.testing.assert_array_equal(vectors[model.landmarks_].toarray(), np.eye(4))
    twins = [(label, (label + N_GROUPS) % (2 * N_GROUPS)) for label in model.landmarks_.tolist() if label < 8]
    decoded = [(label, other) for label, other in twins if other not in model.landmarks_]
    assert decoded
    for label, other in decoded:
        np.testing.assert_allclose(vectors[[label]].toarray(), vectors[[other]].toarray(), atol=1e-8)


def test_diagnostics_tell_landmarks_from_one_vs_rest(jumble):
    model = Landmarks(landmarks=3, outlier_threshold=0.9).fit(jumble.train)
    found = model.diagnostics(jumble.test)
    seen = np.count_nonzero(jumble.train.label_frequencies)
    assert found["landmarks"] + found["outliers"] + found["decoded_labels"] == seen
    assert found["outliers"] == len(model.outliers_) > 0
    rest = evaluate(Landmarks(landmarks=3, outlier_threshold=0.0).fit(jumble.train), jumble).metrics
    alone = evaluate(Landmarks(landmarks=3, outlier_threshold=1.0).fit(jumble.train), jumble).metrics
    for metric in ("P@1", "P@3", "P@5", "nDCG@1", "nDCG@3", "nDCG@5"):
        assert found[f"one_vs_rest_{metric}"] == pytest.approx(rest[metric], abs=1e-9)
        assert found[f"landmarks_only_{metric}"] == pytest.approx(alone[metric], abs=1e-9)


def test_without_the_one_vs_rest_row_only_what_predicts_is_trained(families):
    settings = {"landmarks": 3, "selection": "most_frequent", "outlier_threshold": 0.9}
    lean, full = (Landmarks(**settings, one_vs_rest=on).fit(families.train) for on in (False, True))
    np.testing.assert_allclose(every_score(lean, families.test.X), every_score(full, families.test.X), atol=1e-10)
    assert lean.rest_weights_.shape[1] == 0 < full.rest_weights_.shape[1]
    assert not any(name.startswith("one_vs_rest") for name in lean.diagnostics(families.test))


def test_torch_scores_are_the_same(jumble):
    model = Landmarks(landmarks=4, outlier_threshold=0.9).fit(jumble.train)
    X = with_bias(jumble.test.X)
    by_torch = model._scorer().torch_scores(X, torch.device("cpu"))
    np.testing.assert_allclose(by_torch, model._scorer().scores(X), atol=1e-5)


def test_candidates_can_be_restricted(jumble):
    model = Landmarks(landmarks=4).fit(jumble.train)
    some = np.array([1, 2, 4, 8])  # label 4 has no training document
    best = model.predict(jumble.test.X, k=4, among=some)
    scores = every_score(model, jumble.test.X)
    for document in range(len(jumble.test)):
        expected = sorted([1, 2, 8], key=lambda label: (-np.float32(scores[document, label]), label))
        assert [label for label, _ in best.row(document)] == expected


def test_support_vector_machines_as_predictors(families):
    model = Landmarks(landmarks=4, predictor="svm", C=10.0).fit(families.train)
    assert evaluate(model, families).metrics["nDCG@1"] > 97
    # Words decide these labels, so margins are near ±1 and predictions near 0 and 1.
    scores = every_score(model, families.test.X)[:, model.landmarks_]
    assert np.abs(scores - families.test.Y.toarray()[:, model.landmarks_]).mean() < 0.25
    assert model.r2_[model.landmarks_].min() > 0.5
    reason = model.explain(families.test.X[[0]], 9)
    assert reason.score == pytest.approx(every_score(model, families.test.X[[0]])[0, 9], abs=1e-9)


def test_admm_chooses_the_same_landmarks(families):
    by_admm, by_columns = (
        Landmarks(landmarks=4, solver=solver).fit(families.train) for solver in ("admm", "square_root_lasso")
    )
    assert sorted(label % N_GROUPS for label in by_admm.landmarks_) == sorted(
        label % N_GROUPS for label in by_columns.landmarks_
    )
    assert by_admm.convergence_["primal"][-1] < 1e-6
    assert not hasattr(by_columns, "convergence_")


def test_pruned_weights_still_explain_exactly(jumble):
    model = Landmarks(landmarks=4, weights=3).fit(jumble.train)
    assert np.diff(sparse.csc_array(model.landmark_weights_).indptr).max() == 3
    best = model.predict(jumble.test.X[[0]], k=3).row(0)
    for label, score in best:
        assert model.explain(jumble.test.X[[0]], label).score == pytest.approx(score, abs=1e-6)


def test_saving_keeps_everything(jumble, tmp_path):
    model = Landmarks(landmarks=4, solver="admm").fit(jumble.train)
    model.save(tmp_path / "model")
    again = Method.load(tmp_path / "model")
    np.testing.assert_array_equal(every_score(again, jumble.test.X), every_score(model, jumble.test.X))
    assert again.convergence_ == model.convergence_
    assert again.diagnostics(jumble.test) == model.diagnostics(jumble.test)


def test_more_landmarks_than_labels(jumble, caplog):
    with caplog.at_level(logging.WARNING):
        model = Landmarks(landmarks=1000).fit(jumble.train)
    assert "of the 1000 landmarks asked for there are only 9" in caplog.text
    assert sorted(model.landmarks_.tolist()) == np.flatnonzero(jumble.train.label_frequencies).tolist()
    assert len(model.outliers_) == 0


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
    assert "4 labels are carried by exactly the same documents" in caplog.text
    assert decoding == "l1" or "landmarks have only" in caplog.text
    assert np.isfinite(every_score(model, families.test.X)).all()


def test_fewer_documents_than_landmarks(caplog):
    rng = np.random.default_rng(0)
    train = split_of(rng.random((5, 8)), rng.random((5, 20)) < 0.4)
    with caplog.at_level(logging.INFO):
        model = Landmarks(landmarks=15, outlier_threshold=1.0).fit(train)
    assert "fewer documents (5) than landmarks (15)" in caplog.text
    assert np.isfinite(every_score(model, train.X)).all()


def test_no_labels_at_all_is_an_error():
    with pytest.raises(DataError, match="nothing to learn"):
        Landmarks().fit(split_of(np.eye(3), np.zeros((3, 2))))


def test_a_single_label_and_a_single_document():
    model = Landmarks().fit(split_of(np.ones((1, 2)), np.ones((1, 1))))
    assert model.predict(np.ones((1, 2)), k=5).row(0)[0][0] == 0


@pytest.mark.parametrize("phase", ["training predictors", "relating labels"])
def test_an_interrupted_training_goes_on(jumble, tmp_path, monkeypatch, phase):
    monkeypatch.setattr(Ridge, "block", property(lambda self: 2))
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
    monkeypatch.setattr(one_vs_all, "MOST_LABELS", 2)
    whole = Landmarks(landmarks=4, predictor="svm").fit(jumble.train)
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    with pytest.raises(Cancelled):
        Landmarks(landmarks=4, predictor="svm").fit(
            jumble.train, callbacks=[StopAt("training classifiers", 2)], checkpoint=checkpoint
        )
    trained = []
    train = one_vs_all._Trainer.train
    monkeypatch.setattr(one_vs_all._Trainer, "train", lambda self, labels: trained.append(1) or train(self, labels))
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
    monkeypatch.setattr("xcwork.methods.landmarks.scoring.BLOCK_SCORES", 20)
    parts = model.predict(jumble.test, k=5)
    np.testing.assert_array_equal(parts.ids, whole.ids)


def test_memory_of_weights_is_bounded(jumble, monkeypatch):
    monkeypatch.setattr(predictors, "MOST_WEIGHTS", 45)
    model = Landmarks(landmarks=4).fit(jumble.train)
    assert model.landmark_weights_.nnz + model.outlier_weights_.nnz + model.rest_weights_.nnz <= 45


def test_weights_that_hardly_matter_are_not_stored(jumble, monkeypatch):
    full = Landmarks(landmarks=4).fit(jumble.train)
    monkeypatch.setattr(predictors, "MOST_WEIGHTS", full.landmark_weights_.shape[0] * 9 - 1)  # one too few for all
    monkeypatch.setattr(predictors, "SMALL_WEIGHT", 0.05)
    lean = Landmarks(landmarks=4).fit(jumble.train)
    for name in ("landmark_weights_", "outlier_weights_", "rest_weights_"):
        whole, stored = getattr(full, name), getattr(lean, name)
        assert stored.dtype == np.float32
        assert np.abs(stored.data).min(initial=1.0) >= 0.05
        assert np.abs(whole.toarray() - stored.toarray()).max(initial=0.0) < 0.05
    assert lean.landmark_weights_.nnz < full.landmark_weights_.nnz
    for label, score in lean.predict(jumble.test.X[[0]], k=3).row(0):
        assert lean.explain(jumble.test.X[[0]], label).score == pytest.approx(score, abs=1e-6)


def test_kernels_of_several_threads_never_meet(jumble, monkeypatch):
    guarded = {
        "affinity": "solve_columns", "predictors": "largest_of_columns", "ridge": "sparse_times_dense",
        "scoring": "score_rows",
    }  # fmt: skip
    called = set()

    def watch(module, name: str) -> None:
        kernel = getattr(module, name)

        def watched(*arguments):
            assert one_at_a_time.locked(), name
            called.add(name)
            return kernel(*arguments)

        monkeypatch.setattr(module, name, watched)

    for module, name in guarded.items():
        watch(import_module(f"xcwork.methods.landmarks.{module}"), name)
    watch(import_module("xcwork.methods.landmarks.ridge"), "sparse_gram")
    for solver in ("cholesky", "cg"):
        Landmarks(landmarks=4, ridge_solver=solver, weights=3).fit(jumble.train).predict(jumble.test, k=3)
    assert called == {*guarded.values(), "sparse_gram"}
    assert not one_at_a_time.locked()


def test_the_number_of_outliers_is_always_said(jumble, caplog):
    for threshold in (0.0, 0.9, 1.0):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            model = Landmarks(landmarks=3, outlier_threshold=threshold).fit(jumble.train)
        assert f"3 landmarks, {len(model.outliers_)} outlier labels with their own regressor" in caplog.text


def test_the_graph_shows_landmarks_and_what_hangs_on_them(families):
    model = Landmarks(landmarks=4, selection="most_frequent").fit(families.train)
    graph = landmark_graph(model, labels_each=2)
    nodes = graph.nodes.set_index("label_id")
    assert set(nodes.index[nodes["kind"] == "landmark"]) == set(model.landmarks_.tolist())
    assert nodes.loc[model.landmarks_, "order"].tolist() == [1, 2, 3, 4]
    assert graph.edges.groupby("source").size().max() <= 2
    assert (graph.edges["source"] != graph.edges["target"]).all()
    for edge in graph.edges.itertuples():
        place = model.landmarks_.tolist().index(edge.source)
        assert edge.weight == pytest.approx(model.combinations[place, edge.target])
    assert np.isfinite(nodes[["x", "y"]].to_numpy()).all()
    assert graph.caption.endswith("4 landmarks")
    assert graph.n_labels == 10


def test_the_graph_around_a_label(families):
    model = Landmarks(landmarks=4, selection="most_frequent", decoding="l1").fit(families.train)
    graph = landmark_graph(model, around="label9", labels_each=1)
    sources = model.landmarks_[model.combinations[:, [9]].toarray().ravel() != 0]
    assert set(graph.edges.loc[graph.edges["target"] == 9, "source"]) == set(sources.tolist())
    assert 9 in set(graph.nodes["label_id"])
    assert graph.nodes.set_index("label_id").loc[9, "kind"] == "outlier"


@pytest.mark.skipif(not (SHARED / "bibtex").is_dir(), reason="the Bibtex files are not at hand (XCWORK_SHARED_DATA)")
def test_bibtex_reaches_the_published_ablation(home):
    data = xcwork.load_dataset(SHARED / "bibtex", home=home)
    model = Landmarks(decoding="l1").fit(data.train)
    found = evaluate(model, data)
    for k, combined, with_outliers in ((1, 64.41, 65.21), (3, 57.97, 60.75), (5, 59.51, 62.89)):
        assert found.diagnostics[f"landmarks_only_nDCG@{k}"] == pytest.approx(combined, abs=1.0)
        assert found.metrics[f"nDCG@{k}"] == pytest.approx(with_outliers, abs=1.0)
        assert found.diagnostics[f"one_vs_rest_nDCG@{k}"] == pytest.approx(with_outliers, abs=0.1)
    assert found.diagnostics["outliers"] == 56
