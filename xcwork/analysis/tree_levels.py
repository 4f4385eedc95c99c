"""Which node of a label tree each label is below, level by level, without a list of labels per node.

Level 1 are the nodes below the root. A label that hangs on a node nearer to the root has no node at a deeper level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xcwork.methods.label_tree.forest import Forest

NO_NODE = -1


def find_nodes_by_level(forest: Forest, n_labels: int, max_level: int, *, tree: int = 0) -> np.ndarray:
    """Return the node of each label at the levels 1 to `max_level`, or NO_NODE; (max_level, n_labels) int32."""
    nodes = forest.list_nodes(tree)
    first = nodes.start
    parents, depths = _read_parents(forest, nodes)
    slots = np.arange(forest.first_slot[nodes.start], forest.first_slot[nodes.stop])
    holders = np.repeat(np.arange(len(nodes)), np.diff(forest.first_slot[nodes.start : nodes.stop + 1]))
    is_label = forest.targets[slots] < 0
    labels, holders = ~forest.targets[slots[is_label]], holders[is_label]
    found = np.full((max_level, n_labels), NO_NODE, np.int32)
    for level in range(max_level, 0, -1):
        # A step up for all that are too deep; the next level starts from there.
        while (deeper := depths[holders] > level).any():
            holders = np.where(deeper, parents[holders], holders)
        there = depths[holders] == level
        found[level - 1, labels[there]] = holders[there] + first
    return found


def _read_parents(forest: Forest, nodes: range) -> tuple[np.ndarray, np.ndarray]:
    """Return (the node above, the level) of each node of a tree, numbered from its root; the root is its own parent."""
    starts = forest.first_slot[nodes.start : nodes.stop + 1]
    holders = np.repeat(np.arange(len(nodes)), np.diff(starts))
    targets = forest.targets[starts[0] : starts[-1]]
    parents = np.zeros(len(nodes), np.int64)
    is_node = targets >= 0
    parents[targets[is_node] - nodes.start] = holders[is_node]
    depths = np.zeros(len(nodes), np.int64)
    for node in range(1, len(nodes)):  # parents have lower numbers
        depths[node] = depths[parents[node]] + 1
    return parents, depths
