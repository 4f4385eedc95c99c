"""Beam search through label trees, for a block of documents at a time and on one thread without the GIL.

A *walk* is one document in one tree. Walks stand at nodes; `expand` scores what hangs below those nodes, `keep_best`
lets every walk go on to the best nodes found, `best_labels` adds up over the trees of a document what its walks found.

Scores are log-probabilities: a classifier with the margin m lets its slot through with -max(0, 1 - m)².

`expand` takes the standing places node by node. It marks the features of a node's weights once in a table over all
features, so that a document's terms find their weights without a search, and all documents that stand there use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from xcwork.kernels.topk import push, sort_best_first

NOT_HERE = -1


class Nodes(NamedTuple):
    """The nodes of all trees, their slots (one a child or label) and the weights, grouped by node and feature."""

    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32: the node below, or ~label
    bias: np.ndarray  # (n_slots,) float32
    first_row: np.ndarray  # (n_nodes + 1,) int64
    features: np.ndarray  # (n_rows,) int32: the feature of each row of weights
    starts: np.ndarray  # (n_rows + 1,) int64
    slots: np.ndarray  # (n_weights,) int32
    weights: np.ndarray  # (n_weights,) float32


class Places(NamedTuple):
    """Where the walks stand; in the order of the walks."""

    walk: np.ndarray  # (n_places,) int32: document * n_trees + tree
    node: np.ndarray  # (n_places,) int32
    score: np.ndarray  # (n_places,) float32


@njit(cache=True, nogil=True)
def expand(rows, n_trees, nodes, places, first_found, found, row_of):
    """Fill `found` with the log-probability of every slot at every place; those of place i start at first_found[i].

    `row_of` (n_features,) int32 is filled with NOT_HERE, and is so again afterwards.
    """
    order = np.argsort(places.node, kind="mergesort")
    at = 0
    while at < order.shape[0]:
        node = places.node[order[at]]
        first_row, end = nodes.first_row[node], nodes.first_row[node + 1]
        for row in range(first_row, end):
            row_of[nodes.features[row]] = row - first_row
        while at < order.shape[0] and places.node[order[at]] == node:
            place = order[at]
            scores = found[first_found[place] : first_found[place + 1]]
            _add_margins(rows, places.walk[place] // n_trees, nodes, node, row_of, scores)
            for slot in range(scores.shape[0]):
                short = max(np.float32(0), np.float32(1) - scores[slot])
                scores[slot] = places.score[place] - short * short
            at += 1
        for row in range(first_row, end):
            row_of[nodes.features[row]] = NOT_HERE


@njit(cache=True, nogil=True)
def _add_margins(rows, document, nodes, node, row_of, margins):
    """The margins (n_slots of the node,) of one document."""
    first, starts = nodes.first_slot[node], nodes.starts[nodes.first_row[node] :]
    margins[:] = nodes.bias[first : nodes.first_slot[node + 1]]
    for at in range(rows.indptr[document], rows.indptr[document + 1]):
        row = row_of[rows.indices[at]]
        if row != NOT_HERE:
            value = rows.data[at]
            for cell in range(starts[row], starts[row + 1]):
                margins[nodes.slots[cell] - first] += value * nodes.weights[cell]


@njit(cache=True, nogil=True)
def keep_best(nodes, places, first_found, found, width):
    """The `width` best nodes below the places of every walk."""
    n_places = places.walk.shape[0]
    n_most = min(found.shape[0], n_places * width)
    kept = Places(np.empty(n_most, np.int32), np.empty(n_most, np.int32), np.empty(n_most, np.float32))
    ids, scores = np.empty(width, np.int32), np.empty(width, np.float32)
    n_kept, place = 0, 0
    while place < n_places:
        walk, filled = places.walk[place], 0
        while place < n_places and places.walk[place] == walk:
            first = nodes.first_slot[places.node[place]] - first_found[place]
            for at in range(first_found[place], first_found[place + 1]):
                if nodes.targets[first + at] >= 0:
                    filled = push(ids, scores, filled, nodes.targets[first + at], found[at])
            place += 1
        for i in range(filled):
            kept.walk[n_kept], kept.node[n_kept], kept.score[n_kept] = walk, ids[i], scores[i]
            n_kept += 1
    return Places(kept.walk[:n_kept], kept.node[:n_kept], kept.score[:n_kept])


@njit(cache=True, nogil=True)
def best_labels(nodes, n_trees, n_labels, document, node, first_found, found, ids, best):
    """Fill `ids` and `best` (n_documents, k) with the labels of the highest mean probability over the trees.

    A tree that did not reach a label counts as zero. `document` (n_places,) ascends.
    """
    total, met = np.zeros(n_labels, np.float32), np.zeros(n_labels, np.bool_)
    touched = np.empty(n_labels, np.int32)
    place, share = 0, np.float32(1 / n_trees)
    while place < document.shape[0]:
        this, n_touched = document[place], 0
        while place < document.shape[0] and document[place] == this:
            first = nodes.first_slot[node[place]]
            for slot in range(nodes.first_slot[node[place] + 1] - first):
                label = ~nodes.targets[first + slot]
                if label >= 0:
                    total[label] += share * np.exp(found[first_found[place] + slot])
                    if not met[label]:
                        met[label] = True
                        touched[n_touched] = label
                        n_touched += 1
            place += 1
        filled = 0
        for i in range(n_touched):
            filled = push(ids[this], best[this], filled, touched[i], total[touched[i]])
            total[touched[i]], met[touched[i]] = 0, False
        sort_best_first(ids[this], best[this], filled)
