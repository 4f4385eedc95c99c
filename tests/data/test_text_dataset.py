"""Datasets from raw text: order of labels, shared vocabulary, what documents may say about labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.build import text_dataset
from xcwork.errors import DataError
from xcwork.text.vectorizer import TextVectorizer

DOCUMENTS = {
    "train_texts": ["red apples", "green apples taste good", "dry red wine"],
    "train_labels": [["fruit"], ["fruit", "green"], ["wine", "wine"]],
    "test_texts": ["sweet wine", "purple grapes"],
    "test_labels": [["wine"], ["only in test"]],
}


def test_without_a_list_labels_are_sorted_and_test_labels_stay():
    dataset = text_dataset("tiny", **DOCUMENTS)
    assert dataset.labels.names == ["fruit", "green", "only in test", "wine"]
    assert dataset.train.Y.toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]]
    assert dataset.test.Y.toarray().tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]
    assert dataset.unseen_labels.tolist() == [2]
    assert dataset.labels.texts == dataset.labels.names
    assert dataset.train.texts == DOCUMENTS["train_texts"]


def test_given_labels_keep_their_order_and_unlisted_ones_follow():
    dataset = text_dataset("tiny", **DOCUMENTS, label_names=["wine", "fruit"], label_texts=["a wine", "a fruit"])
    assert dataset.labels.names == ["wine", "fruit", "green", "only in test"]
    assert dataset.labels.texts == ["a wine", "a fruit", "green", "only in test"]


def test_documents_name_labels_by_uid_where_there_are_uids():
    documents = DOCUMENTS | {"train_labels": [["u1"], ["u1", "u2"], ["u3"]], "test_labels": [["u3"], []]}
    dataset = text_dataset(
        "tiny",
        **documents,
        label_uids=["u3", "u2", "u1"],
        label_names=["Wine", "Same", "Same"],
        label_parents=[[], ["u1"], []],
        train_uids=["a", "b", "c"],
        train_groups=["g", "g", "h"],
        test_filter=np.array([[0, 1]]),
    )
    assert dataset.labels.uids == ["u3", "u2", "u1"]
    assert dataset.labels.parents == [[], ["u1"], []]
    assert dataset.train.Y.toarray().tolist() == [[0, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert (dataset.train.uids, dataset.train.groups, dataset.test.uids) == (["a", "b", "c"], ["g", "g", "h"], None)
    assert dataset.test.filter_pairs.tolist() == [[0, 1]]


def test_documents_and_labels_share_their_terms():
    dataset = text_dataset("tiny", **DOCUMENTS, label_names=["wine", "zzz"])
    labels, features = dataset.labels, dataset.features
    assert labels.features is features
    assert labels.Z.shape == (5, features.size)
    assert [features.name(column) for column in labels.Z[[0]].indices] == ["wine"]
    np.testing.assert_allclose(np.sqrt(labels.Z.multiply(labels.Z).sum(axis=1))[:3], 1, rtol=1e-6)
    # idf knows the training documents alone: "zzz" is in none of the three.
    assert features.vectorizer.idf[features.names.index("zzz")] == pytest.approx(np.log(4) + 1)


def test_a_label_whose_words_are_all_unknown_has_an_empty_row():
    dataset = text_dataset("tiny", **DOCUMENTS, label_texts=["the", "wine"], label_names=["x", "wine"])
    assert np.diff(dataset.labels.Z.indptr).tolist()[0] == 0
    assert np.diff(dataset.labels.Z.indptr).tolist()[1] == 1


def test_a_ready_label_matrix_is_taken_as_it_is():
    train = sparse.csr_array(np.array([[2.0, 0], [0, 1], [1, 1]]))
    test = sparse.csr_array((2, 2))
    dataset = text_dataset(
        "tiny",
        train_texts=DOCUMENTS["train_texts"],
        test_texts=DOCUMENTS["test_texts"],
        train_labels=train,
        test_labels=test,
        label_names=["first", "second"],
    )
    assert dataset.train.Y.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert dataset.test.Y.nnz == 0
    assert train.toarray()[0, 0] == 2  # what came in is untouched


def test_a_saved_dataset_turns_new_text_into_the_same_features(tmp_path):
    dataset = text_dataset("tiny", **DOCUMENTS, vectorizer=TextVectorizer(stem=True))
    dataset.save(tmp_path / "tiny")
    restored = Dataset.load(tmp_path / "tiny")
    assert restored.fingerprint == dataset.fingerprint
    assert restored.features.names == dataset.features.names
    rows = restored.features.transform(dataset.train.texts)
    np.testing.assert_array_equal(rows.toarray(), dataset.train.X.toarray())


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"label_names": ["a", "b"], "label_texts": ["only one"]}, "2 label names but 1 label texts"),
        ({"label_names": ["a", "b"], "label_uids": ["only one"]}, "2 label names but 1 label uids"),
        ({"label_names": ["twice", "twice"]}, "two labels are called 'twice'"),
        ({"train_uids": ["one"]}, "3 documents but uids has 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(extra, message):
    with pytest.raises(DataError, match=message):
        text_dataset("tiny", **DOCUMENTS, **extra)
