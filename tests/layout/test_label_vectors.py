"""Label vectors made of texts and documents: the mean by hand, bounded terms and blocks, and when they are used."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.layout import document_means
from xcwork.layout.document_means import average_documents, find_bounds, keep_heaviest_terms
from xcwork.layout.label_vectors import LabelVectors
from xcwork.methods import registry
from xcwork.sparse import normalise_rows


def make_split(X: np.ndarray, Y: np.ndarray, Z: np.ndarray | None) -> Split:
    features = Features(X.shape[1])
    texts = None if Z is None else sparse.csr_array(Z.astype(np.float32))
    shared = features if Z is not None and Z.shape[1] == X.shape[1] else None
    labels = LabelSpace([f"label {i}" for i in range(Y.shape[1])], Z=texts, features=shared)
    return Split(sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32)), labels, features)


def scale_to_one(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


@given(st.integers(0, 10_000))
def test_vectors_are_text_plus_mean_of_documents(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((8, 5)) * (rng.random((8, 5)) < 0.6)
    Y = rng.random((8, 6)) < 0.3
    Z = rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)
    means = np.zeros((6, 5))
    for label in range(6):
        for document in range(8):
            if Y[document, label]:
                means[label] += scale_to_one(X)[document]
    expected = scale_to_one(scale_to_one(means) + scale_to_one(Z))
    vectors = LabelVectors.from_documents(make_split(X, Y, Z))
    assert vectors.source == "label texts and training documents"
    assert vectors.vectors.toarray() == pytest.approx(expected, abs=1e-5)
    assert vectors.is_known().tolist() == expected.any(axis=1).tolist()


def test_texts_with_terms_of_their_own_stand_beside_the_documents():
    X, Y = np.eye(3), np.eye(3)
    Z = np.array([[1.0, 0], [1, 0], [0, 1]])
    vectors = LabelVectors.from_documents(make_split(X, Y, Z)).vectors
    assert vectors.shape == (3, 5)
    assert (vectors @ vectors.T).toarray() == pytest.approx(np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]), abs=1e-6)


def test_labels_without_text_have_documents_alone():
    vectors = LabelVectors.from_method(None, LabelSpace(["a", "b"]), make_split(np.eye(2), np.eye(2), None))
    assert vectors.source == "training documents"
    assert np.array_equal(vectors.vectors.toarray(), np.eye(2))


def test_labels_of_one_word_have_neighbours_by_their_documents():
    # Two topics of three terms each; every label has a name that occurs nowhere else.
    X = np.repeat(np.kron(np.eye(2), np.ones((1, 3))), 3, axis=0)
    X = np.hstack([X, np.zeros((6, 6))])
    Z = np.hstack([np.zeros((6, 6)), np.eye(6)])
    split = make_split(X, np.eye(6), Z)
    texts = LabelVectors.from_method(None, split.labels)
    assert texts.find_nearest(0, 5)[1].tolist() == [0] * 5
    both = LabelVectors.from_method(None, split.labels, split)
    ids, cosines = both.find_nearest(0, 3)
    assert set(ids[:2].tolist()) == {1, 2}
    assert cosines.tolist() == pytest.approx([0.5, 0.5, 0], abs=1e-6)


@given(st.lists(st.integers(0, 12), max_size=30), st.integers(1, 9), st.integers(1, 20))
def test_blocks_cover_all_labels_and_are_small(counts, max_labels, max_documents):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_means, "LABELS_PER_BLOCK", max_labels)
        patch.setattr(document_means, "DOCUMENTS_PER_BLOCK", max_documents)
        bounds = find_bounds(np.array(counts, int))
    assert (bounds[0], bounds[-1]) == (0, len(counts))
    for start, end in pairwise(bounds):
        assert 1 <= end - start <= max_labels
        assert end == start + 1 or sum(counts[start:end]) <= max_documents


def test_blocks_do_not_change_the_means(checkerboard, monkeypatch):
    whole = average_documents(checkerboard.train)
    monkeypatch.setattr(document_means, "LABELS_PER_BLOCK", 3)
    assert np.array_equal(average_documents(checkerboard.train).toarray(), whole.toarray())


def test_the_heaviest_terms_are_kept_with_their_signs():
    rows = sparse.csr_array(np.array([[1.0, -3, 2, 0], [0, 0.5, 0, 0]], np.float32))
    assert keep_heaviest_terms(rows, 2).toarray().tolist() == [[0, -3, 2, 0], [0, 0.5, 0, 0]]
    assert keep_heaviest_terms(rows, 3) is rows


def embed(embeddings):
    """Make a method that has learned these embeddings."""
    return SimpleNamespace(title="toy", label_embeddings=lambda: embeddings)


def test_documents_join_label_texts_but_no_learned_embeddings(checkerboard):
    train, labels = checkerboard.train, checkerboard.labels
    both = LabelVectors.from_documents(train).vectors.toarray()
    for method in (None, registry.create("popularity").fit(train), registry.create("tfidf").fit(train)):
        assert np.array_equal(LabelVectors.from_method(method, labels, train).vectors.toarray(), both)
    learned = normalise_rows(sparse.csr_array(np.flip(labels.Z.toarray(), axis=1)))
    own = LabelVectors.from_method(embed(learned), labels, train)
    assert own.source == "label embeddings of toy"
    assert np.array_equal(own.vectors.toarray(), learned.toarray())
    dense = LabelVectors.from_method(embed(labels.Z.toarray()), labels, train)
    assert dense.source == "label embeddings of toy"
    bare = replace(labels, Z=None)
    assert LabelVectors.from_method(embed(labels.Z), bare, train).source == "label embeddings of toy"
