"""Bands by their definitions, and contributions that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.bands import Bands, absolute_bands, decile_bands, share_bands, shot_bands
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError
from xcwork.metrics.by_band import band_table
from xcwork.metrics.ranking import place


def names(bands: Bands) -> list[str]:
    return bands.names_of(np.arange(len(bands.of_label))).tolist()


def test_absolute_cut_points():
    assert names(absolute_bands(np.array([0, 1, 5, 6, 50, 51]))) == [
        "zero-shot",
        "tail",
        "tail",
        "torso",
        "torso",
        "head",
    ]
    assert names(absolute_bands(np.array([0, 1, 2, 3, 4]), tail=1, torso=3)) == [
        "zero-shot",
        "tail",
        "torso",
        "torso",
        "head",
    ]


def test_shot_cut_points():
    assert names(shot_bands(np.array([0, 1, 3, 4]))) == ["zero-shot", "few-shot", "few-shot", "many-shot"]


def test_shares_of_training_positives():
    # 12 positives: the 6 alone passes the first third, the two labels of 2 start at 1/2, the rest at 5/6.
    assert names(share_bands(np.array([2, 6, 0, 1, 2, 1]))) == ["torso", "head", "zero-shot", "tail", "torso", "tail"]


def test_labels_of_equal_frequency_share_a_band():
    assert names(share_bands(np.full(9, 4))) == ["head"] * 9


def test_deciles_go_from_frequent_to_rare():
    bands = decile_bands(np.array([*range(1, 101), 0]))
    assert bands.names[0] == "decile 1"
    assert np.all(np.diff(bands.of_label[:100]) <= 0)
    assert bands.of_label[99] == 0
    assert names(bands)[100] == "zero-shot"
    volume = np.bincount(bands.of_label[:100], weights=np.arange(1, 101), minlength=10)
    assert volume.min() > 5050 / 10 - 100, "each decile carries about a tenth of the positives"


def test_no_training_positives_at_all():
    assert names(share_bands(np.zeros(3, int))) == ["zero-shot"] * 3


@pytest.mark.parametrize("cuts", [(0.5, 0.5), (0.0, 0.5), (0.9, 0.1), (0.5,)])
def test_bad_cut_points_are_refused(cuts):
    with pytest.raises(ConfigError, match="cut points"):
        share_bands(np.array([1, 2]), cuts=cuts)


def test_bad_absolute_cut_points_are_refused():
    with pytest.raises(ConfigError, match="tail < torso"):
        absolute_bands(np.array([1]), tail=5, torso=5)
    with pytest.raises(ConfigError, match="few-shot"):
        shot_bands(np.array([1]), few=0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_contributions_add_up_to_precision(seed, k):
    rng = np.random.default_rng(seed)
    n_documents, n_labels = rng.integers(1, 20), rng.integers(1, 30)
    frequencies = rng.integers(0, 80, size=n_labels) * rng.integers(0, 2, size=n_labels)
    ids = np.argsort(rng.random((n_documents, n_labels)), axis=1).astype(np.int32)
    truth = sparse.csr_array((rng.random((n_documents, n_labels)) < 0.3).astype(np.float32))
    placement = place(TopK(ids, np.zeros(ids.shape, np.float32)), truth)
    for make in (absolute_bands, share_bands, decile_bands, shot_bands):
        bands = make(frequencies)
        table = band_table(placement, bands, [k])
        assert sum(row[f"hits@{k}"] for row in table.values()) == placement.hits(k).sum()
        precision = 100 * placement.hits(k).sum() / (k * n_documents)
        assert sum(row[f"contribution@{k}"] for row in table.values()) == pytest.approx(precision, abs=1e-12)
        assert sum(row["test_positives"] for row in table.values()) == truth.nnz
        assert sum(row["labels"] for row in table.values()) == n_labels


def test_recall_of_a_band_is_counted_over_its_own_positives():
    # Label 0 is zero-shot and found in one of its two documents; label 1 is head and always found.
    truth = sparse.csr_array(np.array([[1, 1], [1, 0]], np.float32))
    topk = TopK(np.array([[1, 0], [1, 0]], np.int32), np.zeros((2, 2), np.float32))
    table = band_table(place(topk, truth), absolute_bands(np.array([0, 99])), [1, 2])
    assert table["zero-shot"] == {
        "labels": 1,
        "test_positives": 2,
        "hits@1": 0,
        "contribution@1": 0.0,
        "recall@1": 0.0,
        "hits@2": 2,
        "contribution@2": 50.0,
        "recall@2": 100.0,
    }
    assert table["head"]["recall@1"] == 100.0
    assert table["head"]["contribution@1"] == 50.0
    assert table["torso"] == dict.fromkeys(table["head"], 0)
