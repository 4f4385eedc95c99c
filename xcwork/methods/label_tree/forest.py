"""Label trees as arrays: what hangs below what, and the classifiers that decide who goes where.

A node has slots. A slot leads to another node, or it is a label; each has one linear classifier. Weights stand feature
by feature and within a feature node by node, because that is how a document asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.errors import DataError
from xcwork.kernels.tree_search import Trees
from xcwork.kernels.tree_training import copy_rows, next_places

NO_WAY = -1  # into a root


@dataclass(frozen=True)
class Shape:
    """The nodes of one tree, a level at a time from the root, which is node 0."""

    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32: the node below, or ~label

    @classmethod
    def lay_out(cls, root: Any, split_all: Callable[[list[Any]], list[Sequence[Any]]]) -> Shape:
        """The tree below `root`: `split_all` gives, for all nodes of a level, what hangs below each.

        A number is a label, anything else a node.
        """
        level, n_nodes = [root], 1
        widths, targets = [0], []
        while level:
            slots_of_level = split_all(level)
            level = []
            for slots in slots_of_level:
                widths.append(len(slots))
                for slot in slots:
                    if isinstance(slot, int):
                        targets.append(~slot)
                    else:
                        targets.append(n_nodes)
                        n_nodes += 1
                        level.append(slot)
        return cls(np.cumsum(widths, dtype=np.int64), np.array(targets, np.int32))

    @property
    def n_nodes(self) -> int:
        return len(self.first_slot) - 1

    def slots(self, node: int) -> slice:
        return slice(self.first_slot[node], self.first_slot[node + 1])


def labels_below(first_slot: np.ndarray, targets: np.ndarray, nodes: range) -> dict[int, np.ndarray]:
    """The labels in or under every one of `nodes`, which are all nodes of a tree."""
    below: dict[int, np.ndarray] = {}
    for node in reversed(nodes):  # children have higher numbers
        slots = targets[first_slot[node] : first_slot[node + 1]]
        below[node] = np.concatenate([~slots[slots < 0], *(below[child] for child in slots[slots >= 0].tolist())])
    return below


@dataclass(frozen=True)
class Classifiers:
    """One linear classifier a slot, for the slots of one node."""

    features: np.ndarray  # (n_rows,) int32: the features that have a weight
    weights: sparse.csr_array  # (n_rows, n_slots)
    bias: np.ndarray  # (n_slots,) float32


@dataclass(frozen=True, eq=False)
class Forest:
    """Some trees, trained. All nodes are numbered together, tree by tree and level by level, and so are all slots."""

    roots: np.ndarray  # (n_trees,) int32
    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32: the node below, or ~label
    bias: np.ndarray  # (n_slots,) float32
    first_row: np.ndarray  # (n_features + 1,) int64: where the rows of a feature start
    nodes: np.ndarray  # (n_rows,) int32: the node of each row, ascending within a feature
    weights: sparse.csr_array  # (n_rows, n_slots)

    @classmethod
    def of_tree(cls, shape: Shape, classifiers: Sequence[Classifiers], n_features: int) -> Forest:
        """One tree and the classifiers of its nodes."""
        parts = [
            _Rows(one.features, np.full(len(one.features), node, np.int32), one.weights, shape.first_slot[node])
            for node, one in enumerate(classifiers)
        ]
        return cls(
            roots=np.zeros(1, np.int32),
            first_slot=shape.first_slot,
            targets=shape.targets,
            bias=np.concatenate([one.bias for one in classifiers]),
            **_by_feature(parts, n_features, shape.first_slot[-1]),
        )

    @classmethod
    def joined(cls, trees: Sequence[Forest]) -> Forest:
        """Several trees as one forest."""
        nodes, slots = _ends([tree.n_nodes for tree in trees]), _ends([tree.n_slots for tree in trees])
        targets = [np.where(t.targets < 0, t.targets, t.targets + n) for t, n in zip(trees, nodes, strict=False)]
        parts = [
            _Rows(tree.features, tree.nodes + np.int32(node), tree.weights, slot)
            for tree, node, slot in zip(trees, nodes, slots, strict=False)
        ]
        return cls(
            roots=nodes[:-1].astype(np.int32),
            first_slot=_chained([tree.first_slot for tree in trees], slots),
            targets=np.concatenate(targets).astype(np.int32),
            bias=np.concatenate([tree.bias for tree in trees]),
            **_by_feature(parts, trees[0].n_features, slots[-1]),
        )

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        return len(self.first_slot) - 1

    @property
    def n_slots(self) -> int:
        return len(self.targets)

    @property
    def n_features(self) -> int:
        return len(self.first_row) - 1

    @property
    def features(self) -> np.ndarray:
        """The feature of each row of weights, (n_rows,) int32."""
        return np.repeat(np.arange(self.n_features, dtype=np.int32), np.diff(self.first_row))

    def node_of(self, slot: int) -> int:
        """The node that has `slot`."""
        return int(np.searchsorted(self.first_slot, slot, side="right")) - 1

    def slot_into(self, node: int) -> int | None:
        """The slot that leads to `node`; None for a root."""
        slot = int(self._ways_in[node])
        return None if slot == NO_WAY else slot

    @cached_property
    def _ways_in(self) -> np.ndarray:
        """The slot that leads to every node, (n_nodes,)."""
        ways = np.full(self.n_nodes, NO_WAY, np.int64)
        inner = np.flatnonzero(self.targets >= 0)
        ways[self.targets[inner]] = inner
        return ways

    def path_to(self, slot: int) -> list[int]:
        """The slots from a root down to `slot`."""
        path = [slot]
        while (above := self.slot_into(self.node_of(path[0]))) is not None:
            path.insert(0, above)
        return path

    def nodes_of_tree(self, tree: int) -> range:
        """The nodes of one tree, parents before children."""
        return range(int(self.roots[tree]), int(self.roots[tree + 1]) if tree + 1 < self.n_trees else self.n_nodes)

    def classifier(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """(the features of a slot's node, the slot's weight for each)."""
        first, order, features = self._rows_by_node
        node = self.node_of(slot)
        rows = order[first[node] : first[node + 1]]
        return features[rows], self.weights[rows][:, [slot]].toarray().ravel()

    @cached_property
    def _rows_by_node(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(where each node starts, the rows node by node, the feature of every row)."""
        order = np.argsort(self.nodes, kind="stable")
        return _ends(np.bincount(self.nodes, minlength=self.n_nodes)), order, self.features

    def label_weights(self, n_labels: int, n_features: int) -> sparse.csr_array:
        """The mean over the trees of each label's own classifier, (n_labels, n_features)."""
        cells = self.weights.tocoo()
        row, slot = cells.coords
        label = ~self.targets[slot]
        kept = label >= 0
        entries = (cells.data[kept] / np.float32(self.n_trees), (label[kept], self.features[row[kept]]))
        return sparse.csr_array(entries, shape=(n_labels, n_features))

    def to_state(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, n_features: int, n_labels: int) -> None:
        """Raise if the arrays do not fit together: kernels do not check bounds, and a file may be damaged."""
        if not (self._sizes_fit(n_features) and self._entries_fit(n_labels)):
            raise DataError("the stored label trees do not fit together; restore or rebuild the model")

    def _sizes_fit(self, n_features: int) -> bool:
        return (
            self.n_trees > 0
            and len(self.bias) == self.weights.shape[1] == self.first_slot[-1] == self.n_slots
            and len(self.nodes) == self.weights.shape[0] == self.first_row[-1]
            and self.n_features == n_features
            and self.first_slot[0] == self.first_row[0] == self.roots[0] == 0
            and bool((np.diff(self.first_slot) > 0).all() and (np.diff(self.first_row) >= 0).all())
        )

    def _entries_fit(self, n_labels: int) -> bool:
        if not (_within(self.roots, 0, self.n_nodes) and _within(self.nodes, 0, self.n_nodes)):
            return False
        below = np.delete(np.arange(self.n_nodes), self.roots)  # in this order slots lead to them, so never in circles
        starts_feature = np.zeros(len(self.nodes) + 1, bool)
        starts_feature[self.first_row] = True
        node_of_slot = np.repeat(np.arange(self.n_nodes), np.diff(self.first_slot))
        return bool(
            self.targets.min() >= -n_labels
            and np.array_equal(self.targets[self.targets >= 0], below)
            and ((np.diff(self.nodes) > 0) | starts_feature[1:-1]).all()
            and (node_of_slot[self.weights.indices] == np.repeat(self.nodes, np.diff(self.weights.indptr))).all()
        )

    @cached_property
    def trees(self) -> Trees:
        """The arrays as kernels take them."""
        w = self.weights
        return Trees(
            self.roots.astype(np.int32, copy=False),
            self.first_slot.astype(np.int64, copy=False),
            self.targets.astype(np.int32, copy=False),
            self.bias.astype(np.float32, copy=False),
            self.first_row.astype(np.int64, copy=False),
            self.nodes.astype(np.int32, copy=False),
            w.indptr.astype(np.int64, copy=False),
            w.indices.astype(np.int32, copy=False),
            w.data.astype(np.float32, copy=False),
        )


def _within(values: np.ndarray, low: int, high: int) -> bool:
    return len(values) == 0 or bool(values.min() >= low and values.max() < high)


def _ends(sizes: Sequence[int]) -> np.ndarray:
    """Where each part starts, and where the last one ends: (n_parts + 1,) int64."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


class _Rows(NamedTuple):
    """Rows of weights that belong to some nodes."""

    features: np.ndarray  # (n_rows,) int32
    nodes: np.ndarray  # (n_rows,) int32
    weights: sparse.csr_array  # (n_rows, some slots)
    first_slot: int  # the number of the first of them


def _by_feature(parts: Sequence[_Rows], n_features: int, n_slots: int) -> dict[str, Any]:
    """The rows of all parts in the order of the features; those of a feature stay in the order of the parts.

    Weights are written to their places, because a forest may take half of the memory and a copy the other half.
    """
    first_row = _ends(np.bincount(np.concatenate([part.features for part in parts]), minlength=n_features))
    n_rows, filled = int(first_row[-1]), first_row[:-1].copy()
    nodes, lengths = np.empty(n_rows, np.int32), np.empty(n_rows, np.int64)
    places = []
    for part in parts:
        place = next_places(part.features, filled)
        nodes[place], lengths[place] = part.nodes, np.diff(part.weights.indptr)
        places.append(place)
    starts = _ends(lengths)
    slots, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    for part, place in zip(parts, places, strict=True):
        w = part.weights
        copy_rows(w.indptr, w.indices, w.data, part.first_slot, place, starts, slots, values)
    weights = sparse.csr_array((values, slots, starts), shape=(n_rows, int(n_slots)))
    return {"first_row": first_row, "nodes": nodes, "weights": weights}


def _chained(pointers: Sequence[np.ndarray], starts: np.ndarray) -> np.ndarray:
    """Row starts of several matrices as those of the matrices one below the other."""
    return np.concatenate([[0], *(one[1:] + start for one, start in zip(pointers, starts, strict=False))])
