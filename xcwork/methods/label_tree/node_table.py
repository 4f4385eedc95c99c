"""A tree as a table, one row per node: what the dashboard and notebooks draw it from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.features import Features
from xcwork.methods.label_tree.forest import Forest
from xcwork.methods.label_tree.model import LabelTreeModel
from xcwork.methods.label_tree.shape import find_labels_below

if TYPE_CHECKING:
    import pandas as pd

NO_PARENT = -1


def tabulate_nodes(model: LabelTreeModel, tree: int, *, n_terms: int, n_names: int) -> pd.DataFrame:
    """Return the nodes of one tree from the root on.

    Columns: node, parent (-1 at the root), level, slots, labels (how many are below), documents (how often those labels
    occur in training), terms (with the largest weights on the way in), some_labels (the most frequent ones below).
    """
    import pandas as pd

    forest = model.forest
    frequencies = model.label_frequencies
    nodes = forest.list_nodes(tree)
    below = find_labels_below(forest.first_slot, forest.targets, nodes)
    rows: list[dict[str, Any]] = []
    levels: dict[int, int] = {}
    for node in nodes:
        way_in = forest.find_slot_into(node)
        parent = NO_PARENT if way_in is None else forest.find_node(way_in)
        levels[node] = 0 if way_in is None else levels[parent] + 1
        members = below[node]
        frequent = members[np.lexsort((members, -frequencies[members]))][:n_names]
        rows.append(
            {
                "node": node,
                "parent": parent,
                "level": levels[node],
                "slots": int(forest.first_slot[node + 1] - forest.first_slot[node]),
                "labels": len(members),
                "documents": int(frequencies[members].sum()),
                "terms": [] if way_in is None else name_best_terms(forest, way_in, model.features, n_terms),
                "some_labels": [model.labels.names[label] for label in frequent.tolist()],
            }
        )
    return pd.DataFrame(rows)


def name_best_terms(forest: Forest, slot: int, features: Features, n_terms: int) -> list[str]:
    """Return the terms that are the strongest evidence for a slot."""
    found, weights = forest.find_classifier(slot)
    best = np.argsort(-weights, kind="stable")[:n_terms]
    return [features.get_name(int(found[at])) for at in best if weights[at] > 0]
