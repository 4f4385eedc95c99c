"""A tree as a table, one row a node: what the dashboard and notebooks draw it from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.methods.label_tree.forest import Forest, labels_below

if TYPE_CHECKING:
    import pandas as pd

NO_PARENT = -1


def tree_frame(
    forest: Forest, tree: int, features: Features, labels: LabelSpace, frequencies: np.ndarray, terms: int, names: int
) -> pd.DataFrame:
    """The nodes of one tree from the root on.

    Columns: node, parent (-1 at the root), level, slots, labels (how many are below), documents (how often those labels
    occur in training), terms (with the largest weights on the way in), some_labels (the most frequent ones below).
    """
    import pandas as pd

    nodes = forest.nodes_of_tree(tree)
    below = labels_below(forest.first_slot, forest.targets, nodes)
    rows: list[dict[str, Any]] = []
    levels: dict[int, int] = {}
    for node in nodes:
        way_in = forest.slot_into(node)
        parent = NO_PARENT if way_in is None else forest.node_of(way_in)
        levels[node] = 0 if way_in is None else levels[parent] + 1
        members = below[node]
        frequent = members[np.lexsort((members, -frequencies[members]))][:names]
        rows.append(
            {
                "node": node,
                "parent": parent,
                "level": levels[node],
                "slots": int(forest.first_slot[node + 1] - forest.first_slot[node]),
                "labels": len(members),
                "documents": int(frequencies[members].sum()),
                "terms": [] if way_in is None else _terms(forest, way_in, features, terms),
                "some_labels": [labels.names[label] for label in frequent.tolist()],
            }
        )
    return pd.DataFrame(rows)


def _terms(forest: Forest, slot: int, features: Features, count: int) -> list[str]:
    """The terms that speak most for a slot."""
    found, weights = forest.classifier(slot)
    best = np.argsort(-weights, kind="stable")[:count]
    return [features.name(int(found[at])) for at in best if weights[at] > 0]
