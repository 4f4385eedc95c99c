"""Linear methods with tensors, on the CPU and on the emulated accelerator, against the compiled kernels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import xcwork
from tests.support.emulated_accelerator import emulate
from xcwork.compute import device
from xcwork.compute.device import compute_with_torch, find_tensor_device
from xcwork.core.dataset import Dataset
from xcwork.methods.base import Method
from xcwork.methods.common.one_vs_all_svm import SvmSettings

# Where both paths solve their problems well, they learn the same.
SETTINGS = {
    "one_vs_all": {"tolerance": 1e-4, "max_passes": 1000},
    "label_tree": {"tolerance": 1e-4, "max_passes": 1000, "leaf_size": 6, "trees": 2},
    "label_tree, bonsai": {
        "kind": "bonsai",
        "tolerance": 1e-4,
        "max_passes": 1000,
        "branching": 4,
        "leaf_size": 4,
        "trees": 1,
    },
    "zestxml": {"shortlister": "exact", "tolerance": 1e-6, "max_passes": 1000, "shortlist": 10},
    "zestxml, logistic": {"shortlister": "exact", "loss": "logistic", "tolerance": 1e-6, "max_passes": 1000},
    "zestxml, xhtp": {"variant": "xhtp", "shortlister": "exact"},
    "eagle": {"learner": "one_vs_all", "learner_params": "tolerance=1e-4, max_passes=1000"},
    "nearest_documents": {},
    "bm25": {},
    "tfidf": {},
}
K = 5


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return xcwork.load_dataset(
        "synthetic:n_documents=240,n_labels=60,n_topics=6,label_terms=4,topic_terms=10,common_terms=30,unseen_share=0.1"
    )


@pytest.fixture(scope="module")
def trained(corpus: Dataset) -> dict[str, Method]:
    """Every method, trained by compiled kernels; those of trees by the ones that look at all documents in the end."""
    with mock.patch("xcwork.methods.label_tree.training.MAX_SLOTS_ONE_BY_ONE", 0):
        return {title: make(title).fit(corpus.train) for title in SETTINGS}


def make(title: str, **more: str) -> Method:
    return xcwork.create(title.split(",")[0], **SETTINGS[title], **more)


def assert_alike(found: xcwork.TopK, expected: xcwork.TopK, tolerance: float) -> None:
    """Equal scores rank by rank; labels may only change places where scores are as good as equal."""
    np.testing.assert_array_equal(found.ids < 0, expected.ids < 0)
    present = expected.ids >= 0
    np.testing.assert_allclose(found.scores[present], expected.scores[present], atol=tolerance)
    assert (found.ids == expected.ids)[present].mean() > 0.98


@pytest.mark.parametrize("title", SETTINGS)
def test_tensors_learn_and_predict_what_kernels_do(title: str, corpus: Dataset, trained: dict[str, Method]) -> None:
    expected = trained[title].predict(corpus.test, K)
    limited = trained[title].predict(corpus.test, K, among=np.arange(0, 60, 2))
    with compute_with_torch():
        assert_alike(trained[title].predict(corpus.test, K), expected, 2e-6)
        assert_alike(trained[title].predict(corpus.test, K, among=np.arange(0, 60, 2)), limited, 2e-6)
        assert_alike(trained[title].predict(corpus.test.X[:1], K), expected_row(expected), 2e-6)
        assert_alike(make(title).fit(corpus.train).predict(corpus.test, K), expected, 2e-4)


def expected_row(best: xcwork.TopK) -> xcwork.TopK:
    return xcwork.TopK(best.ids[:1], best.scores[:1])


@pytest.mark.slow
@pytest.mark.parametrize("title", SETTINGS)
def test_on_an_accelerator_nothing_is_mixed_and_little_is_copied(
    title: str, corpus: Dataset, trained: dict[str, Method], tmp_path: Path
) -> None:
    expected = trained[title].predict(corpus.test, K)
    with emulate(float64=not title.startswith(("one", "label", "near", "bm25", "tfidf"))) as traffic:
        method = make(title, device="emu").fit(corpus.train)
        before = traffic.copy()
        found = method.predict(corpus.test, K)
        first = traffic.subtract(before)
        before = traffic.copy()
        method.predict(corpus.test, K)
        second = traffic.subtract(before)
        assert_alike(found, expected, 2e-4)
        assert traffic.kernels > 0
        # The model stays on the device: a second prediction sends its documents alone, and fetches ids and scores.
        assert second.to_device < first.to_device
        assert second.to_device <= 8
        method.set_params(device="cpu").save(tmp_path / "model")
    loaded = xcwork.load_method(tmp_path / "model")
    assert_alike(loaded.predict(corpus.test, K), found, 2e-6)
    with emulate():
        assert_alike(loaded.set_params(device="emu").predict(corpus.test, K), found, 2e-6)


def test_documents_go_to_the_device_once_however_many_blocks_of_labels_there_are(
    corpus: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.kernels.machine_sizes.MAX_LABELS_PER_BLOCK", 10)
    with emulate() as traffic:
        make("one_vs_all", device="emu").fit(corpus.train)
    n_blocks = -(-np.count_nonzero(corpus.train.label_frequencies) // 10)
    assert traffic.to_device == 2 + n_blocks  # two matrices; then the labels of each block


def test_kernels_are_the_default_and_torch_is_not_even_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_may_have_accelerator", lambda: False)
    monkeypatch.setattr(device, "resolve_device", lambda name: pytest.fail("torch was asked"))
    assert find_tensor_device("auto") is None
    assert find_tensor_device("cpu") is None


def test_landmarks_learn_by_tensors(corpus: Dataset) -> None:
    params = {"predictor": "svm", "landmarks": 10, "selection": "most_frequent"}
    exact = partial(SvmSettings, tolerance=1e-4, max_passes=2000)  # by default the kernels stop earlier
    with mock.patch("xcwork.methods.landmarks.predictors.SvmSettings", exact):
        expected = xcwork.create("landmarks", **params).fit(corpus.train)
        with compute_with_torch():
            found = xcwork.create("landmarks", **params).fit(corpus.train)
    np.testing.assert_allclose(found.model_.r2, expected.model_.r2, atol=1e-3)
