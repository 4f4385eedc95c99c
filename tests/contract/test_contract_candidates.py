"""What restricting the candidates (`predict(among=…)`) means for every method."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.support.brief_training import briefly
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.methods.base import Method

N_LABELS, N_SEEN, N_FEATURES = 1500, 1480, 250
SMALL = {  # networks that are as small as the question allows
    "deep_miml": {"epochs": 1, "min_steps": 0, "width": 8, "concepts": 2},
    "siamesexml": {"epochs": 1, "classifier_epochs": 1, "dimension": 16},
}


@functools.cache
def make_many_labels() -> Dataset:
    """Return documents made of the words of two labels each; 20 labels have no training document."""
    rng = np.random.default_rng(3)
    words = np.argsort(rng.random((N_LABELS, N_FEATURES)), axis=1)[:, :4]
    Z = np.zeros((N_LABELS, N_FEATURES), np.float32)
    np.put_along_axis(Z, words, 1.0, axis=1)
    features = Features(N_FEATURES, [f"t{i}" for i in range(N_FEATURES)])
    labels = LabelSpace([f"label {i}" for i in range(N_LABELS)], Z=sparse.csr_array(Z / 2), features=features)

    def make_split(first: np.ndarray) -> Split:
        carried = np.column_stack([first, rng.integers(N_SEEN, size=len(first))])
        Y = np.zeros((len(first), N_LABELS), np.float32)
        np.put_along_axis(Y, carried, 1.0, axis=1)
        return Split(sparse.csr_array(Y @ Z), sparse.csr_array(Y), labels, features)

    return Dataset("many labels", make_split(np.arange(N_SEEN)), make_split(rng.integers(N_SEEN, size=6)))


@functools.cache
def train_on_many_labels(name: str) -> Method:
    return briefly(name, **SMALL.get(name, {})).fit(make_many_labels().train)


def test_the_answer_is_the_full_ranking_without_the_other_labels(name: str) -> None:
    method, X = train_on_many_labels(name), make_many_labels().test.X
    full = method.predict(X, k=N_LABELS)
    anywhere = np.unique(np.random.default_rng(5).integers(N_LABELS, size=60))
    for document in range(X.shape[0]):
        ranking = full.get_row(document)
        last = [label for label, _ in ranking[-40:]]  # beyond the first thousand, where a method ranks so many
        for among, k in ((last, 5), (anywhere.tolist(), 60)):
            expected = [(label, score) for label, score in ranking if label in among][:k]
            found = method.predict(X[[document]], k=k, among=among).get_row(0)
            assert {label for label, _ in found} <= set(among)
            assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=1e-5, abs=1e-6)
            own = [dict(ranking)[label] for label, _ in found]  # equal scores may change places by rounding
            assert [score for _, score in found] == pytest.approx(own, rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_most_methods_rank_more_than_a_thousand_labels() -> None:
    """Otherwise the test above would look at nothing."""
    ranked = {
        name: train_on_many_labels(name).predict(make_many_labels().test.X, k=N_LABELS)
        for name in ("label_tree", "one_vs_all", "siamesexml")
    }
    assert all((found.ids >= 0).sum(axis=1).max() > 1000 for found in ranked.values())


@pytest.mark.parametrize(
    ("among", "label"), [([-1], -1), ([11], 11), ([0, 5, 99], 99), ([-11, 3], -11), ([2**40], 2**40)]
)
def test_a_label_that_does_not_exist_is_named(on_jumble, jumble, among, label):
    with pytest.raises(DataError, match=f"^there is no label {label}; ids go from 0 to 10$"):
        on_jumble.predict(jumble.test.X, k=3, among=among)


@pytest.mark.parametrize(
    "among", [[0.0, 1.0], ["label 1"], "label 1", 3, [True, 2], [[1, 2]], [[1], [2, 3]], {1, 2}, [None], [2**70]]
)
def test_what_is_not_a_list_of_ids_is_refused(on_jumble, jumble, among):
    with pytest.raises(ConfigError, match=r"^among must be a list of label ids \(whole numbers\) or a mask"):
        on_jumble.predict(jumble.test.X, k=3, among=among)


def test_a_mask_has_an_entry_per_label(on_jumble, jumble):
    with pytest.raises(ConfigError, match="a mask of candidates has one entry per label: 11, not 3"):
        on_jumble.predict(jumble.test.X, k=3, among=[True, False, True])


def test_order_repetition_and_form_of_the_candidates_do_not_matter(on_jumble, jumble, same):
    expected = on_jumble.predict(jumble.test.X, k=3, among=[1, 4, 8])
    mask = np.isin(np.arange(11), [1, 4, 8])
    for among in ([8, 1, 4, 1, 8], np.array([4, 8, 1], np.uint8), mask, mask.tolist(), pd.Series([8, 4, 1]), (1, 4, 8)):
        same(on_jumble.predict(jumble.test.X, k=3, among=among), expected)
