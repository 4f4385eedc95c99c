"""Every method gives probabilities once it is calibrated, and none before."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import xcwork
from tests.support.planted_scores import draw_frequencies, draw_sample
from xcwork.core.topk import MISSING
from xcwork.decisions.fitting import fit_calibration
from xcwork.errors import ConfigError


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration([draw_sample(300, 0)[0]], way="refit", label_frequencies=draw_frequencies())


@pytest.fixture
def calibrated(on_checkerboard, calibration):
    model = copy.copy(on_checkerboard)
    model.set_calibration(calibration)
    return model


def test_a_model_without_a_calibration_says_how_to_get_one(on_checkerboard, checkerboard):
    assert on_checkerboard.calibration_ is None
    with pytest.raises(ConfigError, match="train again or run `xcwork calibrate RUN DATA`"):
        on_checkerboard.predict(checkerboard.test, proba=True)


def test_probabilities_change_no_ranking_and_fall(on_checkerboard, calibrated, checkerboard, same):
    plain, known = (
        on_checkerboard.predict(checkerboard.test, k=4),
        calibrated.predict(checkerboard.test, k=4, proba=True),
    )
    same(plain, known)
    assert plain.probabilities is None
    p = known.probabilities
    assert (p.dtype, p.shape) == (np.float32, known.ids.shape)
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p, axis=1) <= 0).all()
    assert (p[known.ids == MISSING] == 0).all()
    assert [set(each) for each in known.to_records(0)] == [{"label", "score", "probability"}] * len(known.get_row(0))
    assert on_checkerboard.calibration_ is None


def test_a_limit_of_candidates_changes_no_probability(calibrated, checkerboard):
    k = len(checkerboard.labels)
    whole = calibrated.predict(checkerboard.test, k, proba=True)
    limited = calibrated.predict(checkerboard.test, k, among=[0, 2], proba=True)
    np.testing.assert_allclose(
        limited.head(2).probabilities, whole.keep_labels([0, 2]).head(2).probabilities, atol=1e-6
    )


def test_a_calibration_is_saved_with_the_model(calibrated, checkerboard, tmp_path):
    calibrated.save(tmp_path / "model")
    loaded = xcwork.load_method(tmp_path / "model")
    a, b = (model.predict(checkerboard.test, k=3, proba=True).probabilities for model in (calibrated, loaded))
    assert a.tobytes() == b.tobytes()


def test_a_damaged_calibration_gives_a_model_without_one(calibrated, checkerboard, tmp_path):
    calibrated.save(tmp_path / "model")
    (tmp_path / "model" / "calibration" / "state.json").write_text("{}")
    loaded = xcwork.load_method(tmp_path / "model")
    assert loaded.calibration_ is None
    assert len(loaded.predict(checkerboard.test, k=3)) == len(checkerboard.test)


def test_added_labels_get_the_curve_of_labels_never_seen(calibrated, calibration, checkerboard):
    if not calibrated.capabilities.zero_shot:
        pytest.skip("cannot add labels")
    added = calibrated.add_labels([checkerboard.test.texts[0]])
    found = calibrated.predict(checkerboard.test.texts[0], k=calibrated.labels_.__len__(), proba=True)
    assert calibrated.calibration_ is calibration
    assert calibrated.label_frequencies_[added].tolist() == [0]
    expected = calibration.apply(found, calibrated.label_frequencies_).probabilities
    np.testing.assert_array_equal(found.probabilities, expected)
