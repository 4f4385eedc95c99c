"""Datasets from raw data: order of labels, shared vocabulary, what documents may say about labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.errors import DataError
from xcwork.text.vectorizer import TextVectorizer

TRAIN = RawSplit(
    texts=["red apples", "green apples taste good", "dry red wine"],
    labels=[["fruit"], ["fruit", "green"], ["wine", "wine"]],
)
TEST = RawSplit(texts=["sweet wine", "purple grapes"], labels=[["wine"], ["only in test"]])


def build_tiny(vectorizer: TextVectorizer | None = None, **labels: object) -> Dataset:
    return build_dataset(RawDataset(TRAIN, TEST, RawLabels(**labels)), name="tiny", vectorizer=vectorizer)


def test_without_a_list_labels_are_sorted_and_test_labels_stay():
    dataset = build_tiny()
    assert dataset.labels.names == ["fruit", "green", "only in test", "wine"]
    assert dataset.train.Y.toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]]
    assert dataset.test.Y.toarray().tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]
    assert dataset.unseen_labels.tolist() == [2]
    assert dataset.labels.texts == dataset.labels.names
    assert dataset.train.texts == TRAIN.texts


def test_given_labels_keep_their_order_and_unlisted_ones_follow():
    dataset = build_tiny(names=["wine", "fruit"], texts=["a wine", "a fruit"])
    assert dataset.labels.names == ["wine", "fruit", "green", "only in test"]
    assert dataset.labels.texts == ["a wine", "a fruit", "green", "only in test"]


def test_documents_name_labels_by_uid_where_there_are_uids():
    raw = RawDataset(
        train=replace(TRAIN, labels=[["u1"], ["u1", "u2"], ["u3"]], uids=["a", "b", "c"], groups=["g", "g", "h"]),
        test=replace(TEST, labels=[["u3"], []], filter_pairs=np.array([[0, 1]])),
        labels=RawLabels(uids=["u3", "u2", "u1"], names=["Wine", "Same", "Same"], parents=[[], ["u1"], []]),
    )
    dataset = build_dataset(raw, name="tiny")
    assert dataset.labels.uids == ["u3", "u2", "u1"]
    assert dataset.labels.parents == [[], ["u1"], []]
    assert dataset.train.Y.toarray().tolist() == [[0, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert (dataset.train.uids, dataset.train.groups, dataset.test.uids) == (["a", "b", "c"], ["g", "g", "h"], None)
    assert dataset.test.filter_pairs.tolist() == [[0, 1]]


def test_documents_and_labels_share_their_terms():
    dataset = build_tiny(names=["wine", "zzz"])
    labels, features = dataset.labels, dataset.features
    assert labels.features is features
    assert labels.Z.shape == (5, features.size)
    assert [features.get_name(column) for column in labels.Z[[0]].indices] == ["wine"]
    np.testing.assert_allclose(np.sqrt(labels.Z.multiply(labels.Z).sum(axis=1))[:3], 1, rtol=1e-6)
    # idf knows the training documents alone: "zzz" is in none of the three.
    assert features.vectorizer.idf[features.names.index("zzz")] == pytest.approx(np.log(4) + 1)


def test_a_label_whose_words_are_all_unknown_has_an_empty_row():
    dataset = build_tiny(texts=["the", "wine"], names=["x", "wine"])
    assert np.diff(dataset.labels.Z.indptr).tolist()[0] == 0
    assert np.diff(dataset.labels.Z.indptr).tolist()[1] == 1


def test_a_ready_label_matrix_is_taken_as_it_is():
    train = sparse.csr_array(np.array([[2.0, 0], [0, 1], [1, 1]]))
    test = sparse.csr_array((2, 2))
    raw = RawDataset(
        train=RawSplit(texts=TRAIN.texts, Y=train),
        test=RawSplit(texts=TEST.texts, Y=test),
        labels=RawLabels(names=["first", "second"]),
    )
    dataset = build_dataset(raw, name="tiny")
    assert dataset.train.Y.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert dataset.test.Y.nnz == 0
    assert train.toarray()[0, 0] == 2  # what came in is untouched


def test_a_saved_dataset_turns_new_text_into_the_same_features(tmp_path):
    dataset = build_tiny(TextVectorizer(stem=True))
    dataset.save(tmp_path / "tiny")
    restored = Dataset.load(tmp_path / "tiny")
    assert restored.fingerprint == dataset.fingerprint
    assert restored.features.names == dataset.features.names
    rows = restored.features.transform(dataset.train.texts)
    np.testing.assert_array_equal(rows.toarray(), dataset.train.X.toarray())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"names": ["a", "b"], "texts": ["only one"]}, "2 label names but 1 label texts"),
        ({"names": ["a", "b"], "uids": ["only one"]}, "2 label names but 1 label uids"),
        ({"names": ["twice", "twice"]}, "two labels are called 'twice'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    with pytest.raises(DataError, match=message):
        build_tiny(**labels)


def test_uids_that_do_not_fit_the_documents_are_refused():
    with pytest.raises(DataError, match="3 documents but uids has 1"):
        build_dataset(RawDataset(replace(TRAIN, uids=["one"]), TEST), name="tiny")


def test_documents_need_texts_or_features_and_one_kind_of_labels():
    with pytest.raises(DataError, match="texts or features"):
        RawSplit(labels=[["a"]])
    for both_or_none in ({}, {"labels": [["a"]], "Y": sparse.csr_array((1, 1))}):
        with pytest.raises(DataError, match="as lists or as a matrix"):
            RawSplit(texts=["one"], **both_or_none)


def test_labels_of_ready_made_features_may_be_listed_by_name_too():
    X = sparse.csr_array(np.eye(2, dtype=np.float32))
    raw = RawDataset(RawSplit(X=X, labels=[["b"], ["a"]]), RawSplit(X=X, labels=[["b"], []]), path=None)
    dataset = build_dataset(raw, name="eye")
    assert dataset.labels.names == ["a", "b"]
    assert dataset.labels.texts is None
    assert dataset.train.Y.toarray().tolist() == [[0, 1], [1, 0]]


def test_without_a_test_split_every_field_is_split_alike():
    texts = [f"word{i} of many" for i in range(40)]
    pairs = np.array([[row, 0] for row in range(40)])
    whole = RawSplit(texts=texts, labels=[[text[:5]] for text in texts], groups=texts, filter_pairs=pairs)
    dataset = build_dataset(RawDataset(whole), name="forty", test_share=0.25)
    assert sorted(dataset.train.texts + dataset.test.texts) == sorted(texts)
    for split in (dataset.train, dataset.test):
        assert split.groups == split.texts
        assert split.filter_pairs.tolist() == [[row, 0] for row in range(len(split))]
    assert "25% of the documents held out as test split" in dataset.source
