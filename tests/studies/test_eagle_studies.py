"""The experiments of the EAGLE paper show what the paper says they show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.groups import draw_random_groups
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import DataError
from xcwork.studies import eagle as study


def errors(frame, sigma: float) -> dict[str, float]:
    chosen = frame[frame["sigma_2"] == sigma]
    return dict(zip(chosen["estimator"], chosen["relative_error"], strict=True))


def test_assignment_helps_regression_in_mixed_groups_and_hardly_hurts_in_tight_ones():
    frame = study.simulate_regression((0.0, 0.1, 10.0), repeats=5, seed=3)
    assert list(frame.columns) == ["sigma_2", "estimator", "relative_error", "deviation"]
    same, tight, mixed = (errors(frame, sigma) for sigma in (0.0, 0.1, 10.0))
    assert same["AS"] == pytest.approx(1.0)
    assert same["NoAS"] == pytest.approx(1.0)
    assert 1.0 < tight["NoAS"] < tight["AS"] < 1.5
    # Theorem 1: without assignment the error grows towards √g times the oracle's.
    assert mixed["AS"] == pytest.approx(1.0, abs=0.05)
    assert mixed["NoAS"] == pytest.approx(np.sqrt(10), rel=0.3)


def test_assignment_helps_classification_in_mixed_groups():
    frame = study.simulate_classification((0.0,), repeats=6, seed=0)
    mixed = errors(frame, 0.0)
    assert 1.0 < mixed["AS"] < mixed["NoAS"]


def test_groups_of_one_leave_nothing_to_assign():
    for simulate in (study.simulate_regression, study.simulate_classification):
        frame = simulate((1.0,), n=300, group_size=1, repeats=2)
        np.testing.assert_allclose(frame["relative_error"], 1.0, rtol=1e-9)


def test_a_seed_gives_the_same_table():
    a, b, c = (study.simulate_regression((1.0,), repeats=2, seed=seed) for seed in (1, 1, 2))
    assert a.equals(b)
    assert not a.equals(c)


@pytest.fixture(scope="module")
def planted() -> Dataset:
    return make_synthetic(n_documents=900, n_labels=40, n_topics=5, unseen_share=0.0, seed=1)


def test_the_variants_are_ordered_as_in_the_paper(planted: Dataset):
    grouped = draw_random_groups(planted.train, 6, seed=0)
    frame = study.compare_variants(planted, grouped).set_index("method")
    assert list(frame.index) == ["oracle", "baseline", "EAGLE-0", "EAGLE", "EAGLE, centred"]
    p1 = frame["P@1"]
    assert p1["oracle"] >= p1["EAGLE"] > p1["baseline"]
    assert frame["assignment_precision"]["EAGLE"] > 2 * frame["assignment_precision"]["baseline"]
    assert frame["pairs"]["baseline"] > frame["pairs"]["oracle"] >= frame["pairs"]["EAGLE"]
    assert (frame[["preprocessing_seconds", "training_seconds"]] >= 0).all(axis=None)


@pytest.mark.slow
def test_precision_is_lost_with_the_size_of_the_groups(planted: Dataset):
    frame = study.measure_precision_loss(planted, sizes=(1, 8), depths=(10,), noises=(0.0,), depth=3)
    assert frame[["factor", "value"]].drop_duplicates().values.tolist() == [
        ["group size", 1],
        ["group size", 8],
        ["depth", 10],
        ["noise", 0.0],
    ]
    loss = frame.set_index(["factor", "value", "method"])["loss"]
    for method in study.USUAL_VARIANTS[1:]:
        assert loss["group size", 1, method] == pytest.approx(0.0, abs=1e-9)
        assert loss["depth", 10, method] == pytest.approx(0.0, abs=1e-9)  # by then every document is alone
        assert loss["group size", 8, method] > 0
    assert study.measure_precision_loss(planted).empty


def stripes(times: int = 100) -> Dataset:
    """Images of one bright row on a noisy ground; the label is the number of the row."""
    bright = np.kron(np.eye(4), np.ones(5))  # (4 labels, 4 * 5 pixels)
    noise = np.random.default_rng(0).uniform(0, 0.2, (4 * times, 20))
    X = sparse.csr_array((np.tile(bright, (times, 1)) + noise).astype(np.float32))
    Y = sparse.csr_array(np.tile(np.eye(4), (times, 1)).astype(np.float32))
    split = Split(X, Y, LabelSpace(list("0123")), Features(20, image_shape=(4, 5)))
    return Dataset("stripes", split, split)


def test_label_embeddings_of_images_show_the_label():
    found = study.make_label_images(stripes(), group_size=3)
    assert set(found) == {"truth", "0 steps", "20 steps"}
    for images in found.values():
        assert images.shape == (4, 4, 5)
        assert images.mean(axis=2).argmax(axis=1).tolist() == [0, 1, 2, 3]
    distance = {name: np.abs(images - found["truth"]).mean() for name, images in found.items()}
    assert distance["20 steps"] < distance["0 steps"]


def test_only_images_can_be_drawn(planted: Dataset):
    with pytest.raises(DataError, match="only embeddings of images can be drawn"):
        study.make_label_images(planted)
