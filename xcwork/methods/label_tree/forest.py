"""Trained label trees as arrays: their shapes, and the classifiers that decide which slots a document follows.

Each slot has one linear classifier. Weights are stored feature by feature and within a feature node by node, because
that is how a document asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.kernels.tree_search import PackedTrees, TreeArrays
from xcwork.methods.label_tree.packed_weights import (
    NodeClassifiers,
    PackedRows,
    PackedTypes,
    find_starts,
    order_by_feature,
    shorten,
)
from xcwork.methods.label_tree.shape import TreeShape
from xcwork.methods.model import Misfit, check_array, check_keys, check_shape
from xcwork.sparse import narrow_indices

if TYPE_CHECKING:
    import torch

    from xcwork.kernels.tensor_trees import TensorTrees

NO_SLOT = -1  # for a root, to which none leads
STORED_AS_THEY_ARE = ("roots", "first_slot", "targets", "bias", "scale", "offsets", "codes")
COUNTED = ("rows_of_feature", "node_of_row", "weights_of_row")


@dataclass(frozen=True, eq=False)
class Forest:
    """Some trees, trained. All nodes are numbered together, tree by tree and level by level, and so are all slots."""

    roots: np.ndarray  # (n_trees,) int32
    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32: the node below, or ~label
    bias: np.ndarray  # (n_slots,) float32
    scale: np.ndarray  # (n_slots,) float32: what the codes of a slot are multiplied with
    first_row: np.ndarray  # (n_features + 1,): where the rows of a feature start
    nodes: np.ndarray  # (n_rows,): the node of each row, ascending within a feature
    starts: np.ndarray  # (n_rows + 1,): where the weights of each row start
    offsets: np.ndarray  # (n_weights,): the slot of each weight, counted from the first of its node
    codes: np.ndarray  # (n_weights,) int16: each weight over the scale of its slot

    # ---- constructors

    @classmethod
    def from_tree(cls, shape: TreeShape, classifiers: Sequence[NodeClassifiers], n_features: int) -> Forest:
        """Return the forest of one tree, whose nodes have `classifiers`."""
        parts = [
            PackedRows(one.features, node, one.starts, one.offsets, one.codes) for node, one in enumerate(classifiers)
        ]
        return cls(
            roots=np.zeros(1, np.int32),
            first_slot=shape.first_slot,
            targets=shape.targets,
            bias=np.concatenate([one.bias for one in classifiers]),
            scale=np.concatenate([one.scale for one in classifiers]),
            **order_by_feature(parts, n_features, shape.first_slot),
        )

    @classmethod
    def from_trees(cls, trees: Sequence[Forest]) -> Forest:
        """Return one forest with all trees of `trees`."""
        if len(trees) == 1:
            return trees[0]
        first_nodes = find_starts([tree.n_nodes for tree in trees])  # (n_trees + 1,)
        first_slots = find_starts([tree.n_slots for tree in trees])  # (n_trees + 1,)
        numbered = list(zip(trees, first_nodes, first_slots, strict=False))
        first_slot = np.concatenate([[0], *(tree.first_slot[1:] + slot for tree, _, slot in numbered)])
        parts = [
            PackedRows(tree.features, tree.nodes.astype(np.int64) + node, tree.starts, tree.offsets, tree.codes)
            for tree, node, _ in numbered
        ]
        targets = [np.where(tree.targets < 0, tree.targets, tree.targets + node) for tree, node, _ in numbered]
        return cls(
            roots=first_nodes[:-1].astype(np.int32),
            first_slot=first_slot,
            targets=np.concatenate(targets).astype(np.int32),
            bias=np.concatenate([tree.bias for tree in trees]),
            scale=np.concatenate([tree.scale for tree in trees]),
            **order_by_feature(parts, trees[0].n_features, first_slot),
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
        lengths = self.starts[rows + 1].astype(np.int64) - self.starts[rows]
        before = np.cumsum(lengths) - lengths
        cells = np.repeat(self.starts[rows] - before, lengths) + np.arange(lengths.sum())
        is_of_slot = self.offsets[cells] == slot - self.first_slot[node]
        weights = np.zeros(len(rows), np.float32)
        weights[np.repeat(np.arange(len(rows)), lengths)[is_of_slot]] = self.codes[cells[is_of_slot]]
        return features[rows], weights * self.scale[slot]

    @cached_property
    def _rows_by_node(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(where each node starts, the rows node by node, the feature of every row)."""
        order = np.argsort(self.nodes, kind="stable")
        return find_starts(np.bincount(self.nodes, minlength=self.n_nodes)), order, self.features

    @property
    def slots(self) -> np.ndarray:
        """The slot of each weight, (n_weights,) int64."""
        return self.offsets + np.repeat(self.first_slot[self.nodes], np.diff(self.starts))

    def decode_weights(self) -> sparse.csr_array:
        """Return the weights as numbers, (n_rows, n_slots)."""
        slots = self.slots
        values = self.codes * self.scale[slots]
        return narrow_indices(
            sparse.csr_array((values, slots, self.starts.astype(np.int64)), shape=(len(self.nodes), self.n_slots))
        )

    def average_label_weights(self, n_labels: int) -> sparse.csr_array:
        """Return the mean over the trees of each label's own classifier, (n_labels, n_features)."""
        slot = self.slots
        label = ~self.targets[slot]
        kept = label >= 0
        slot, label = slot[kept], label[kept]
        feature = np.repeat(self.features, np.diff(self.starts))[kept]
        values = self.codes[kept] * self.scale[slot] / np.float32(self.n_trees)
        return sparse.csr_array((values, (label, feature)), shape=(n_labels, self.n_features))

    @cached_property
    def trees(self) -> PackedTrees:
        """The arrays as kernels take them."""
        return PackedTrees(*(getattr(self, name) for name in PackedTrees._fields))

    def decode_trees(self) -> TreeArrays:
        """Return the arrays as tensors are made of them."""
        first_row, starts = (part.astype(np.int64) for part in (self.first_row, self.starts))
        nodes, w = self.nodes.astype(np.int32), self.decode_weights()
        return TreeArrays(
            self.roots, self.first_slot, self.targets, self.bias, first_row, nodes, starts, w.indices, w.data
        )

    def get_tensors(self, device: torch.device) -> TensorTrees:
        """Return the arrays as tensors of `device`; they are copied there once."""
        from xcwork.kernels.tensor_trees import TensorTrees

        kept = self._tensors
        if device not in kept:
            kept.clear()
            kept[device] = TensorTrees.from_arrays(self.decode_trees(), device)
        return kept[device]

    @cached_property
    def _tensors(self) -> dict[torch.device, TensorTrees]:
        return {}

    # ---- storing

    def to_state(self) -> dict[str, Any]:
        """Return the arrays by name: how many rows and weights there are takes fewer bits than where they start."""
        return {name: getattr(self, name) for name in STORED_AS_THEY_ARE} | self._counted

    @cached_property
    def _counted(self) -> dict[str, np.ndarray]:
        """The arrays that are stored in another form; the same model has the same state."""
        return {
            "rows_of_feature": shorten(np.diff(self.first_row)),
            "node_of_row": shorten(self.nodes),
            "weights_of_row": shorten(np.diff(self.starts)),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Forest:
        """Return the forest that `to_state` described; `Misfit` where it is none."""
        check_keys("forest", state, {*STORED_AS_THEY_ARE, *COUNTED})
        check_form("first_slot", state["first_slot"], np.int64, None)
        check_form("codes", state["codes"], np.int16, None)
        n_nodes = len(state["first_slot"]) - 1
        for name, below in zip(COUNTED, (None, n_nodes, None), strict=True):
            check_array(f"forest {name}", state[name], (None,), kind="u", below=below)
        types = PackedTypes.choose(state["first_slot"], len(state["codes"]))
        return cls(
            **{name: state[name] for name in STORED_AS_THEY_ARE},
            first_row=find_starts(state["rows_of_feature"]).astype(types.starts),
            nodes=state["node_of_row"].astype(types.nodes),
            starts=find_starts(state["weights_of_row"]).astype(types.starts),
        )

    def check(self, n_features: int, n_labels: int) -> None:
        """Raise `Misfit` if the arrays do not fit together: kernels do not check bounds, and a file may be damaged."""
        check_form("first_slot", self.first_slot, np.int64, None)
        check_form("codes", self.codes, np.int16, None)
        types = PackedTypes.choose(self.first_slot, len(self.codes))
        check_form("targets", self.targets, np.int32, None)
        check_form("nodes", self.nodes, types.nodes, None)
        for name, kind, length in (
            ("roots", np.int32, None),
            ("bias", np.float32, self.n_slots),
            ("scale", np.float32, self.n_slots),
            ("first_row", types.starts, n_features + 1),
            ("starts", types.starts, len(self.nodes) + 1),
            ("offsets", types.offsets, len(self.codes)),
        ):
            check_form(name, getattr(self, name), kind, length)
        if not (self._has_fitting_starts() and self._has_fitting_entries(n_labels)):
            raise Misfit("the label trees do not fit together")

    def _has_fitting_starts(self) -> bool:
        """Tell whether slots, rows and weights begin at 0, ascend and end with the last one."""
        ends = ((self.first_slot, self.n_slots), (self.first_row, len(self.nodes)), (self.starts, len(self.codes)))
        return (
            self.n_trees > 0
            and self.n_nodes > 0
            and self.roots[0] == 0
            and 0 <= self.roots.min() <= self.roots.max() < self.n_nodes
            and all(starts[0] == 0 and starts[-1] == end and (starts[1:] >= starts[:-1]).all() for starts, end in ends)
            and bool((np.diff(self.first_slot) > 0).all())
        )

    def _has_fitting_entries(self, n_labels: int) -> bool:
        """Tell whether each slot leads to a label or its own node, rows are in order and weights in their places."""
        if self.nodes.max(initial=0) >= self.n_nodes:
            return False
        below = np.delete(np.arange(self.n_nodes), self.roots)  # in this order slots lead to them, so never in circles
        starts_feature = np.zeros(len(self.nodes) + 1, bool)
        starts_feature[self.first_row] = True
        return bool(
            self.targets.min() >= -n_labels
            and np.array_equal(self.targets[self.targets >= 0], below)
            and ((self.nodes[1:] > self.nodes[:-1]) | starts_feature[1:-1]).all()
            and self._fits_offsets()
        )

    def _fits_offsets(self) -> bool:
        """Tell whether each weight belongs to a slot of its node."""
        last = (np.diff(self.first_slot) - 1).astype(self.offsets.dtype)  # of each node
        return bool((self.offsets <= np.repeat(last[self.nodes], np.diff(self.starts))).all())


def check_form(name: str, value: Any, kind: type[np.generic], length: int | None) -> None:
    """Check type and length of an array of a forest; None allows any length."""
    if not isinstance(value, np.ndarray) or value.dtype != kind:
        raise Misfit(f"forest {name} is not an array of the right type")
    check_shape(f"forest {name}", value.shape, (length,))
