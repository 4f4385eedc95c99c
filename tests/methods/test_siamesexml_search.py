"""SiameseXML's searches, classifiers, scores and their weights against brute force."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.methods.siamesexml import near_negatives
from xcwork.methods.siamesexml.classifier_training import ClassifierTraining, LabelClassifiers
from xcwork.methods.siamesexml.encoder import Encoder
from xcwork.methods.siamesexml.loss import CLASSIFIER_LIKELIHOOD, LogisticLikelihood, compute_classifier_loss
from xcwork.methods.siamesexml.near_negatives import StoredNegatives, unpack_negatives
from xcwork.methods.siamesexml.neighbourhood import (
    GRAPHS,
    Neighbourhood,
    correlate_labels,
    embed_labels,
    unite_ids,
)
from xcwork.methods.siamesexml.scores import Member, drop_pairs, look_up, score_candidates
from xcwork.methods.siamesexml.word_classifiers import WordClassifiers
from xcwork.sparse import normalise_rows

CPU = torch.device("cpu")
N_DOCUMENTS, N_LABELS, N_TOKENS, DIMENSION = 60, 40, 50, 12


def texts(n: int, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    return normalise_rows(sparse.random_array((n, N_TOKENS), density=0.2, format="csr", dtype=np.float32, rng=rng))


@pytest.fixture
def encoder() -> Encoder:
    return Encoder(torch.from_numpy(np.random.default_rng(0).standard_normal((N_TOKENS, DIMENSION), np.float32)))


@pytest.fixture
def Y() -> sparse.csr_array:
    rng = np.random.default_rng(1)
    Y = (rng.random((N_DOCUMENTS, N_LABELS)) < 0.1).astype(np.float32)
    Y[:, -1] = 0
    return sparse.csr_array(Y)


@pytest.fixture
def around(encoder, Y) -> Neighbourhood:
    return neighbourhood(encoder, Y)


def neighbourhood(encoder, Y, search: str = "exact", graphs: tuple[str, ...] = GRAPHS) -> Neighbourhood:
    X, Z = texts(N_DOCUMENTS, 2), texts(N_LABELS, 3)
    f = encoder.encode(X)
    correlation = correlate_labels(Y, 3, seed=0)
    text, centroids = embed_labels(encoder.encode(Z), f, Y, correlation)
    return Neighbourhood(text, centroids, f, Y, correlation, graphs, search, 0)


def test_correlation_has_the_label_itself_and_what_it_occurs_with():
    Y = np.zeros((8, 5), np.float32)
    Y[:4, :2], Y[4:, 2:4] = 1, 1
    M = correlate_labels(sparse.csr_array(Y), 10, seed=0).toarray()
    assert (M > 0).tolist() == [
        [True, True, False, False, False],
        [True, True, False, False, False],
        [False, False, True, True, False],
        [False, False, True, True, False],
        [False, False, False, False, True],
    ]
    assert M[4, 4] == 1
    assert (np.diag(M)[:4] > M[[0, 1, 2, 3], [1, 0, 3, 2]]).all()
    np.testing.assert_array_equal(correlate_labels(sparse.csr_array(Y), 0, seed=0).toarray(), np.eye(5))


def test_centroids_are_means_and_stand_in_for_missing_texts(encoder, Y):
    f, Z = encoder.encode(texts(N_DOCUMENTS, 2)), texts(N_LABELS, 3).toarray()
    Z[5] = 0
    f_labels = encoder.encode(sparse.csr_array(Z))
    identity = sparse.csr_array(sparse.eye_array(N_LABELS, dtype=np.float32))
    text, centroids = embed_labels(f_labels, f, Y, identity)
    for label in range(N_LABELS):
        own = f[Y.toarray()[:, label] > 0]
        expected = own.mean(axis=0) / np.linalg.norm(own.mean(axis=0)) if len(own) else f_labels[label]
        np.testing.assert_allclose(centroids[label], expected, atol=1e-5)
    np.testing.assert_array_equal(text[5], centroids[5])
    np.testing.assert_array_equal(centroids[-1], text[-1])


@given(st.lists(st.lists(st.integers(-1, 6), min_size=5, max_size=5), min_size=1, max_size=6))
def test_united_rows_have_every_id_once(rows):
    result = unite_ids(np.array(rows, np.int32))
    for row, found in zip(rows, result.tolist(), strict=True):
        expected = sorted(set(row) - {-1})
        assert found == expected + [-1] * (len(found) - len(expected))


def test_candidates_are_the_union_of_the_three_searches(encoder, around):
    f = encoder.encode(texts(9, 4))
    votes = around.cast_votes(f, 5)
    found = around.find_candidates(f, 4, votes)
    for row, vector in zip(found, f, strict=True):
        near = np.argsort(-(around.documents @ vector))[:5]
        voted = around.Y.toarray()[near].T @ (around.documents[near] @ vector)
        expected = {*np.argsort(-(around.text @ vector))[:4].tolist()} | {
            *np.argsort(-(around.centroids @ vector))[:4].tolist()
        }
        best = [label for label in np.argsort(-voted, kind="stable")[:4].tolist() if voted[label] > 0]
        assert set(row[row >= 0].tolist()) == expected | set(best)
    everything = around.find_candidates(f, N_LABELS, votes)
    assert (everything == np.arange(N_LABELS)).all()
    few = around.find_candidates(f, 2, votes, among=np.array([3, 7, 8, 30]))
    assert set(np.unique(few)) <= {-1, 3, 7, 8, 30}


def test_a_restricted_search_finds_voted_labels_however_many_others_have_more_votes(encoder, Y):
    around = neighbourhood(encoder, Y, graphs=("documents",))
    f = encoder.encode(texts(9, 4))
    votes = around.cast_votes(f, 20)
    for row in range(9):
        voted = votes[[row]].indices[np.argsort(-votes[[row]].data, kind="stable")]
        among = np.sort(np.append(voted[2:], np.setdiff1d(np.arange(N_LABELS), voted)[:2]))
        assert len(voted) > 4
        found = around.find_candidates(f[[row]], 2, votes[[row]], among=among)
        assert set(found[found >= 0].tolist()) <= set(voted[2:].tolist())
        assert (found >= 0).sum() == 2


def test_votes_are_shares_of_similarity(encoder, around):
    f = encoder.encode(texts(6, 5))
    votes = around.cast_votes(f, 7).toarray()
    for row, vector in zip(votes, f, strict=True):
        similarity = np.sort(around.documents @ vector)[::-1][:7]
        near = np.argsort(-(around.documents @ vector))[:7]
        shares = np.maximum(similarity, 0) / np.maximum(similarity, 0).sum() * similarity[0]
        np.testing.assert_allclose(row, shares @ around.Y.toarray()[near], atol=1e-5)
    nothing = around.cast_votes(np.zeros((1, DIMENSION), np.float32), 3)
    assert not nothing.toarray().any()


def test_a_graph_finds_what_exact_search_finds_and_survives_as_bytes(encoder, Y, around):
    graph = neighbourhood(encoder, Y, search="hnsw")
    f = encoder.encode(texts(20, 6))
    np.testing.assert_allclose(graph.cast_votes(f, 5).toarray(), around.cast_votes(f, 5).toarray(), atol=1e-6)
    np.testing.assert_array_equal(
        graph.find_candidates(f, 5, graph.cast_votes(f, 5)), around.find_candidates(f, 5, around.cast_votes(f, 5))
    )
    graph.build()
    stored = graph.pack_indices()
    assert set(stored) == {"text_index", "centroid_index", "document_index"}
    again = neighbourhood(encoder, Y, search="hnsw")
    again.unpack_indices(stored)
    np.testing.assert_array_equal(again.text_index.query(f, 5).ids, graph.text_index.query(f, 5).ids)
    assert around.pack_indices() == {}


def test_labels_added_after_the_index_was_built_are_found(encoder, Y, around):
    f = encoder.encode(texts(4, 7))
    around.build()
    around.text, around.centroids = (np.vstack([old, f]) for old in (around.text, around.centroids))
    found = around.find_candidates(f, 3, around.cast_votes(f, 5))
    assert all(N_LABELS + row in found[row] for row in range(4))
    only = around.find_candidates(f, 1, around.cast_votes(f, 5), among=np.array([2, N_LABELS + 1]))
    assert set(np.unique(only)) <= {-1, 2, N_LABELS + 1}


def test_classifiers_start_as_the_ranking_by_text(encoder, around):
    """At η = 0, cos(E(x), w) is cos(f(x), z̃): the classifiers begin where the encoder stopped."""
    classifiers = LabelClassifiers(encoder.finish(around.text), 0.0, CPU)
    f = encoder.encode(texts(15, 8))
    np.testing.assert_allclose(encoder.finish(f) @ classifiers.compute_all().T, f @ around.text.T, atol=1e-6)


def test_barred_pairs_are_left_out(Y):
    ranked = np.tile(np.arange(N_LABELS, dtype=np.int32), (N_DOCUMENTS, 1))
    ranked[:, -1] = -1
    rest = drop_pairs(ranked, Y)
    np.testing.assert_array_equal(rest == -1, (Y.toarray() > 0) | (ranked == -1))
    assert (rest[rest >= 0] == ranked[rest >= 0]).all()


def classifier_training(encoder, around, Y, **changes) -> ClassifierTraining:
    values = {"classifier_batch_size": 16, "classifier_learning_rate": 0.01, "classifier_epochs": 6, "plus": False}
    values |= {"token_learning_rate": 1.0, "dropout": 0.0, "token_dropout": 0.0}
    values |= {"hardest": None, "random_negatives": 0, "precision": "float32", "slack": None}
    X = texts(N_DOCUMENTS, 2)
    near = drop_pairs(np.argsort(-(around.documents @ (around.text + around.centroids).T))[:, :20], Y)
    classifiers = LabelClassifiers(encoder.finish(around.text), 0.0, CPU)
    likelihood = changes.pop("likelihood", CLASSIFIER_LIKELIHOOD)
    settings = SimpleNamespace(**values | changes)
    return ClassifierTraining(encoder, classifiers, X, Y, near, likelihood, settings, 0, dict)


def test_a_batch_has_its_labels_and_its_negatives_in_place(encoder, around, Y):
    trainer = classifier_training(encoder, around, Y)
    trainer.begin(0)
    documents = trainer.order[:16]
    labels, place, is_positive = trainer._collect_pairs(documents)
    for row, document in enumerate(documents):
        own = set(Y.indices[Y.indptr[document] : Y.indptr[document + 1]].tolist())
        chosen = place[row] >= 0
        assert set(labels[place[row, chosen & is_positive[row]]].tolist()) == own
        negatives = trainer.negatives[document]
        assert set(labels[place[row, chosen & ~is_positive[row]]].tolist()) == set(negatives[negatives >= 0].tolist())


@pytest.mark.parametrize("plus", [False, True])
def test_negatives_that_are_too_far_to_count_are_left_out_and_nothing_else_changes(encoder, around, Y, plus):
    learned = []
    for slack in (None, 0.3):
        trainer = classifier_training(encoder, around, Y, slack=slack, classifier_learning_rate=1e-4, plus=plus)
        for epoch in range(3):
            trainer.begin(epoch)
            losses = [trainer.step(number) for number in range(trainer.steps)]
        assert (trainer.compared >= 0).sum() < (trainer.negatives >= 0).sum() or slack is None
        learned.append((np.mean(losses), trainer.classifiers.compute_all()))
    assert learned[1][0] == pytest.approx(learned[0][0], rel=1e-3)
    np.testing.assert_allclose(learned[1][1], learned[0][1], atol=1e-3)


def test_negatives_are_chosen_again_when_classifiers_have_moved(encoder, around, Y):
    trainer = classifier_training(encoder, around, Y, slack=0.0)
    trainer.begin(0)
    before = trainer.compared
    lowest = CLASSIFIER_LIKELIHOOD.find_cosine(CLASSIFIER_LIKELIHOOD.negligible)
    cosines = trainer.encoder.finish(trainer.encoder.encode(trainer.X)) @ trainer.classifiers.compute_all().T
    for row in range(N_DOCUMENTS):
        near = trainer.negatives[row][trainer.negatives[row] >= 0]
        expected = near[cosines[row, near] > lowest]
        assert before[row][before[row] >= 0].tolist() == expected.tolist()
    for number in range(trainer.steps):
        trainer.step(number)
    trainer.begin(1)
    assert trainer.compared is not before
    resumed = classifier_training(encoder, around, Y, slack=0.0)
    resumed.set_momentum(trainer.get_momentum())
    resumed.begin(3)  # an epoch between two choices goes by the last one
    np.testing.assert_array_equal(resumed.compared, trainer.compared)


@pytest.mark.parametrize("plus", [False, True])
def test_a_device_chooses_the_negatives_that_the_cpu_chooses(encoder, around, Y, plus, monkeypatch):
    monkeypatch.setattr(near_negatives, "MAX_DENSE_NUMBERS", 500)  # in several blocks
    trainer = classifier_training(encoder, around, Y, slack=0.05, plus=plus)
    trainer.begin(0)
    stored = StoredNegatives.from_documents(encoder, trainer.X, trainer.f, trainer.negatives)
    packed = stored.find_near(trainer.classifiers.compute_on_device(), trainer.lowest)
    assert 0 < (trainer.compared >= 0).sum() < (trainer.negatives >= 0).sum()
    np.testing.assert_array_equal(unpack_negatives(packed.numpy(), trainer.negatives), trainer.compared)


@pytest.mark.parametrize("likelihood", [CLASSIFIER_LIKELIHOOD, LogisticLikelihood()], ids=["exponential", "logistic"])
@pytest.mark.parametrize("plus", [False, True])
def test_module_four_lowers_its_loss_and_moves_tokens_only_with_plus(encoder, around, Y, plus, likelihood):
    before = encoder.table.clone()
    trainer = classifier_training(encoder, around, Y, plus=plus, dropout=0.5, token_dropout=0.1, likelihood=likelihood)
    losses = []
    for epoch in range(6):
        trainer.begin(epoch)
        losses.append(np.mean([trainer.step(number) for number in range(trainer.steps)]))
    assert losses[-1] < losses[0]
    assert torch.equal(before, encoder.table) == (not plus)
    assert encoder.residual.radius.item() != 0
    assert np.linalg.norm(trainer.classifiers.compute_all(), axis=1) == pytest.approx(np.ones(N_LABELS), rel=1e-5)


def test_the_rate_of_module_four_falls_to_zero_in_a_line(encoder, around, Y):
    trainer = classifier_training(encoder, around, Y)
    rates = []
    for epoch in range(6):
        trainer.begin(epoch)
        rates += [trainer._decay_learning_rate(number) for number in range(trainer.steps)]
    n = 6 * trainer.steps
    np.testing.assert_allclose(rates, 0.01 * (1 - np.arange(n) / n))


def test_a_far_negative_has_no_gradient():
    v = torch.tensor([[0.9, 0.438, 0.439]], requires_grad=True)
    is_positive, is_present = torch.tensor([[True, False, False]]), torch.tensor([[True, True, True]])
    compute_classifier_loss(v, is_positive, is_present, CLASSIFIER_LIKELIHOOD).backward()
    assert v.grad[0, 0] == -1
    assert v.grad[0, 1] == 0
    assert v.grad[0, 2] > 0


def test_scores_of_members_are_averaged_over_united_candidates(encoder, Y, around):
    other = Encoder(torch.from_numpy(np.random.default_rng(9).standard_normal((N_TOKENS, DIMENSION), np.float32)))
    members = [
        Member(e, n, LabelClassifiers(e.finish(n.text), 0.0, CPU).compute_all(), np.zeros(2))
        for e, n in ((encoder, around), (other, neighbourhood(other, Y)))
    ]
    x, Z = texts(5, 10), texts(N_LABELS, 3)
    terms = WordClassifiers(sparse.csr_array(texts(N_LABELS, 11).T), np.linspace(-1, 0, N_LABELS, dtype=np.float32))
    both = score_candidates(members, x, Z, terms, size=4, neighbours=5)
    alone = [score_candidates([member], x, Z, terms, size=N_LABELS, neighbours=5) for member in members]
    small = [score_candidates([member], x, Z, terms, size=4, neighbours=5).ids for member in members]
    for row in range(5):
        ids = both.ids[row][both.ids[row] >= 0]
        assert set(ids.tolist()) == {label for part in small for label in part[row].tolist()} - {-1}
        expected = np.mean([part.values[:, row, ids] for part in alone], axis=0)
        np.testing.assert_allclose(both.values[:, row, : len(ids)], expected, atol=1e-6)
    np.testing.assert_allclose(alone[0].values[4], (x @ Z.T).toarray(), atol=1e-6)
    np.testing.assert_allclose(alone[0].values[5], (x @ terms.weights).toarray() + terms.bias, atol=1e-6)


def test_lookup_is_indexing(Y):
    ids = np.random.default_rng(0).integers(-1, N_LABELS, (N_DOCUMENTS, 7))
    expected = np.where(ids < 0, 0, np.take_along_axis(Y.toarray(), np.maximum(ids, 0), axis=1))
    np.testing.assert_array_equal(look_up(Y, ids), expected)
    assert not look_up(sparse.csr_array(Y.shape, dtype=np.float32), ids).any()


def test_random_negatives_are_labels_that_a_document_does_not_have(encoder, around, Y):
    trainer = classifier_training(encoder, around, Y, random_negatives=3)
    trainer.begin(0)
    documents = trainer.order[:16]
    usual = trainer.negatives.shape[1] + min(20, int(np.diff(Y[documents].indptr).max()))
    labels, place, is_positive = trainer._collect_pairs(documents)
    drawn = np.where(place[:, usual:] >= 0, labels[place[:, usual:]], -1)
    assert drawn.shape == (16, 3)
    assert (drawn >= 0).any()
    np.testing.assert_array_equal(drop_pairs(drawn, Y[documents]), drawn)
    assert not is_positive[:, usual:].any()


def test_a_label_counts_for_itself_what_walks_and_its_own_weight_say():
    Y = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0]], np.float32))  # label 2 has no document
    walked, with_own = (correlate_labels(Y, 10, 0, own_weight).toarray() for own_weight in (0.0, 1.0))
    assert walked[0, 0] / walked[0].sum() < with_own[0, 0] / with_own[0].sum()
    np.testing.assert_array_equal(walked[2], [0, 0, 1])
    np.testing.assert_array_equal(with_own[2], [0, 0, 1])
    np.testing.assert_array_equal(correlate_labels(Y, 0, 0, 0.0).toarray(), np.eye(3))


@pytest.mark.parametrize("hardest", [1, 2, 50])
def test_a_row_keeps_its_hardest_negatives_only(hardest: int):
    rng = np.random.default_rng(0)
    v = torch.from_numpy(rng.uniform(-0.2, 1, (6, 12)))
    is_positive = torch.zeros(6, 12, dtype=torch.bool)
    for row, count in enumerate((1, 2, 1, 3, 0, 2)):
        is_positive[row, :count] = True
    is_present = torch.from_numpy(rng.random((6, 12)) < 0.8) | is_positive
    likelihood, expected = CLASSIFIER_LIKELIHOOD, 0.0
    for row in range(6):
        expected += float(likelihood.compute_positive_loss(v[row][is_positive[row]]).sum())
        losses = likelihood.compute_negative_loss(v[row][is_present[row] & ~is_positive[row]])
        losses = losses[losses > likelihood.negligible].sort(descending=True).values
        expected += float(losses[: hardest * int(is_positive[row].sum())].sum())
    found = compute_classifier_loss(v, is_positive, is_present, likelihood, hardest)
    assert found.item() == pytest.approx(expected / (6 * likelihood.unit), rel=1e-9)
