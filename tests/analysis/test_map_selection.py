"""Facts about a selection of the label map, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.analysis import map_colours
from xcwork.analysis.map_selection import Confusion, MapFacts, compute_wilson_interval, list_weakest_regions
from xcwork.core.bands import make_absolute_bands
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.layout.label_layout import LabelLayout
from xcwork.layout.regions import LabelRegion, LabelRegions


def make_facts(truth: np.ndarray, ids: np.ndarray, k: int) -> MapFacts:
    n_labels = truth.shape[1]
    labels = LabelSpace([f"label {i}" for i in range(n_labels)])
    X = sparse.csr_array((len(truth), 1), dtype=np.float32)
    train = Split(X, sparse.csr_array(np.ones_like(truth, np.float32)), labels, Features(1))
    test = Split(X, sparse.csr_array(truth.astype(np.float32)), labels, Features(1))
    scores = np.tile(-np.arange(ids.shape[1], dtype=np.float32), (len(ids), 1))
    return MapFacts.from_predictions(TopK(ids.astype(np.int32), scores), Dataset("toy", train, test), k=k)


@pytest.fixture
def facts():
    #                  labels 0  1  2  3
    truth = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    ids = np.array([[0, 3, 1], [3, 2, 0], [1, 0, 2]])
    return make_facts(truth, ids, k=1)


def test_a_selection_is_counted_as_by_hand(facts):
    found = facts.describe_selection(np.array([1, 0, 1]))
    assert (found.n_labels, found.n_found, found.n_true, found.n_missing_documents) == (2, 2, 4, 2)
    assert found.share == 0.5
    assert found.average == pytest.approx(2 / 5)
    assert [(each.name, each.found, each.total) for each in found.most_missed] == [("label 0", 1, 2), ("label 1", 1, 2)]
    assert [(each.document, each.n_missed) for each in found.documents] == [(0, 1), (1, 1)]
    assert found.confusions == (Confusion(0, 3, 1),)
    assert found.why == "Both misses are ranked 3."


def test_the_sentence_says_where_misses_stand_and_that_there_is_no_room(facts):
    assert facts.describe_selection(np.array([2])).why == (
        "The miss is not among the first 3. Its document has 3 labels; only 1 are listed."
    )
    assert facts.describe_selection(np.array([3])).why == ""
    everything = facts.describe_selection(np.arange(4))
    assert everything.why == "2 of 3 misses are ranked 3, 1 are not listed."


def test_a_selection_of_labels_that_are_not_there_is_refused(facts):
    for wrong in ([4], [0, -1]):
        with pytest.raises(DataError, match="ids go from 0 to 3"):
            facts.describe_selection(np.array(wrong))
    assert facts.describe_selection(np.array([], int)).n_labels == 0


@given(st.integers(0, 10_000))
def test_counts_agree_with_loops(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random((7, 6)) < 0.4
    ids = np.array([rng.permutation(6)[:4] for _ in range(7)])
    facts = make_facts(truth, ids, k=2)
    chosen = set(np.flatnonzero(rng.random(6) < 0.5).tolist())
    found = facts.describe_selection(np.array(sorted(chosen), int))
    pairs = [(d, label) for d in range(7) for label in chosen if truth[d, label]]
    missed = [(d, label) for d, label in pairs if label not in ids[d, :2]]
    assert (found.n_true, found.n_found) == (len(pairs), len(pairs) - len(missed))
    assert sum(each.n_missed for each in found.documents) == len(missed)
    wrong = [(label, other) for d, label in missed for other in ids[d, :2].tolist() if not truth[d, other]]
    assert {(c.label, c.other): c.n_documents for c in found.confusions} == {pair: wrong.count(pair) for pair in wrong}


def test_a_region_with_two_documents_is_never_the_weakest():
    n = 40
    truth = np.eye(n, dtype=int)
    ids = np.full((n, 1), n - 1)
    ids[10:, 0] = np.arange(10, n)
    ids[15:35, 0] = 0
    facts = make_facts(truth, ids, k=1)
    layout = LabelLayout(np.arange(n), np.zeros((n, 2), np.float32), "pca", n, n, "toy")
    of_label = np.array([[0] * 2 + [1] * 13 + [2] * 20 + [3] * 5], np.int32)
    regions = LabelRegions(tuple(LabelRegion(0, str(i), 0, 0, 1) for i in range(4)), of_label)
    scores = facts.rate_regions(regions, layout)
    assert [(each.n_found, each.n_true) for each in scores] == [(0, 2), (5, 13), (0, 20), (5, 5)]
    assert [each.region for each in list_weakest_regions(scores)] == [2]


@given(st.integers(0, 50), st.integers(0, 50))
def test_intervals_hold_their_share(found, more):
    low, high = compute_wilson_interval(found, found + more)
    assert 0 <= low <= (found / (found + more) if found + more else 0.5) + 1e-9
    assert high <= 1
    assert high >= (found / (found + more) if found + more else 0.5) - 1e-9


def test_colours_say_what_the_counts_say(facts):
    ids = np.array([0, 1, 2, 3])
    found = map_colours.colour_by_found(facts, ids)
    assert [found.names[code] for code in found.codes] == ["up to half", "up to half", "never", "not in the test split"]
    assert map_colours.colour_by_recall(facts, ids).values.tolist()[:3] == [0.5, 0.5, 0.0]
    precision = map_colours.colour_by_precision(facts, ids).values
    assert precision[[0, 1, 3]].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(precision[2])
    lit = map_colours.colour_by_probability(np.array([3, 1, 9]), np.array([0.2, 0.9, 0.5]), ids).values
    assert lit[[1, 3]].tolist() == pytest.approx([0.9, 0.2])
    assert np.isnan(lit[[0, 2]]).all()
    same = map_colours.colour_by_difference(facts, facts, ids).values
    assert same[:3].tolist() == [0.5, 0.5, 0.5]
    bands = make_absolute_bands(np.array([100, 10, 1, 0]))
    assert map_colours.colour_by_band(bands, ids).codes.tolist() == [0, 1, 2, 3]
    assert map_colours.colour_by_parent(LabelSpace(list("abcd")), ids) is None
    nested = LabelSpace(list("abcd"), uids=list("wxyz"), parents=[["z"], ["z"], ["w"], []])
    parent = map_colours.colour_by_parent(nested, ids)
    assert parent is not None
    assert [parent.names[code] for code in parent.codes] == ["d", "d", "a", "other or none"]
