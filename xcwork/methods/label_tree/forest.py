"""Trained label trees as arrays: their shapes, and the classifiers that decide which slots a document follows.

Each slot has one linear classifier. Weights are stored feature by feature and within a feature node by node, because
that is how a document asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.kernels.tree_search import TreeArrays
from xcwork.kernels.tree_training import copy_rows, find_next_places
from xcwork.methods.label_tree.shape import TreeShape
from xcwork.methods.model import Misfit, check_array, check_csr
from xcwork.sparse import narrow_indices

if TYPE_CHECKING:
    import torch

    from xcwork.kernels.tensor_trees import TensorTrees

NO_SLOT = -1  # for a root, to which none leads


@dataclass(frozen=True)
class NodeClassifiers:
    """One linear classifier per slot, for the slots of one node."""

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

    # ---- constructors

    @classmethod
    def from_tree(cls, shape: TreeShape, classifiers: Sequence[NodeClassifiers], n_features: int) -> Forest:
        """Return the forest of one tree, whose nodes have `classifiers`."""
        parts = [
            WeightRows(one.features, np.full(len(one.features), node, np.int32), one.weights, shape.first_slot[node])
            for node, one in enumerate(classifiers)
        ]
        return cls(
            roots=np.zeros(1, np.int32),
            first_slot=shape.first_slot,
            targets=shape.targets,
            bias=np.concatenate([one.bias for one in classifiers]),
            **order_by_feature(parts, n_features, shape.first_slot[-1]),
        )

    @classmethod
    def from_trees(cls, trees: Sequence[Forest]) -> Forest:
        """Return one forest with all trees of `trees`."""
        first_nodes = find_starts([tree.n_nodes for tree in trees])  # (n_trees + 1,)
        first_slots = find_starts([tree.n_slots for tree in trees])  # (n_trees + 1,)
        numbered = list(zip(trees, first_nodes, first_slots, strict=False))
        parts = [
            WeightRows(tree.features, tree.nodes + np.int32(node), tree.weights, slot) for tree, node, slot in numbered
        ]
        targets = [np.where(tree.targets < 0, tree.targets, tree.targets + node) for tree, node, _ in numbered]
        return cls(
            roots=first_nodes[:-1].astype(np.int32),
            first_slot=np.concatenate([[0], *(tree.first_slot[1:] + slot for tree, _, slot in numbered)]),
            targets=np.concatenate(targets).astype(np.int32),
            bias=np.concatenate([tree.bias for tree in trees]),
            **order_by_feature(parts, trees[0].n_features, first_slots[-1]),
        )

    # ---- sizes

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

    # ---- nodes, slots and paths

    def find_node(self, slot: int) -> int:
        """Return the node that has `slot`."""
        return int(np.searchsorted(self.first_slot, slot, side="right")) - 1

    def find_slot_into(self, node: int) -> int | None:
        """Return the slot that leads to `node`; None for a root."""
        slot = int(self._slots_into[node])
        return None if slot == NO_SLOT else slot

    @cached_property
    def _slots_into(self) -> np.ndarray:
        """The slot that leads to each node, (n_nodes,)."""
        slots = np.full(self.n_nodes, NO_SLOT, np.int64)
        inner = np.flatnonzero(self.targets >= 0)
        slots[self.targets[inner]] = inner
        return slots

    def find_path(self, slot: int) -> list[int]:
        """Return the slots from a root down to `slot`."""
        path = [slot]
        while (above := self.find_slot_into(self.find_node(path[0]))) is not None:
            path.insert(0, above)
        return path

    def list_nodes(self, tree: int) -> range:
        """Return the nodes of one tree, parents before children."""
        return range(int(self.roots[tree]), int(self.roots[tree + 1]) if tree + 1 < self.n_trees else self.n_nodes)

    # ---- classifiers

    @property
    def features(self) -> np.ndarray:
        """The feature of each row of weights, (n_rows,) int32."""
        return np.repeat(np.arange(self.n_features, dtype=np.int32), np.diff(self.first_row))

    def find_classifier(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (the features of a slot's node, the slot's weight for each)."""
        first, order, features = self._rows_by_node
        node = self.find_node(slot)
        rows = order[first[node] : first[node + 1]]
        return features[rows], self.weights[rows][:, [slot]].toarray().ravel()

    @cached_property
    def _rows_by_node(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(where each node starts, the rows node by node, the feature of every row)."""
        order = np.argsort(self.nodes, kind="stable")
        return find_starts(np.bincount(self.nodes, minlength=self.n_nodes)), order, self.features

    def average_label_weights(self, n_labels: int) -> sparse.csr_array:
        """Return the mean over the trees of each label's own classifier, (n_labels, n_features)."""
        cells = self.weights.tocoo()
        row, slot = cells.coords
        label = ~self.targets[slot]
        kept = label >= 0
        entries = (cells.data[kept] / np.float32(self.n_trees), (label[kept], self.features[row[kept]]))
        return sparse.csr_array(entries, shape=(n_labels, self.n_features))

    @cached_property
    def trees(self) -> TreeArrays:
        """The arrays as kernels take them."""
        w = self.weights
        return TreeArrays(
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

    def get_tensors(self, device: torch.device) -> TensorTrees:
        """Return the arrays as tensors of `device`; they are copied there once."""
        from xcwork.kernels.tensor_trees import TensorTrees

        kept = self._tensors
        if device not in kept:
            kept.clear()
            kept[device] = TensorTrees.from_arrays(self.trees, device)
        return kept[device]

    @cached_property
    def _tensors(self) -> dict[torch.device, TensorTrees]:
        return {}

    # ---- storing

    def to_state(self) -> dict[str, Any]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, n_features: int, n_labels: int) -> None:
        """Raise `Misfit` if the arrays do not fit together: kernels do not check bounds, and a file may be damaged."""
        check_array("forest first_slot", self.first_slot, (None,), kind="i")
        check_array("forest roots", self.roots, (None,), kind="i", below=self.n_nodes)
        check_array("forest targets", self.targets, (None,), kind="i")
        check_array("forest bias", self.bias, (self.n_slots,))
        check_array("forest first_row", self.first_row, (n_features + 1,), kind="i")
        check_array("forest nodes", self.nodes, (None,), kind="i", below=self.n_nodes)
        check_csr("forest weights", self.weights, (len(self.nodes), self.n_slots))
        if not (self._has_fitting_starts() and self._has_fitting_entries(n_labels)):
            raise Misfit("the label trees do not fit together")

    def _has_fitting_starts(self) -> bool:
        """Tell whether slots and rows begin at 0, ascend and end with the last one."""
        return (
            self.n_trees > 0
            and self.n_nodes > 0
            and self.first_slot[0] == self.first_row[0] == self.roots[0] == 0
            and self.first_slot[-1] == self.n_slots
            and self.first_row[-1] == len(self.nodes)
            and bool((np.diff(self.first_slot) > 0).all() and (np.diff(self.first_row) >= 0).all())
        )

    def _has_fitting_entries(self, n_labels: int) -> bool:
        """Tell whether each slot leads to a label or its own node, rows are in order and weights in their places."""
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


class WeightRows(NamedTuple):
    """Rows of weights that belong to some nodes."""

    features: np.ndarray  # (n_rows,) int32
    nodes: np.ndarray  # (n_rows,) int32
    weights: sparse.csr_array  # (n_rows, some slots)
    first_slot: int  # the number of the first of them


def order_by_feature(parts: Sequence[WeightRows], n_features: int, n_slots: int) -> dict[str, Any]:
    """Return the rows of all parts in the order of the features; those of a feature stay in the order of the parts.

    Weights are written to their places, because a forest may take half of the memory and a copy the other half.
    """
    first_row = find_starts(np.bincount(np.concatenate([part.features for part in parts]), minlength=n_features))
    n_rows = int(first_row[-1])
    filled = first_row[:-1].copy()
    nodes = np.empty(n_rows, np.int32)
    lengths = np.empty(n_rows, np.int64)
    places = []
    for part in parts:
        place = find_next_places(part.features, filled)
        nodes[place] = part.nodes
        lengths[place] = np.diff(part.weights.indptr)
        places.append(place)
    starts = find_starts(lengths)
    slots = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.float32)
    for part, place in zip(parts, places, strict=True):
        w = part.weights
        copy_rows(w.indptr, w.indices, w.data, part.first_slot, place, starts, slots, values)
    weights = narrow_indices(sparse.csr_array((values, slots, starts), shape=(n_rows, int(n_slots))))
    return {"first_row": first_row, "nodes": nodes, "weights": weights}


def find_starts(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return where each part starts, and where the last one ends: (n_parts + 1,) int64."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
