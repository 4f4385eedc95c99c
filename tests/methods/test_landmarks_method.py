"""The whole method: one-vs-rest as a limit, known dependencies, explanations, embeddings, the graph."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from scipy import sparse

import xcwork
from tests.support.label_families import N_GROUPS, every_score, make_families
from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.core.dataset import Dataset
from xcwork.methods.base import Method
from xcwork.methods.landmarks import training
from xcwork.methods.landmarks.graph import build_landmark_graph
from xcwork.methods.landmarks.method import Landmarks
from xcwork.methods.landmarks.predictors import append_bias
from xcwork.methods.landmarks.ridge import Ridge
from xcwork.metrics import evaluate

pytestmark = pytest.mark.slow


@pytest.fixture
def families() -> Dataset:
    return make_families()


def test_threshold_zero_is_one_vs_rest_ridge(jumble):
    model = Landmarks(landmarks=4, outlier_threshold=0.0).fit(jumble.train)
    weights, _ = Ridge(append_bias(jumble.train.X), 1.0, 11).solve(sparse.csc_array(jumble.train.Y))
    expected = append_bias(jumble.test.X).toarray().astype(np.float64) @ weights
    np.testing.assert_allclose(every_score(model, jumble.test.X), expected, atol=1e-10)
    assert len(model.model_.outliers) + len(model.model_.landmarks) == np.count_nonzero(jumble.train.label_frequencies)


@pytest.mark.parametrize("decoding", ["least_squares", "l1"])
def test_threshold_one_is_decoding_alone(jumble, decoding):
    model = Landmarks(landmarks=4, outlier_threshold=1.0, decoding=decoding).fit(jumble.train)
    weights, _ = Ridge(append_bias(jumble.train.X), 1.0, 11).solve(sparse.csc_array(jumble.train.Y))
    predicted = append_bias(jumble.test.X).toarray().astype(np.float64) @ weights[:, model.model_.landmarks]
    np.testing.assert_allclose(
        every_score(model, jumble.test.X), predicted @ model.model_.decoder.toarray(), atol=1e-10
    )
    assert len(model.model_.outliers) == 0
    if decoding == "least_squares":
        dense = jumble.train.Y.toarray().astype(np.float64)
        Z, *_ = np.linalg.lstsq(dense[:, model.model_.landmarks], dense, rcond=None)
        np.testing.assert_allclose(model.model_.decoder.toarray(), Z, atol=1e-8)


def test_dependencies_are_found_and_decoded(families):
    model = Landmarks(landmarks=5).fit(families.train)
    # One of each pair of twins, never both; the coin toss belongs to nobody.
    twins = [label % N_GROUPS for label in model.model_.landmarks.tolist() if label < 2 * N_GROUPS]
    assert len(twins) == len(set(twins))
    for label in range(2 * N_GROUPS):
        assert label in model.model_.outliers or label in model.model_.landmarks or model.model_.residuals[label] < 1e-6
    best = model.predict(families.test, k=3)
    metrics = evaluate(model, families).metrics
    assert metrics["nDCG@1"] > 97
    assert len(best) == len(families.test)


def test_an_independent_label_is_an_outlier(families):
    model = Landmarks(landmarks=4, selection="most_frequent").fit(families.train)
    assert 9 in model.model_.outliers
    assert model.model_.residuals[9] > 0.7


def test_explanations_add_up_to_the_scores(jumble):
    model = Landmarks(landmarks=4, outlier_threshold=0.9).fit(jumble.train)
    scores = every_score(model, jumble.test.X)
    assert len(model.model_.outliers)
    for document in (0, 2, 4):
        best = dict(model.predict(jumble.test.X[[document]], k=11).get_row(0))
        for label in np.flatnonzero(jumble.train.label_frequencies).tolist():
            reason = model.explain(jumble.test.X[[document]], label)
            assert reason.exact
            assert sum(part.value for part in reason) == pytest.approx(scores[document, label], abs=1e-10)
            assert reason.score == pytest.approx(best[label], abs=1e-5)


def test_explanations_name_landmarks_and_terms(families):
    model = Landmarks(landmarks=4, selection="most_frequent", outlier_threshold=0.8).fit(families.train)
    names = {families.labels.names[label] for label in model.model_.landmarks}
    decoded = next(
        label for label in range(8) if label not in model.model_.outliers and label not in model.model_.landmarks
    )
    X = sparse.csr_array(np.eye(11, dtype=np.float32)[[decoded % N_GROUPS]])
    first = model.explain(X, decoded).parts[0]
    assert first.document_term == f"word{decoded % N_GROUPS}"
    assert first.label_term in names
    assert first.label_term == f"label{next(s for s in model.model_.landmarks if s % N_GROUPS == decoded % N_GROUPS)}"
    assert {part.label_term for part in model.explain(X, 9)} == {"its own regressor"}
    assert {part.document_term for part in model.explain(X, 9)} <= {*families.features.names, "(any document)"}


def test_embeddings_are_the_columns_of_Z(families):
    model = Landmarks(landmarks=4, selection="most_frequent").fit(families.train)
    vectors = model.label_embeddings()
    assert vectors.shape == (10, 4)
    np.testing.assert_array_equal(vectors[model.model_.landmarks].toarray(), np.eye(4))
    twins = [(label, (label + N_GROUPS) % (2 * N_GROUPS)) for label in model.model_.landmarks.tolist() if label < 8]
    decoded = [(label, other) for label, other in twins if other not in model.model_.landmarks]
    assert decoded
    for label, other in decoded:
        np.testing.assert_allclose(vectors[[label]].toarray(), vectors[[other]].toarray(), atol=1e-8)


def test_diagnostics_tell_landmarks_from_one_vs_rest(jumble):
    model = Landmarks(landmarks=3, outlier_threshold=0.9).fit(jumble.train)
    found = model.diagnose(jumble.test)
    seen = np.count_nonzero(jumble.train.label_frequencies)
    assert found["landmarks"] + found["outliers"] + found["decoded_labels"] == seen
    assert found["outliers"] == len(model.model_.outliers) > 0
    rest = evaluate(Landmarks(landmarks=3, outlier_threshold=0.0).fit(jumble.train), jumble).metrics
    alone = evaluate(Landmarks(landmarks=3, outlier_threshold=1.0).fit(jumble.train), jumble).metrics
    for metric in ("P@1", "P@3", "P@5", "nDCG@1", "nDCG@3", "nDCG@5"):
        assert found[f"one_vs_rest_{metric}"] == pytest.approx(rest[metric], abs=1e-9)
        assert found[f"landmarks_only_{metric}"] == pytest.approx(alone[metric], abs=1e-9)


def test_without_the_one_vs_rest_row_only_what_predicts_is_trained(families):
    settings = {"landmarks": 3, "selection": "most_frequent", "outlier_threshold": 0.9}
    lean, full = (Landmarks(**settings, one_vs_rest=on).fit(families.train) for on in (False, True))
    np.testing.assert_allclose(every_score(lean, families.test.X), every_score(full, families.test.X), atol=1e-10)
    assert lean.model_.rest_weights.shape[1] == 0 < full.model_.rest_weights.shape[1]
    assert not any(name.startswith("one_vs_rest") for name in lean.diagnose(families.test))


def test_predictability_from_a_sample_trains_landmarks_and_outliers_alone(families, monkeypatch):
    settings = {"landmarks": 3, "outlier_threshold": 0.9, "one_vs_rest": False}
    trained: list[int] = []
    plain = training.train_regressors
    monkeypatch.setattr(training, "train_regressors", lambda *args: trained.append(len(args[1])) or plain(*args))
    lean, full = (Landmarks(**settings, predictability=where).fit(families.train).model_ for where in ("sample", "all"))
    # Fewer documents than a sample may have: both ways see the same, choose the same and predict the same.
    np.testing.assert_array_equal(lean.landmarks, full.landmarks)
    np.testing.assert_allclose(lean.landmark_weights.toarray(), full.landmark_weights.toarray(), atol=1e-8)
    assert trained == [len(lean.landmarks) + len(lean.outliers), np.count_nonzero(families.train.label_frequencies)]
    monkeypatch.setattr(training, "MAX_SAMPLED_DOCUMENTS", 40)
    sampled = Landmarks(**settings, predictability="sample").fit(families.train).model_
    assert len(sampled.landmarks) == 3


def test_the_weight_of_predictability_can_be_chosen_on_held_out_documents(families, monkeypatch):
    monkeypatch.setattr("xcwork.methods.landmarks.method.SCORE_WEIGHTS", (0.0, 1e6))
    found = {
        weight: Landmarks(landmarks=4, score_weight=weight).fit(families.train).model_ for weight in (0.0, 1e6, None)
    }
    assert found[0.0].landmarks.tolist() != found[1e6].landmarks.tolist()
    assert found[None].landmarks.tolist() in (found[0.0].landmarks.tolist(), found[1e6].landmarks.tolist())
    Landmarks(landmarks=4, score_weight=None, selection="most_frequent").fit(families.train)  # nothing to weigh


def test_the_supplements_schedule_can_be_asked_for(families):
    settings = {"landmarks": 3, "solver": "admm", "seed": 1}
    model = Landmarks(**settings, admm_ceiling=None).fit(families.train).model_
    sigma = np.array(model.convergence["sigma"])
    np.testing.assert_allclose(sigma[1:] / sigma[:-1], 1.1)
    assert max(Landmarks(**settings).fit(families.train).model_.convergence["sigma"]) == 3.0


def test_torch_scores_are_the_same(jumble):
    model = Landmarks(landmarks=4, outlier_threshold=0.9).fit(jumble.train)
    X = append_bias(jumble.test.X)
    by_torch = model.model_.scorer.score_with_torch(X, torch.device("cpu")).numpy()
    np.testing.assert_allclose(by_torch, model.model_.scorer.score(X), atol=1e-5)


def test_candidates_can_be_restricted(jumble):
    model = Landmarks(landmarks=4).fit(jumble.train)
    some = np.array([1, 2, 4, 8])  # label 4 has no training document
    best = model.predict(jumble.test.X, k=4, among=some)
    scores = every_score(model, jumble.test.X)
    for document in range(len(jumble.test)):
        expected = sorted([1, 2, 8], key=lambda label: (-np.float32(scores[document, label]), label))
        assert [label for label, _ in best.get_row(document)] == expected


def test_support_vector_machines_as_predictors(families):
    model = Landmarks(landmarks=4, predictor="svm", C=10.0).fit(families.train)
    assert evaluate(model, families).metrics["nDCG@1"] > 97
    # Words decide these labels, so margins are near ±1 and predictions near 0 and 1.
    scores = every_score(model, families.test.X)[:, model.model_.landmarks]
    assert np.abs(scores - families.test.Y.toarray()[:, model.model_.landmarks]).mean() < 0.25
    assert model.model_.r2[model.model_.landmarks].min() > 0.5
    reason = model.explain(families.test.X[[0]], 9)
    assert reason.score == pytest.approx(every_score(model, families.test.X[[0]])[0, 9], abs=1e-9)


def test_admm_chooses_the_same_landmarks(families):
    by_admm, by_columns = (
        Landmarks(landmarks=4, solver=solver).fit(families.train) for solver in ("admm", "square_root_lasso")
    )
    assert sorted(label % N_GROUPS for label in by_admm.model_.landmarks) == sorted(
        label % N_GROUPS for label in by_columns.model_.landmarks
    )
    assert by_admm.model_.convergence["primal"][-1] < 1e-6
    assert by_columns.model_.convergence is None


def test_pruned_weights_still_explain_exactly(jumble):
    model = Landmarks(landmarks=4, max_weights=3).fit(jumble.train)
    assert np.diff(sparse.csc_array(model.model_.landmark_weights).indptr).max() == 3
    best = model.predict(jumble.test.X[[0]], k=3).get_row(0)
    for label, score in best:
        assert model.explain(jumble.test.X[[0]], label).score == pytest.approx(score, abs=1e-6)


def test_saving_keeps_everything(jumble, tmp_path):
    model = Landmarks(landmarks=4, solver="admm").fit(jumble.train)
    model.save(tmp_path / "model")
    again = Method.load(tmp_path / "model")
    np.testing.assert_array_equal(every_score(again, jumble.test.X), every_score(model, jumble.test.X))
    assert again.model_.convergence == model.model_.convergence
    assert again.diagnose(jumble.test) == model.diagnose(jumble.test)


def test_the_number_of_outliers_is_always_said(jumble, caplog):
    for threshold in (0.0, 0.9, 1.0):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            model = Landmarks(landmarks=3, outlier_threshold=threshold).fit(jumble.train)
        assert f"3 landmarks, {len(model.model_.outliers)} outlier labels with their own regressor" in caplog.text


def test_the_graph_shows_landmarks_and_what_hangs_on_them(families):
    model = Landmarks(landmarks=4, selection="most_frequent").fit(families.train)
    graph = build_landmark_graph(model.model_, labels_each=2)
    nodes = graph.nodes.set_index("label_id")
    assert set(nodes.index[nodes["kind"] == "landmark"]) == set(model.model_.landmarks.tolist())
    assert nodes.loc[model.model_.landmarks, "order"].tolist() == [1, 2, 3, 4]
    assert graph.edges.groupby("source").size().max() <= 2
    assert (graph.edges["source"] != graph.edges["target"]).all()
    for edge in graph.edges.itertuples():
        place = model.model_.landmarks.tolist().index(edge.source)
        assert edge.weight == pytest.approx(model.model_.combinations[place, edge.target])
    assert np.isfinite(nodes[["x", "y"]].to_numpy()).all()
    assert graph.caption.endswith("4 landmarks")
    assert graph.n_labels == 10


def test_the_graph_around_a_label(families):
    model = Landmarks(landmarks=4, selection="most_frequent", decoding="l1").fit(families.train)
    graph = build_landmark_graph(model.model_, around="label9", labels_each=1)
    sources = model.model_.landmarks[model.model_.combinations[:, [9]].toarray().ravel() != 0]
    assert set(graph.edges.loc[graph.edges["target"] == 9, "source"]) == set(sources.tolist())
    assert 9 in set(graph.nodes["label_id"])
    assert graph.nodes.set_index("label_id").loc[9, "kind"] == "outlier"


@needs_shared_data("bibtex")
def test_bibtex_reaches_the_published_ablation(home):
    data = xcwork.load_dataset(SHARED_DATA / "bibtex", home=home)
    model = Landmarks(decoding="l1").fit(data.train)
    found = evaluate(model, data)
    for k, combined, with_outliers in ((1, 64.41, 65.21), (3, 57.97, 60.75), (5, 59.51, 62.89)):
        assert found.diagnostics[f"landmarks_only_nDCG@{k}"] == pytest.approx(combined, abs=1.0)
        assert found.metrics[f"nDCG@{k}"] == pytest.approx(with_outliers, abs=1.0)
        assert found.diagnostics[f"one_vs_rest_nDCG@{k}"] == pytest.approx(with_outliers, abs=0.1)
    assert found.diagnostics["outliers"] == 56
