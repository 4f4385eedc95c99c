"""Labels next to each other, by vectors and by mistakes, against brute force and planted confusions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.analysis.neighbours import (
    find_confusable_labels,
    find_documents_with,
    find_nearest_labels,
    find_shared_terms,
)
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.layout.label_vectors import LabelVectors
from xcwork.methods import registry


def dataset_of(train: np.ndarray, test: np.ndarray) -> Dataset:
    labels = LabelSpace([f"label {i}" for i in range(test.shape[1])])
    parts = [
        Split(
            sparse.csr_array((len(Y), 1), dtype=np.float32),
            sparse.csr_array(np.asarray(Y, np.float32)),
            labels,
            Features(1),
        )
        for Y in (train, test)
    ]
    return Dataset("toy", *parts)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_nearest_are_those_of_the_largest_cosine(form):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(30, 6)).astype(np.float32)
    dense[7] = 0
    vectors = LabelVectors.from_method(_Embedded(form(dense)), LabelSpace([""] * 30))
    unit = dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
    ids, cosines = vectors.find_nearest(3, 5)
    expected = unit @ unit[3]
    expected[[3, 7]] = -np.inf
    assert ids.tolist() == np.argsort(-expected)[:5].tolist()
    assert cosines == pytest.approx(np.sort(expected)[::-1][:5], abs=1e-6)
    assert len(vectors.find_nearest(3, 100)[0]) == 28  # neither itself nor the label without a vector
    assert len(vectors.find_nearest(7, 5)[0]) == 0
    assert vectors.is_known().tolist() == [label != 7 for label in range(30)]
    with pytest.raises(DataError, match="no label 30"):
        vectors.find_nearest(30, 1)


class _Embedded:
    title = "toy"

    def __init__(self, embeddings):
        self.embeddings = embeddings

    def label_embeddings(self):
        return self.embeddings


def test_label_texts_stand_in_for_embeddings(checkerboard, jumble):
    model = registry.create("popularity").fit(checkerboard.train)
    assert LabelVectors.from_method(model, checkerboard.labels).source == "label texts"
    bare = replace(jumble.labels, Z=None)
    with pytest.raises(DataError, match="no label embeddings"):
        LabelVectors.from_method(None, bare)


def test_neighbours_come_with_shared_documents_and_terms(checkerboard):
    table = find_nearest_labels(LabelVectors.from_method(None, checkerboard.labels), checkerboard, "L0", k=4)
    assert table["label"].tolist() == ["L2", "L4", "L6", "L1"]
    assert table["similarity"].tolist() == pytest.approx([1, 1, 1, 0], abs=1e-6)
    assert table["shared_documents"].tolist() == [12, 12, 12, 0]
    assert set(table["shared_terms"][0].split(", ")) == {"red", "square", "red square"}
    assert table["shared_terms"][3] == ""
    assert find_shared_terms(replace(checkerboard.labels, Z=None), 0, 2) == []


def test_documents_with_a_label(jumble):
    Y = jumble.train.Y
    for label in range(Y.shape[1]):
        assert find_documents_with(Y, label).tolist() == np.flatnonzero(Y.toarray()[:, label]).tolist()


def test_planted_confusion_is_found():
    # Label 0 is always replaced by 1; label 3 is predicted everywhere and so says little about label 0.
    test = np.zeros((8, 5))
    test[:4, 0], test[4:, 2] = 1, 1
    rows = [[1, 3]] * 3 + [[0, 3]] + [[2, 3]] * 3 + [[0, 3]]
    topk = TopK(np.array(rows, np.int32), np.tile(np.float32([2, 1]), (8, 1)))
    table = find_confusable_labels(topk, dataset_of(np.ones((2, 5)), test), 0, k=2).set_index("label_id")
    assert table["instead"].to_dict() == {1: 3, 3: 3, 2: 0}
    assert table["for_it"].to_dict() == {1: 0, 3: 0, 2: 1}
    assert table.index.tolist() == [1, 3, 2]  # equal counts: the one that is less expected comes first
    assert table.loc[1, "lift"] > table.loc[3, "lift"]
    with pytest.raises(ConfigError, match="at least 1"):
        find_confusable_labels(topk, dataset_of(np.ones((2, 5)), test), 0, limit=0)


def test_a_label_that_is_never_confused(checkerboard):
    topk = TopK(
        checkerboard.test.Y.toarray().argsort(axis=1)[:, ::-1][:, :4].astype(np.int32), np.ones((8, 4), np.float32)
    )
    assert len(find_confusable_labels(topk, checkerboard, "L0", k=4)) == 0
