"""Beam search against a plain search that walks one document through one tree at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.kernels.tree_search import _leap_to_node, collect_path_weights
from xcwork.methods.label_tree.forest import Forest
from xcwork.methods.label_tree.packed_weights import NodeClassifiers
from xcwork.methods.label_tree.prediction import BeamSearch
from xcwork.methods.label_tree.shape import TreeShape

N_FEATURES, N_LABELS = 12, 20


def random_tree(rng: np.random.Generator) -> Forest:
    """Nodes of two or three branches, labels at different depths and beside nodes."""

    def split_level(level):
        return [
            labels.tolist() if len(labels) <= 4 else [int(labels[0]), *np.array_split(labels[1:], rng.integers(2, 4))]
            for labels in level
        ]

    shape = TreeShape.from_root(rng.permutation(N_LABELS - 1), split_level)  # the last label is in no tree
    classifiers = []
    for node in range(shape.n_nodes):
        width = len(shape.targets[shape.find_slots(node)])
        features = np.sort(rng.choice(N_FEATURES, rng.integers(0, N_FEATURES), replace=False)).astype(np.int32)
        weights = rng.standard_normal((len(features), width)) * (rng.random((len(features), width)) < 0.6)
        bias = rng.standard_normal(width).astype(np.float32) / 2
        classifiers.append(NodeClassifiers.from_weights(features, sparse.csr_array(weights.astype(np.float32)), bias))
    return Forest.from_tree(shape, classifiers, N_FEATURES)


def plain_search(tree: Forest, x: np.ndarray, beam: int, power: int) -> dict[int, float]:
    """The probability of every label that the search reaches."""
    cells = tree.decode_weights().tocoo()
    weights = np.zeros((N_FEATURES, tree.n_slots))
    weights[tree.features[cells.coords[0]], cells.coords[1]] = cells.data
    standing, found = [(0.0, 0)], {}
    while standing:
        below = []
        for score, node in standing:
            for slot in range(tree.first_slot[node], tree.first_slot[node + 1]):
                margin = tree.bias[slot] + x @ weights[:, slot]
                value = score - max(0.0, 1 - margin) ** power
                if tree.targets[slot] >= 0:
                    below.append((value, int(tree.targets[slot])))
                else:
                    found[int(~tree.targets[slot])] = np.exp(value)
        standing = sorted(below, key=lambda place: (-place[0], place[1]))[:beam]
    return found


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize(("beam", "power"), [(1, 2), (2, 2), (2, 3), (100, 2), (100, 1)])
def test_the_best_labels_are_those_of_the_plain_search(beam, power, n_trees):
    rng = np.random.default_rng(beam + n_trees)
    trees = [random_tree(rng) for _ in range(n_trees)]
    forest = Forest.from_trees(trees)
    forest.check(N_FEATURES, N_LABELS)
    X = rng.random((40, N_FEATURES)) * (rng.random((40, N_FEATURES)) < 0.5)
    X[3] = 0
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    best = BeamSearch(forest, N_LABELS, beam=beam, power=power).find_labels(sparse.csr_array(X), 6)
    for document in range(40):
        total = np.zeros(N_LABELS)
        met = set()
        for tree in trees:
            for label, value in plain_search(tree, X[document], beam, power).items():
                total[label] += value / n_trees
                met.add(label)
        expected = sorted(met, key=lambda label: (-total[label], label))[:6]
        found = best.get_row(document)
        assert len(found) == len(expected)
        np.testing.assert_allclose([score for _, score in found], total[expected], rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose([total[label] for label, _ in found], total[expected], rtol=1e-4, atol=1e-7)


def test_blocks_of_documents_do_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    searcher = BeamSearch(Forest.from_trees([random_tree(rng), random_tree(rng)]), N_LABELS, beam=2, power=2)
    X = sparse.random_array((50, N_FEATURES), density=0.4, rng=rng, dtype=np.float32).tocsr()
    whole = searcher.find_labels(X, 5)
    monkeypatch.setattr("xcwork.methods.label_tree.prediction.DOCUMENTS_PER_BLOCK", 7)
    parts = searcher.find_labels(X, 5)
    assert parts.ids.tobytes() == whole.ids.tobytes()
    assert parts.scores.tobytes() == whole.scores.tobytes()


@given(st.lists(st.integers(0, 60), unique=True).map(sorted), st.integers(0, 60), st.integers(0, 60))
def test_leaps_end_where_a_walk_step_by_step_would(nodes, node, start):
    nodes, start = np.array(nodes, np.int32), min(start, len(nodes))
    expected = next((row for row in range(start, len(nodes)) if nodes[row] >= node), len(nodes))
    assert _leap_to_node(nodes, start, len(nodes), node) == expected


def test_the_classifier_of_a_slot_is_found_again():
    """Weights are stored feature by feature, over all trees."""
    rng = np.random.default_rng(2)
    trees = [random_tree(rng) for _ in range(2)]
    forest = Forest.from_trees(trees)
    for tree, before in zip(trees, (0, trees[0].n_slots), strict=True):
        for slot in range(tree.n_slots):
            for part, expected in zip(forest.find_classifier(before + slot), tree.find_classifier(slot), strict=True):
                np.testing.assert_array_equal(part, expected)


def test_weights_along_a_path_are_those_of_its_classifiers():
    rng = np.random.default_rng(3)
    forest = Forest.from_trees([random_tree(rng) for _ in range(3)])
    terms = rng.permutation(N_FEATURES).astype(np.int32)
    for label in range(N_LABELS):
        for slot in np.flatnonzero(forest.targets == ~label).tolist():
            path = forest.find_path(slot)
            expected = np.zeros((len(path), N_FEATURES))
            for step, (features, weights) in enumerate(map(forest.find_classifier, path)):
                expected[step, features] = weights
            np.testing.assert_array_equal(collect_path_weights(forest.trees, np.array(path), terms), expected[:, terms])
