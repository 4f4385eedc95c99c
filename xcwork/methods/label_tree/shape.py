"""The shape of a label tree: which nodes and labels hang below which node.

A node has slots. A slot leads to another node, or it is a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TreeShape:
    """The nodes of one tree, a level at a time from the root, which is node 0."""

    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32: the node below, or ~label

    @classmethod
    def from_root(cls, root: Any, split_level: Callable[[list[Any]], list[Sequence[Any]]]) -> TreeShape:
        """Return the tree below `root`: `split_level` gives, for all nodes of a level, what hangs below each.

        A number is a label, anything else a node.
        """
        level = [root]
        n_nodes = 1
        widths = [0]
        targets = []
        while level:
            slots_of_level = split_level(level)
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

    def find_slots(self, node: int) -> slice:
        """Return where the slots of `node` are in `targets`."""
        return slice(self.first_slot[node], self.first_slot[node + 1])


def find_labels_below(first_slot: np.ndarray, targets: np.ndarray, nodes: range) -> dict[int, np.ndarray]:
    """Return the labels in or under each of `nodes`, which are all nodes of a tree."""
    below: dict[int, np.ndarray] = {}
    for node in reversed(nodes):  # children have higher numbers
        slots = targets[first_slot[node] : first_slot[node + 1]]
        below[node] = np.concatenate([~slots[slots < 0], *(below[child] for child in slots[slots >= 0].tolist())])
    return below
