"""The shapes of label trees: clustered ones, and those that the dataset gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.methods.label_tree import LabelTree
from xcwork.methods.label_tree.clustering import LabelClustering
from xcwork.methods.label_tree.hierarchy import read_given_tree
from xcwork.methods.label_tree.shape import TreeShape, find_labels_below
from xcwork.sparse import Rows


def clustering(n_labels: int = 64, **options) -> LabelClustering:
    """Labels whose centroids lie at four corners, sixteen at each."""
    rng = np.random.default_rng(0)
    V = np.repeat(np.eye(4, dtype=np.float32), n_labels // 4, axis=0) + rng.random((n_labels, 4), np.float32) / 20
    csr = sparse.csr_array(V / np.linalg.norm(V, axis=1, keepdims=True))
    rows = Rows(csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))
    usual = {"centroids": rows, "n_features": 4, "branching": 2, "balanced": True, "leaf_size": 4, "max_depth": 100}
    return LabelClustering(**usual | options)


def sizes(shape: TreeShape) -> list[int]:
    below = find_labels_below(shape.first_slot, shape.targets, range(shape.n_nodes))
    return [len(below[node]) for node in range(shape.n_nodes)]


def nested(shape: TreeShape, node: int = 0) -> list:
    return [~t if t < 0 else nested(shape, t) for t in shape.targets[shape.find_slots(node)].tolist()]


def grown(**options) -> TreeShape:
    return clustering(**options).grow_tree(np.arange(64, dtype=np.int32), (0, 0), "growing")


def test_halves_of_halves():
    assert sizes(grown()) == [64, 32, 32, *[16] * 4, *[8] * 8, *[4] * 16]


def test_wider_branches_skip_levels():
    assert sizes(grown(branching=4)) == [64, *[16] * 4, *[4] * 16]


def test_fewer_labels_than_branches_are_split_into_single_ones():
    shape = clustering(branching=8, leaf_size=1).grow_tree(np.arange(11, dtype=np.int32), (0, 0), "growing")
    assert sizes(shape)[0] == 11
    assert sorted(~shape.targets[shape.targets < 0]) == list(range(11))


def test_the_greatest_depth_ends_it():
    assert sizes(grown(max_depth=1)) == [64, 32, 32]
    assert sizes(grown(max_depth=0)) == [64]


def test_every_label_is_in_the_tree_once():
    for shape in (grown(), grown(balanced=False, branching=3)):
        assert sorted(~shape.targets[shape.targets < 0]) == list(range(64))
        assert sorted(shape.targets[shape.targets >= 0]) == list(range(1, shape.n_nodes))


def test_clusters_as_they_come_keep_corners_together():
    shape = grown(balanced=False, branching=4, leaf_size=16)
    parts = [{label // 16 for label in part} for part in nested(shape)]
    assert len(parts) > 1
    for corner in range(4):  # sixteen labels that are nearly the same are never torn between two others' clusters
        assert sum(corner in part and len(part) > 1 for part in parts) <= 1


def test_labels_that_cannot_be_told_apart_stay_together():
    same = sparse.csr_array(np.ones((30, 4), np.float32) / 2)
    rows = Rows(same.data, same.indices.astype(np.int32), same.indptr.astype(np.int64))
    shape = clustering(centroids=rows, balanced=False).grow_tree(np.arange(30, dtype=np.int32), (0, 0), "growing")
    assert sizes(shape) == [30]


def tree_of(parents: dict[str, list[str]], trained: list[str] | None = None) -> list:
    labels = LabelSpace(list(parents), uids=list(parents), parents=list(parents.values()))
    chosen = list(parents) if trained is None else trained
    shape = read_given_tree(labels, np.array([labels.find_id(name) for name in chosen]))

    def named(slots: list) -> list:
        return [named(slot) if isinstance(slot, list) else labels.names[slot] for slot in slots]

    return named(nested(shape))


def test_a_given_hierarchy_becomes_the_tree():
    parents = {"art": [], "music": ["art"], "film": ["art", "media"], "jazz": ["music"], "soul": ["music"], "law": []}
    assert tree_of(parents) == [["art", ["music", "jazz", "soul"], "film"], "law"]


def test_untrained_labels_are_left_out_but_still_group_others():
    parents = {"art": [], "music": ["art"], "jazz": ["music"], "soul": ["music"], "law": []}
    assert tree_of(parents, ["jazz", "soul", "law"]) == [["jazz", "soul"], "law"]
    assert tree_of(parents, ["jazz", "law"]) == ["jazz", "law"]
    assert tree_of(parents, ["soul"]) == ["soul"]
    assert tree_of(parents, ["jazz", "soul"]) == ["jazz", "soul"]


def test_groups_that_are_no_labels_themselves():
    assert tree_of({"a": ["x"], "b": ["x"], "c": ["y"], "d": []}) == [["a", "b"], "c", "d"]


def test_a_circle_is_cut():
    found = tree_of({"a": ["c"], "b": ["a"], "c": ["b"], "d": ["d"]})

    def flat(slots):
        return [name for slot in slots for name in (flat(slot) if isinstance(slot, list) else [slot])]

    assert sorted(flat(found)) == ["a", "b", "c", "d"]


def with_hierarchy() -> Split:
    """Sixteen labels in four families; a document names its label and its family."""
    names = [f"f{i // 4}-{i}" for i in range(16)] + [f"family {i}" for i in range(4)]
    X, Y = np.zeros((160, 20), np.float32), np.zeros((160, 20), np.float32)
    for document in range(160):
        label = document % 16
        X[document, [label, 16 + label // 4]] = 1
        Y[document, label] = 1
    parents = [[f"u{16 + i // 4}"] for i in range(16)] + [[] for _ in range(4)]
    labels = LabelSpace(names, uids=[f"u{i}" for i in range(20)], parents=parents)
    return Split(sparse.csr_array(X), sparse.csr_array(Y), labels, Features(20))


def test_the_given_kind_learns_and_has_one_tree():
    split = with_hierarchy()
    model = LabelTree(kind="given").fit(split)
    frame = model.tabulate_tree()
    assert frame.labels.tolist() == [16, 4, 4, 4, 4]
    assert model.predict(split, k=1).ids[:, 0].tolist() == [i % 16 for i in range(160)]
    assert {part.label_term for part in model.explain(split.X[[0]], 0)} >= {
        "tree 1, step 1 of 2",
        "tree 1, step 2 of 2",
    }


def test_without_parents_the_given_kind_says_what_to_do():
    split = with_hierarchy()
    bare = replace(split, labels=replace(split.labels, parents=None))
    with pytest.raises(DataError, match=r"no parents to make a tree of.*kind=parabel"):
        LabelTree(kind="given").fit(bare)
