"""Bands by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.core.bands import Bands, make_absolute_bands, make_decile_bands, make_share_bands, make_shot_bands
from xcwork.errors import ConfigError


def names(bands: Bands) -> list[str]:
    return bands.find_names(np.arange(len(bands.of_label))).tolist()


def test_absolute_cut_points():
    assert names(make_absolute_bands(np.array([0, 1, 5, 6, 50, 51]))) == [
        "zero-shot",
        "tail",
        "tail",
        "torso",
        "torso",
        "head",
    ]
    assert names(make_absolute_bands(np.array([0, 1, 2, 3, 4]), tail=1, torso=3)) == [
        "zero-shot",
        "tail",
        "torso",
        "torso",
        "head",
    ]


def test_shot_cut_points():
    assert names(make_shot_bands(np.array([0, 1, 3, 4]))) == ["zero-shot", "few-shot", "few-shot", "many-shot"]


def test_shares_of_training_positives():
    # 12 positives: the 6 alone passes the first third, the two labels of 2 start at 1/2, the rest at 5/6.
    assert names(make_share_bands(np.array([2, 6, 0, 1, 2, 1]))) == [
        "torso",
        "head",
        "zero-shot",
        "tail",
        "torso",
        "tail",
    ]


def test_labels_of_equal_frequency_share_a_band():
    assert names(make_share_bands(np.full(9, 4))) == ["head"] * 9


def test_deciles_go_from_frequent_to_rare():
    bands = make_decile_bands(np.array([*range(1, 101), 0]))
    assert bands.names[0] == "decile 1"
    assert np.all(np.diff(bands.of_label[:100]) <= 0)
    assert bands.of_label[99] == 0
    assert names(bands)[100] == "zero-shot"
    volume = np.bincount(bands.of_label[:100], weights=np.arange(1, 101), minlength=10)
    assert volume.min() > 5050 / 10 - 100, "each decile carries about a tenth of the positives"


def test_no_training_positives_at_all():
    assert names(make_share_bands(np.zeros(3, int))) == ["zero-shot"] * 3


@pytest.mark.parametrize("cuts", [(0.5, 0.5), (0.0, 0.5), (0.9, 0.1), (0.5,)])
def test_bad_cut_points_are_refused(cuts):
    with pytest.raises(ConfigError, match="cut points"):
        make_share_bands(np.array([1, 2]), cuts=cuts)


def test_bad_absolute_cut_points_are_refused():
    with pytest.raises(ConfigError, match="tail < torso"):
        make_absolute_bands(np.array([1]), tail=5, torso=5)
    with pytest.raises(ConfigError, match="few-shot"):
        make_shot_bands(np.array([1]), few=0)
