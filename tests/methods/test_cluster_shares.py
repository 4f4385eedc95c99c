"""What workers of a cluster are given where they never have all documents, and that they find the same with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import xcwork
from xcwork.compute import cluster
from xcwork.core.dataset import Dataset
from xcwork.data.synthetic import make_synthetic
from xcwork.methods.label_tree import clustering, training
from xcwork.methods.label_tree.shape import TreeShape, find_labels_below
from xcwork.methods.label_tree.shares import group_nodes
from xcwork.sparse import take_rows, to_rows


class NoWorkers:
    """Stands for a cluster of two threads: everything is computed here, and what would be sent is kept."""

    threads = 2

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def map_stream(
        self, work: Any, data: Any, items: Iterable[Any], phase: str, *, weigh: Any, max_weight: float
    ) -> Iterator[tuple[Any, Any]]:
        for item in items:
            self.sent.append(item)
            assert weigh(item) <= max_weight
            yield item, work(data, item)


@pytest.fixture(scope="module")
def topics() -> Dataset:
    return make_synthetic(n_documents=600, n_labels=160, n_topics=20, seed=4)


@pytest.mark.parametrize("kind", ["parabel", "bonsai"])
def test_shares_give_the_trees_of_one_process(kind: str, topics: Dataset) -> None:
    settings = {"kind": kind, "leaf_size": 4, "trees": 2}
    place = NoWorkers()
    token = cluster._current.set(place)  # type: ignore[arg-type]
    try:
        there = xcwork.create("label_tree", **settings).fit(topics.train).predict(topics.test, 8)
    finally:
        cluster._current.reset(token)
    here = xcwork.create("label_tree", **settings).fit(topics.train).predict(topics.test, 8)
    np.testing.assert_array_equal(here.ids, there.ids)
    np.testing.assert_allclose(here.scores, there.scores, rtol=1e-6)
    trees = [share for share in place.sent if isinstance(share, training.TreeShare)]
    splits = [share for share in place.sent if isinstance(share, clustering.ClusteringShare)]
    n_entries = [len(share.trainer.rows.data) for share in trees]
    assert len(trees) > 8
    assert max(n_entries) < 0.8 * topics.train.X.nnz  # the root alone needs all, and is trained in the first process
    assert np.median(n_entries) < 0.3 * topics.train.X.nnz
    assert len(splits) > 2


def test_blocks_of_labels_with_their_documents_alone_give_the_same_weights(
    topics: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xcwork.methods.common.pair_svm.MIN_LABELS_PER_BLOCK", 8)
    settings = {"shortlist": 5, "nearest_shortlist": 3, "own_shortlist": 5}
    place = NoWorkers()
    token = cluster._current.set(place)  # type: ignore[arg-type]
    try:
        there = xcwork.create("zestxml", **settings).fit(topics.train).predict(topics.test, 8)
    finally:
        cluster._current.reset(token)
    here = xcwork.create("zestxml", **settings).fit(topics.train).predict(topics.test, 8)
    np.testing.assert_array_equal(here.ids, there.ids)
    np.testing.assert_allclose(here.scores, there.scores, rtol=1e-6)
    assert len(place.sent) >= 8
    assert max(share.weight for share in place.sent) < 0.8


def halve(level: list[list[int]]) -> list[list[Any]]:
    """Split the labels of every node in two, or leave less than five together."""
    return [one if len(one) < 5 else [one[: len(one) // 2], one[len(one) // 2 :]] for one in level]


def test_groups_hold_every_node_but_the_root_once_and_are_small() -> None:
    shape = TreeShape.from_root(list(range(64)), halve)
    below = find_labels_below(shape.first_slot, shape.targets, range(shape.n_nodes))
    frequencies = np.arange(64)
    groups = group_nodes(shape, below, frequencies, n_shares=8)
    assert sorted(node for group in groups for node in group) == list(range(1, shape.n_nodes))
    sizes = [frequencies[below[group[0]]].sum() for group in groups]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size <= frequencies.sum() / 8 for group, size in zip(groups, sizes, strict=True) if len(group) > 1)
    assert max(map(len, groups)) > 1


def test_rows_are_taken_in_any_order(topics: Dataset) -> None:
    chosen = np.array([7, 0, 3, 3])
    found = take_rows(to_rows(topics.train.X), chosen)
    wanted = topics.train.X[chosen]
    np.testing.assert_array_equal(found.data, wanted.data)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
