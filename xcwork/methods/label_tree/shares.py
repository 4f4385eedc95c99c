"""Trees on a cluster whose workers never have all documents.

A node only needs the documents with a label below it, so these travel with it: first the upper nodes, each with its own
documents, then whole subtrees, as soon as they are small enough for every thread of the cluster to get several. The
root, which needs all documents, is trained in the first process meanwhile. Clustering sends the centroids of a level to
wherever they are split. The shares that are handed out at a time are together no larger than the data, so all workers
together have the documents once, and any of them what its blocks need. A level of upper nodes sends a document as often
as it has labels below different ones, at most ȳ times. A share is part of its message: when a worker dies, another one
gets it. Rows keep their order and their features, so results are those of one process.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from xcwork.methods.label_tree.shape import TreeShape

SHARES_PER_THREAD = 4  # so that large and small ones even out
ROOT = 0


def group_nodes(
    shape: TreeShape, below: Mapping[int, np.ndarray], frequencies: np.ndarray, n_shares: int
) -> list[list[int]]:
    """Return all nodes but the root in groups: a node alone, or a node with all nodes below it.

    Subtrees have at most 1 / `n_shares` of the labels of all documents; `below` has the labels below each node, and
    `frequencies` their documents. The largest groups come first, so that nobody waits at the end.
    """
    limit = frequencies.sum() / n_shares
    alone: list[list[int]] = []
    subtrees: list[list[int]] = []
    waiting = _list_children(shape, ROOT)
    while waiting:
        node = waiting.pop()
        children = _list_children(shape, node)
        if not children or frequencies[below[node]].sum() <= limit:
            subtrees.append(_list_subtree(shape, node))
        else:
            alone.append([node])
            waiting += children
    return sorted(alone + subtrees, key=lambda group: -int(frequencies[below[group[0]]].sum()))


def _list_children(shape: TreeShape, node: int) -> list[int]:
    targets = shape.targets[shape.find_slots(node)]
    return targets[targets >= 0].tolist()


def _list_subtree(shape: TreeShape, node: int) -> list[int]:
    nodes = [node]
    for one in nodes:  # grows while it is read
        nodes += _list_children(shape, one)
    return nodes
