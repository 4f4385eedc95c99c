"""Votes of neighbours against a brute-force twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.methods.nearest_documents.method import NearestDocuments


def brute_force(train, x: np.ndarray, neighbours: int) -> np.ndarray:
    """The scores of all labels for one document, by the formula."""
    X = train.X.toarray().astype(np.float64)
    lengths = np.linalg.norm(X, axis=1)
    cosines = np.divide(X @ x, lengths, out=np.zeros(len(X)), where=lengths > 0)
    order = sorted(range(len(X)), key=lambda i: (-cosines[i], i))[:neighbours]
    near = [i for i in order if cosines[i] > 1e-9]
    total = sum(cosines[i] for i in near)
    return sum((cosines[i] * train.Y.toarray()[i] for i in near), np.zeros(train.n_labels)) / (total or 1)


@pytest.mark.parametrize("neighbours", [1, 3, 40])
@pytest.mark.parametrize("batch", [4, 512])
def test_scores_follow_the_formula(jumble, neighbours, batch):
    best = NearestDocuments(neighbours=neighbours, batch_size=batch).fit(jumble.train).predict(jumble.test.X, k=11)
    for document, x in enumerate(jumble.test.X.toarray().astype(np.float64)):
        expected = brute_force(jumble.train, x, neighbours)
        found = dict(best.get_row(document))
        assert set(np.flatnonzero(expected)) == set(found)
        for label, score in found.items():
            assert score == pytest.approx(expected[label], rel=1e-4)


def test_scores_do_not_depend_on_the_length_of_a_row(jumble):
    model = NearestDocuments(neighbours=5)
    usual = model.fit(jumble.train).predict(jumble.test.X, k=5)
    scaled = replace(jumble.train, X=sparse.csr_array(sparse.diags_array(np.arange(1.0, 41)) @ jumble.train.X))
    longer = model.fit(scaled).predict(jumble.test.X * 3, k=5)
    np.testing.assert_allclose(longer.scores, usual.scores, rtol=1e-4)


def test_the_reasons_are_the_neighbours_that_carry_the_label(jumble):
    train = replace(jumble.train, uids=[f"doc-{i}" for i in range(40)])
    model = NearestDocuments(neighbours=4).fit(train)
    explanation = model.explain(jumble.test.X[[0]], model.predict(jumble.test.X[[0]], k=1).ids[0, 0])
    assert explanation.exact
    having = set(np.flatnonzero(train.Y.toarray()[:, jumble.labels.find_id(explanation.label)]).tolist())
    for part in explanation:
        assert part.details["document"] in having
        assert part.document_term == f"training document doc-{part.details['document']}"


def test_a_document_without_known_terms_gets_no_labels(jumble):
    best = NearestDocuments().fit(jumble.train).predict(sparse.csr_array((1, 25), dtype=np.float32), k=5)
    assert best.get_row(0) == []


def test_training_documents_that_point_away_do_not_vote(jumble):
    X = sparse.csr_array(np.array([[1, 0], [-1, 0], [0, 1]], np.float32))
    Y = sparse.csr_array(np.eye(3, 11, dtype=np.float32))
    train = replace(jumble.train, X=X, Y=Y, features=replace(jumble.train.features, size=2, names=["a", "b"]))
    best = NearestDocuments().fit(train).predict(np.array([[1, 0]], np.float32), k=5)
    assert best.get_row(0) == [(0, 1.0)]


def test_label_embeddings_are_the_mean_direction_of_their_documents(jumble):
    rows = NearestDocuments().fit(jumble.train).label_embeddings().toarray()
    X, Y = jumble.train.X.toarray(), jumble.train.Y.toarray()
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    mean = Y.T @ unit
    np.testing.assert_allclose(rows, mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9), atol=1e-5)
