"""Regions: planted clusters are found, named by their planted words, and no name occurs twice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.layout.label_layout import LabelLayout
from xcwork.layout.region_names import SEPARATOR, find_path_roots, join_phrases, name_regions, split_words
from xcwork.layout.regions import LabelRegions, find_regions

TOPICS = ("spline bivariate", "fourier transform", "graph node", "series window")
PER_TOPIC = 60


def make_scene(names: list[str]) -> tuple[LabelLayout, Dataset]:
    """Make four planted clusters, and ten labels far from all of them."""
    rng = np.random.default_rng(0)
    n = len(TOPICS) * PER_TOPIC
    centres = np.array([[-0.6, -0.6], [0.6, -0.6], [-0.6, 0.6], [0.6, 0.6]])
    inside = centres[np.arange(n) % 4] + rng.normal(scale=0.05, size=(n, 2))
    outside = np.column_stack([np.linspace(-0.95, 0.95, 10), np.zeros(10)])
    positions = np.vstack([inside, outside]).astype(np.float32)
    labels = LabelSpace(names)
    split = Split(sparse.csr_array((1, 1), dtype=np.float32), sparse.csr_array((1, n + 10)), labels, Features(1))
    return LabelLayout(np.arange(n + 10), positions, "umap", n + 10, n + 10, "toy"), Dataset("toy", split, split)


@pytest.fixture
def scene():
    planted = [f"numpy.common.{TOPICS[i % 4].replace(' ', '_')}{i}" for i in range(4 * PER_TOPIC)]
    return make_scene([*planted, *[f"scipy.common.far{i}" for i in range(10)]])


def test_planted_clusters_are_found_and_named_by_their_words(scene):
    layout, dataset = scene
    found = find_regions(layout, dataset)
    top = [index for index, region in enumerate(found.regions) if region.level == 0]
    topics = set()
    for index in top:
        labels = found.find_labels(index, layout)
        topic = np.bincount(labels % 4).argmax()
        assert (labels % 4 == topic).mean() == 1
        assert set(found.regions[index].name.split(SEPARATOR)) == set(TOPICS[topic].split())
        topics.add(int(topic))
    assert topics == {0, 1, 2, 3}
    assert (found.of_label[0, 4 * PER_TOPIC :] == -1).sum() >= 8


def test_no_name_occurs_twice_nor_says_what_all_say(scene):
    layout, dataset = scene
    names = [frozenset(region.name.split(SEPARATOR)) for region in find_regions(layout, dataset).regions]
    assert len(set(names)) == len(names)
    assert not {"numpy", "scipy", "common"} & set().union(*names)


def test_a_part_of_a_region_never_has_the_name_of_another():
    """The address knows a region by its name alone."""
    of_label = np.array([[0] * 20 + [1] * 20, [-1] * 20 + [2] * 10 + [3] * 10])
    names = ["spline bivariate"] * 20 + ["graph node"] * 10 + ["spline bivariate"] * 10
    dataset = make_scene(names + ["far"] * (4 * PER_TOPIC - 30))[1]
    found = name_regions(of_label, [-1, -1, 1, 1], np.arange(40), dataset)
    assert found[0] == "bivariate · spline"
    assert len({frozenset(name.split(SEPARATOR)) for name in found}) == 4


def test_the_parts_of_a_phrase_are_one():
    features = Features(3, names=["element", "wise", "element wise"])
    labels = LabelSpace(
        [f"f{at}" for at in range(4)], Z=sparse.csr_array(np.ones((4, 3), np.float32)), features=features
    )
    assert join_phrases(["wise", "element", "sum"], np.arange(4), labels) == ["element wise", "sum"]


def test_labels_that_share_no_word_are_named_by_the_most_frequent_ones():
    layout, dataset = make_scene([str(number) for number in range(4 * PER_TOPIC + 10)])
    found = find_regions(layout, dataset)
    assert all(region.name for region in found.regions)
    for level in range(found.n_levels):
        names = [region.name for region in found.regions if region.level == level]
        assert len(set(names)) == len(names)


def test_terms_of_many_documents_name_no_region():
    layout, dataset = make_scene([str(number) for number in range(4 * PER_TOPIC + 10)])
    terms = ["planet orbit", "engine wheel", "poem verse", "tax budget", "wird nicht"]
    words = [word for pair in terms for word in pair.split()]
    n_labels, n_others = layout.n_labels, 2_000
    rows = np.arange(n_labels)
    X = np.zeros((n_labels + n_others, len(words)), np.float32)
    X[rows, 2 * (rows % 4)] = X[rows, 2 * (rows % 4) + 1] = 1
    X[rows[rows % 4 == 0], -2:] = 1  # the first cluster says it, and so do many other documents
    X[n_labels : n_labels + n_others // 2, -2:] = 1
    Y = sparse.vstack([sparse.eye_array(n_labels, dtype=np.float32), sparse.csr_array((n_others, n_labels))])
    train = Split(
        sparse.csr_array(X), sparse.csr_array(Y, dtype=np.float32), dataset.labels, Features(len(words), words)
    )
    found = find_regions(layout, Dataset("toy", train, dataset.test))
    named = {tuple(sorted(region.name.split(SEPARATOR))) for region in found.regions if region.level == 0}
    assert named == {tuple(sorted(pair.split())) for pair in terms[:4]}


def test_regions_lie_inside_of_those_above(scene):
    layout, dataset = scene
    found = find_regions(layout, dataset)
    for index, region in enumerate(found.regions):
        labels = found.find_labels(index, layout)
        assert len(labels) == region.n_labels
        if region.parent >= 0:
            assert found.regions[region.parent].level == region.level - 1
            assert set(labels) <= set(found.find_labels(region.parent, layout))


def test_stored_regions_are_the_same_and_damage_is_an_error(scene):
    layout, dataset = scene
    found = find_regions(layout, dataset)
    state = found.to_state()
    again = LabelRegions.from_state(state, len(layout.ids))
    assert again.regions == found.regions
    assert np.array_equal(again.of_label, found.of_label)
    with pytest.raises(DataError, match="do not fit its labels"):
        LabelRegions.from_state(state, 7)
    with pytest.raises(DataError, match="not there"):
        LabelRegions.from_state(state | {"of_label": found.of_label + 999}, len(layout.ids))
    with pytest.raises(DataError, match="no region 999"):
        found.find_labels(999, layout)


def test_few_labels_have_no_regions():
    layout = LabelLayout(np.arange(5), np.zeros((5, 2), np.float32), "pca", 5, 5, "toy")
    labels = LabelSpace(list("abcde"))
    split = Split(sparse.csr_array((1, 1), dtype=np.float32), sparse.csr_array((1, 5)), labels, Features(1))
    assert find_regions(layout, Dataset("toy", split, split)).regions == ()


def test_words_and_path_roots():
    assert split_words("scipy.interpolate.BivariateSpline_2d") == {"scipy", "interpolate", "bivariate", "spline"}
    paths = LabelSpace(["numpy.linalg.qr", "scipy.fft.fft", "plain"])
    assert find_path_roots(paths, np.arange(3)) == {"numpy", "scipy"}
    assert find_path_roots(LabelSpace(["e.g. this", "St. Gallen", "a"]), np.arange(3)) == set()
