"""Layers of a method on the label map, against loops over its labels."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from tests.support.brief_training import BRIEF
from xcwork.analysis import map_structures
from xcwork.analysis.head_grid import place_in_grid
from xcwork.analysis.map_structures import (
    colour_by_structure,
    find_hull,
    find_landmark_edges,
    find_structure_layers,
    find_tree_hulls,
    find_tree_levels,
    place_in_head_grid,
)
from xcwork.analysis.tree_levels import NO_NODE, find_nodes_by_level
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.layout.label_layout import LabelLayout
from xcwork.methods import registry
from xcwork.methods.label_tree.shape import find_labels_below


def make_layout(ids: np.ndarray, n_labels: int, seed: int = 0) -> LabelLayout:
    positions = np.random.default_rng(seed).uniform(-1, 1, (len(ids), 2)).astype(np.float32)
    return LabelLayout(ids, positions, "umap", n_labels, len(ids), "toy")


@pytest.fixture(scope="module")
def split():
    """Make 40 labels, each with three documents of random terms."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((120, 30)) * (rng.random((120, 30)) < 0.3)).astype(np.float32))
    Y = sparse.csr_array(np.tile(np.eye(40, dtype=np.float32), (3, 1)))
    return Split(X, Y, LabelSpace([f"label {i}" for i in range(40)]), Features(30))


@pytest.fixture(scope="module")
def tree(split):
    return registry.create("label_tree", branching=2, leaf_size=3, trees=2).fit(split)


@pytest.mark.parametrize("number", [0, 1])
def test_the_node_of_a_label_at_each_level(tree, number):
    forest, n_labels = tree.model_.forest, tree.model_.n_labels
    nodes = forest.list_nodes(number)
    below = find_labels_below(forest.first_slot, forest.targets, nodes)
    found = find_nodes_by_level(forest, n_labels, 3, tree=number)
    expected = np.full((3, n_labels), NO_NODE)
    for node in nodes:
        depth, way = 0, forest.find_slot_into(node)
        while way is not None:
            depth, way = depth + 1, forest.find_slot_into(forest.find_node(way))
        if 1 <= depth <= 3:
            expected[depth - 1, below[node]] = node
    assert (expected[1] >= 0).any()
    assert np.array_equal(found, expected)


def is_inside(points: np.ndarray, hull: np.ndarray) -> np.ndarray:
    """Return which points lie left of all sides of a counter-clockwise polygon, or on them."""
    sides = np.roll(hull, -1, axis=0) - hull
    to_points = points[:, None] - hull
    return (sides[:, 0] * to_points[..., 1] - sides[:, 1] * to_points[..., 0] >= -1e-6).all(axis=1)


def test_levels_are_those_with_enough_nodes(tree, split):
    forest, n_labels = tree.model_.forest, tree.model_.n_labels
    every = find_nodes_by_level(forest, n_labels, 16)
    counts = [len(np.unique(level[level >= 0])) for level in every]
    shown = find_tree_levels(tree.model_)
    shown_counts = [len(np.unique(level[level >= 0])) for level in shown]
    assert shown_counts[0] == next(count for count in counts if count >= 6)
    assert all(3 * one <= other for one, other in itertools.pairwise(shown_counts))
    assert len(shown) <= 3
    small = registry.create("label_tree", branching=2, leaf_size=20, trees=1).fit(split)
    assert len(find_tree_levels(small.model_)) == 1, "a tree with few nodes has its widest level"


def test_hulls_lie_where_a_node_is_at_home_and_are_nested(tree, monkeypatch):
    monkeypatch.setattr(map_structures, "MIN_OUTER_NODES", 2)
    monkeypatch.setattr(map_structures, "LEVEL_GROWTH", 2)
    model = tree.model_
    levels = find_tree_levels(model)
    assert len(levels) == 3
    # Every outermost node has a corner of its own, every node inside it a part of that corner, and one label is astray.
    rng = np.random.default_rng(0)
    outer = np.unique(levels[0], return_inverse=True)[1]
    inner = np.unique(levels[1], return_inverse=True)[1]
    corners = np.column_stack([outer * 1.4 - 0.7, (inner % 2) * 0.3]) + rng.uniform(-0.12, 0.12, (model.n_labels, 2))
    astray = int(np.flatnonzero(outer == 0)[0])
    corners[astray] = (0.7, 0.1)
    layout = replace(make_layout(np.arange(model.n_labels), model.n_labels), positions=corners.astype(np.float32))
    hulls = find_tree_hulls(model, layout)
    assert {hull.level for hull in hulls} >= {0, 1}
    colours = colour_by_structure(tree, layout.ids)
    for hull in hulls:
        members = np.flatnonzero(levels[hull.level] == hull.node)
        assert {tuple(point) for point in hull.points} <= {tuple(point) for point in layout.positions[members]}
        assert not is_inside(layout.positions[[astray]], hull.points)[0] or outer[members[0]] == 1
        assert set(colours.codes[members].tolist()) == {hull.family}, "a hull has the colour of its labels"
        if hull.level:
            above = {int(levels[hull.level - 1][label]) for label in members.tolist()}
            around = [other for other in hulls if other.level == hull.level - 1 and other.node in above]
            assert any(is_inside(hull.points, other.points).all() for other in around)
    outermost = [hull for hull in hulls if hull.level == 0]
    for hull in outermost:
        at_home = [label for label in np.flatnonzero(levels[0] == hull.node).tolist() if label != astray]
        assert is_inside(layout.positions[at_home], hull.points).all()
    assert sorted(hull.name for hull in outermost) == sorted(set(colours.names) - {"other or none"})
    monkeypatch.setattr(map_structures, "MAX_HULLS_PER_LEVEL", 1)
    assert len({hull.node for hull in find_tree_hulls(model, layout) if hull.level == 0}) == 1


def test_a_node_in_two_places_has_two_hulls_and_one_name(tree, monkeypatch):
    monkeypatch.setattr(map_structures, "MIN_OUTER_NODES", 2)
    model = tree.model_
    outer = np.unique(find_tree_levels(model)[0], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    middles = np.array([[-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]])
    place = np.where(outer == 1, 2, np.arange(model.n_labels) % 2)
    positions = (middles[place] + rng.uniform(-0.1, 0.1, (model.n_labels, 2))).astype(np.float32)
    layout = replace(make_layout(np.arange(model.n_labels), model.n_labels), positions=positions)
    hulls = [hull for hull in find_tree_hulls(model, layout) if hull.level == 0]
    assert [sum(hull.family == family for hull in hulls) for family in (0, 1)] in ([2, 1], [1, 2])
    assert sum(bool(hull.name) for hull in hulls) == 2


def test_labels_without_a_place_and_places_without_area_have_no_hull(tree):
    n_labels = tree.model_.n_labels
    assert find_tree_hulls(tree.model_, make_layout(np.empty(0, np.int64), n_labels)) == ()
    line = np.column_stack([np.arange(5), np.arange(5)]).astype(np.float32)
    assert find_hull(line).shape == find_hull(line[:2]).shape == (0, 2)
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]], np.float32)
    assert sorted(map(tuple, find_hull(square).tolist())) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_edges_are_the_strongest_of_each_landmark(monkeypatch):
    monkeypatch.setattr(map_structures, "EDGES_PER_LANDMARK", 2)
    combinations = np.array([[0, 1, 0.5, -0.8, 0.1, 0.9], [0.2, 0, 0, 0, 1, 0.4]], np.float32)
    model = SimpleNamespace(combinations=sparse.csr_array(combinations), landmarks=np.array([1, 4]), n_labels=6)
    # Label 5 has no place. A landmark's weight on itself is no connection.
    edges = find_landmark_edges(model, make_layout(np.arange(5), 6))
    assert edges.pairs.tolist() == [[1, 3], [1, 2], [4, 0]]
    assert edges.weights.tolist() == pytest.approx([1, 0.5 / 0.8, 0.25])
    monkeypatch.setattr(map_structures, "MAX_EDGES", 1)
    assert find_landmark_edges(model, make_layout(np.arange(6), 6)).pairs.tolist() == [[1, 5]]
    assert find_landmark_edges(model, make_layout(np.array([0]), 6)).pairs.shape == (0, 2)


def test_the_grid_has_labels_where_their_codes_are():
    order = np.random.default_rng(0).permutation(17)
    model = SimpleNamespace(head_lengths=[5, 2, 2], label_of_code=order)
    ids = np.arange(1, 17)
    grid = place_in_head_grid(model, make_layout(ids, 17))
    cells = place_in_grid(model, np.arange(17))  # (5, 4) label ids
    columns, rows = np.unique(grid.positions[:, 0]), np.unique(grid.positions[:, 1])[::-1]
    for (x, y), label in zip(grid.positions, ids.tolist(), strict=True):
        assert cells[np.flatnonzero(rows == y)[0], np.flatnonzero(columns == x)[0]] == label
    # Every line but the first stands in the middle between two cells.
    assert [x for x, _ in grid.columns][1:] == pytest.approx((columns[1:] + columns[:-1]) / 2, abs=1e-6)
    assert [y for y, _ in grid.rows][1:] == pytest.approx((rows[1:] + rows[:-1]) / 2, abs=1e-6)
    assert [caption for _, caption in grid.rows] == ["first head: 1", "2", "3", "4", "5"]
    many = SimpleNamespace(head_lengths=[1000, 1000], label_of_code=np.arange(10**6))
    wide = place_in_head_grid(many, make_layout(np.array([0, 999_999]), 10**6))
    assert max(len(wide.rows), len(wide.columns)) <= map_structures.MAX_GRID_LINES
    assert np.abs(wide.positions).max() < 1


def test_methods_have_their_own_layers_and_colours(tree, split):
    n_labels = split.n_labels
    layout = make_layout(np.arange(n_labels), n_labels)
    layers = find_structure_layers(tree, layout)
    assert (layers.title, layers.edges, layers.grid) == ("Label tree", None, None)
    colours = colour_by_structure(tree, layout.ids)
    nodes = find_tree_levels(tree.model_)[0]
    assert len(colours.names) == len(np.unique(nodes[nodes >= 0])) + 1
    assert np.array_equal(colours.codes == colours.background, nodes < 0)
    for code in range(len(colours.names) - 1):
        assert len(np.unique(nodes[colours.codes == code])) == 1
    plain = registry.create("popularity").fit(split)
    assert find_structure_layers(plain, layout) is None
    assert colour_by_structure(plain, layout.ids) is None


def test_landmarks_colour_the_labels_that_they_weigh_on_most(split):
    pytest.importorskip("torch")
    method = registry.create("landmarks", landmarks=4).fit(split)
    model = method.model_
    colours = colour_by_structure(method, np.arange(model.n_labels))
    weights = np.abs(model.combinations.toarray())
    for label, code in enumerate(colours.codes.tolist()):
        if weights[:, label].any():
            assert colours.names[code] == model.labels.names[model.landmarks[weights[:, label].argmax()]]
        else:
            assert code == colours.background
    assert find_structure_layers(method, make_layout(np.arange(model.n_labels), model.n_labels)).edges is not None


def test_heads_colour_rows_of_the_grid_and_few_have_a_colour(split, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(map_structures, "MAX_CLASSES", 2)
    method = registry.create("mhc", **BRIEF["mhc"]).fit(split)
    model = method.model_
    ids = np.arange(model.n_labels)
    colours = colour_by_structure(method, ids)
    assert len(colours.names) == 3
    assert colours.names[-1] == "other rows"
    n_columns = place_in_grid(model, ids).shape[1]
    for label, code in enumerate(colours.codes.tolist()):
        row = np.flatnonzero(model.label_of_code == label)[0] // n_columns
        assert (colours.names[code] == f"row {row + 1}") or code == colours.background
    assert find_structure_layers(method, make_layout(ids, model.n_labels)).grid is not None
