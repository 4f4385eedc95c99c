"""Pairs in the open: classes are put aside, pairs are what they are called, and the measures agree with their names."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.core.split import Split
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import DataError
from xcwork.studies.pair_verification import compare_pretraining, draw_pairs, measure_verification, split_labels


@pytest.fixture(scope="module")
def split() -> Split:
    whole = make_synthetic(
        n_documents=400, n_labels=30, n_topics=5, labels_per_document=1.5, unseen_share=0.0, seed=1
    ).train
    return whole.take(np.diff(whole.Y.indptr) == 1)


def test_no_label_is_on_both_sides(split: Split) -> None:
    known, unknown = split_labels(split, 0.3)
    assert len(known) > 0
    assert len(unknown) > 0
    assert not set(known.Y.indices.tolist()) & set(unknown.Y.indices.tolist())
    assert len(known) + len(unknown) == len(split)


def test_true_pairs_share_a_label_and_false_ones_do_not(split: Split) -> None:
    pairs, is_true = draw_pairs(split, 400)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    shares = np.asarray(split.Y[pairs[:, 0]].multiply(split.Y[pairs[:, 1]]).sum(axis=1)).ravel() > 0
    assert np.array_equal(shares, is_true)
    with pytest.raises(DataError, match="no two documents share a label"):
        draw_pairs(split.take([0]), 10)


def test_measures_of_perfect_and_of_useless_cosines() -> None:
    is_true = np.repeat([True, False], 500)
    assert measure_verification(is_true.astype(float), is_true) == {"AUC": 100.0, "true acceptance": 100.0}
    useless = measure_verification(np.random.default_rng(0).random(1000), is_true)
    assert abs(useless["AUC"] - 50) < 5
    assert useless["true acceptance"] < 5


def test_features_learned_without_the_labels_are_better_than_words_alone(split: Split) -> None:
    frame = compare_pretraining(split, n_pairs=400, epochs=10, width=32).set_index("features")
    assert list(frame.index) == ["none", "flat", "mhs"]
    assert frame["AUC"].between(50, 100).all()
