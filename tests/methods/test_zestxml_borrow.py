"""What unseen labels borrow from the documents of labels with a similar text, against a dense computation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.methods.zestxml import borrow
from xcwork.methods.zestxml.borrow import find_borrowed_terms, find_typical_terms
from xcwork.methods.zestxml.method import ZestXML
from xcwork.methods.zestxml.unseen import CalibrationSample, fit_borrowing_share


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def largest(rows: np.ndarray, k: int) -> np.ndarray:
    order = np.argsort(-rows, axis=1, kind="stable")[:, k:]
    kept = rows.copy()
    np.put_along_axis(kept, order, 0, axis=1)
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_the_products_are_those_of_dense_matrices(seed: int, monkeypatch) -> None:
    monkeypatch.setattr(borrow, "LENDERS_PER_LABEL", 2)
    monkeypatch.setattr(borrow, "TERMS_PER_LABEL", 3)
    monkeypatch.setattr(borrow, "ROWS_PER_BLOCK", 4)
    rng = np.random.default_rng(seed)
    X, Z = (rng.random(shape) * (rng.random(shape) < 0.5) for shape in ((15, 6), (9, 7)))
    Y = (rng.random((15, 9)) < 0.3) * 1.0
    borrowers = np.array([1, 4, 8])
    Y[:, borrowers] = 0
    matches = np.zeros((6, 7))  # document feature c is label feature c + 1; the first label feature is in no document
    matches[np.arange(6), np.arange(6) + 1] = rng.random(6) + 1

    typical = find_typical_terms(*map(sparse.csr_array, (X, Y, matches)))
    expected = unit(largest(Y.T @ X @ (matches > 0), 3))
    np.testing.assert_allclose(typical.toarray(), expected, rtol=1e-5)

    found = find_borrowed_terms(sparse.csr_array(Z), borrowers, typical).toarray()
    alike = Z @ Z.T * (Y.sum(axis=0) > 0)
    alike = largest(alike, 2)
    for label in range(9):
        total = alike[label].sum()
        mean = largest((alike[label] / total @ expected)[None], 3)[0] if label in borrowers and total else 0.0
        np.testing.assert_allclose(found[label], mean * np.ones(7), rtol=1e-5)


@pytest.fixture(scope="module")
def kitchen():
    """Labels about cheese have documents that mention milk; the unseen label "blue cheese" says nothing of milk."""
    train = [f"cheddar cheese milk note{i}" if i % 2 else f"rye bread flour note{i}" for i in range(40)]
    names = ["cheddar cheese", "rye bread", "blue cheese", "white bread", "milk jug", "flour sack"]
    raw = RawDataset(
        train=RawSplit(texts=train, labels=[["cheddar cheese"] if i % 2 else ["rye bread"] for i in range(40)]),
        test=RawSplit(texts=["milk", "flour"], labels=[["blue cheese"], ["white bread"]]),
        labels=RawLabels(names=names),
    )
    return build_dataset(raw, name="kitchen")


def test_an_unseen_label_is_found_by_a_word_of_similar_labels_documents(kitchen) -> None:
    unseen = [2, 3]
    borrowing = ZestXML().fit(kitchen.train).predict(kitchen.test, k=1, among=unseen)
    assert borrowing.ids.ravel().tolist() == [2, 3]
    alone = ZestXML(borrow=False).fit(kitchen.train).predict(kitchen.test, k=1, among=unseen)
    assert alone.get_row(0) == alone.get_row(1) == []


def test_a_borrowed_term_is_called_that_and_is_nothing_memorised(kitchen) -> None:
    model = ZestXML().fit(kitchen.train)
    explanation = model.explain("milk", "blue cheese")
    kinds = {part.label_term: part.details["kind"] for part in explanation.parts}
    assert kinds == {"milk": "borrowed term", "how rare the label is": "bias"}
    assert explanation.score == pytest.approx(model.predict("milk", k=1, among=[2]).scores[0, 0], rel=1e-5)
    seen = model.explain("milk", "cheddar cheese")
    assert "borrowed term" not in {part.details["kind"] for part in seen.parts}


def test_a_label_added_later_borrows_as_one_that_was_there(kitchen, tmp_path) -> None:
    ZestXML().fit(kitchen.train).save(tmp_path)
    model = ZestXML.load(tmp_path)
    (new,) = model.add_labels(["blue cheese"], ["the same again"])
    for text in ("milk", "blue cheese milk", "cheddar"):
        there, later = (model.explain(text, label) for label in (2, int(new)))
        assert later.score == pytest.approx(there.score, rel=1e-5)
        assert [part.details["kind"] for part in later.parts] == [part.details["kind"] for part in there.parts]


def test_a_label_unlike_any_other_borrows_nothing(kitchen) -> None:
    model = ZestXML().fit(kitchen.train)
    (new,) = model.add_labels(["sack jug"])
    assert model.model_.refined.borrowed[[int(new)]].nnz == 0
    assert np.isfinite(model.predict(["sack", "milk"], k=7).scores[0, 0])


def test_an_unseen_label_lies_near_seen_labels_of_its_kind(kitchen) -> None:
    near = ZestXML().fit(kitchen.train).label_embeddings()
    closeness = (near @ near.T).toarray()
    assert closeness[2, 0] > closeness[2, 1]
    assert closeness[3, 1] > closeness[3, 0]
    np.testing.assert_allclose(np.diag(closeness), 1, rtol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_the_share_to_borrow_is_found_where_it_is_planted(share: float) -> None:
    rng = np.random.default_rng(2)
    features = rng.exponential(size=(200_000, 2))
    odds = 2 * features[:, 0] + 2 * share * features[:, 1] - 12  # relevant pairs are as rare as in real data
    relevant = rng.random(len(odds)) < 1 / (1 + np.exp(-odds))
    assert 100 < relevant.sum() < 4000
    assert fit_borrowing_share(CalibrationSample(features, relevant, np.ones(len(odds)))) == pytest.approx(
        share, abs=0.1
    )


def test_labels_that_are_opposites_do_not_lend() -> None:
    Z = sparse.csr_array(np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0]], np.float32))
    typical = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], np.float32))
    found = find_borrowed_terms(Z, np.array([1, 2]), typical).toarray()
    np.testing.assert_allclose(found, [[0, 0], [0, 0], [0, 1]])
