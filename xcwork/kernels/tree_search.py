"""Beam search through label trees, a document at a time and on one thread without the GIL.

In every tree a document goes from the root to the best nodes of each level, as many as the search is wide. At a node it
scores all slots: those that lead to nodes compete for the next level, those that are labels are found.

Scores are log-probabilities: a classifier with the margin m lets its slot through with -max(0, 1 - m)ᵖ.

Weights lie feature by feature, and within a feature node by node. A document therefore reads one stretch of memory for
each of its terms, from front to back: nodes are numbered level by level and the ones it stands at are kept in order, so
in the list of a term the next node is always further on, and few leaps find it.

A weight takes three bytes: its slot, counted from the first of the node, and a whole number that the scale of the slot
multiplies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import can_enter, push_entry, sort_best_first

NO_LABEL = -1  # where a document has no further one


class PackedTrees(NamedTuple):
    """Nodes of all trees, level by level; slots, one per child or label; a row of weights per feature and node.

    Nodes, starts and offsets have 16, 32 and 8 bits where these are enough for all of them, else 32, 64 and 32.
    """

    roots: np.ndarray  # (n_trees,) int32
    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32: the node below, or ~label
    bias: np.ndarray  # (n_slots,) float32
    scale: np.ndarray  # (n_slots,) float32: what codes are multiplied with
    first_row: np.ndarray  # (n_features + 1,) uint32 or int64
    nodes: np.ndarray  # (n_rows,) uint16 or uint32, ascending within a feature
    starts: np.ndarray  # (n_rows + 1,) uint32 or int64
    offsets: np.ndarray  # (n_weights,) uint8 or uint32: the slot of a weight, counted from the first of the node
    codes: np.ndarray  # (n_weights,) int16: a weight over the scale of its slot


class TreeArrays(NamedTuple):
    """The same trees with whole numbers of 32 and 64 bits and weights as they are, for tensors."""

    roots: np.ndarray  # (n_trees,) int32
    first_slot: np.ndarray  # (n_nodes + 1,) int64
    targets: np.ndarray  # (n_slots,) int32
    bias: np.ndarray  # (n_slots,) float32
    first_row: np.ndarray  # (n_features + 1,) int64
    nodes: np.ndarray  # (n_rows,) int32
    starts: np.ndarray  # (n_rows + 1,) int64
    slots: np.ndarray  # (n_weights,) int32
    weights: np.ndarray  # (n_weights,) float32


@njit(cache=True, nogil=True)
def search_trees(rows, trees, width, power, allowed, ids, best, reached):
    """Fill `ids` and `best` (n_documents, k) with the `allowed` labels of the highest mean probability over the trees.

    Documents are scaled to unit length. A tree that does not reach a label counts as zero. `reached` (n_nodes,) gets
    marks where a document came by.
    """
    n_trees = trees.roots.shape[0]
    n_labels = allowed.shape[0]
    share = np.float32(1 / n_trees)
    total = np.zeros(n_labels, np.float32)
    met = np.zeros(n_labels, np.bool_)
    touched = np.empty(n_labels, np.int32)
    nodes = np.empty(width, np.int32)  # where the document stands
    scores = np.empty(width, np.float32)  # how it got there, as log-probabilities
    for document in range(ids.shape[0]):
        first, end = rows.indptr[document], rows.indptr[document + 1]
        terms, values = rows.indices[first:end], scale_to_unit(rows.data[first:end])
        at = trees.first_row[terms]  # how far the list of each term is read; trees follow each other in it
        n_touched = 0
        for tree in range(n_trees):
            nodes[0] = trees.roots[tree]
            scores[0] = 0
            n_nodes = np.int64(1)
            while n_nodes > 0:
                first_found = _locate_slots(trees, nodes[:n_nodes])
                found = np.empty(first_found[n_nodes], np.float32)
                _fill_margins(trees, terms, values, at, nodes[:n_nodes], first_found, found)
                for place in range(n_nodes):
                    reached[nodes[place]] = True
                    slot_before = trees.first_slot[nodes[place]] - first_found[place]
                    for i in range(first_found[place], first_found[place + 1]):
                        found[i] = scores[place] - _compute_loss(found[i], power)
                        label = ~trees.targets[slot_before + i]
                        if label >= 0 and allowed[label]:
                            total[label] += share * np.exp(found[i])
                            if not met[label]:
                                met[label] = True
                                touched[n_touched] = label
                                n_touched += 1
                n_nodes = _descend_one_level(trees, nodes, scores, n_nodes, first_found, found)
        filled = np.int64(0)
        own_ids, own_best = ids[document], best[document]  # cut out once, not for every label
        for i in range(n_touched):
            if can_enter(own_best, filled, total[touched[i]]):
                filled = push_entry(own_ids, own_best, filled, touched[i], total[touched[i]])
            total[touched[i]] = 0
            met[touched[i]] = False
        sort_best_first(own_ids, own_best, filled)
        ids[document, filled:] = NO_LABEL
        best[document, filled:] = -np.inf


@njit(cache=True, inline="always")
def _compute_loss(margin, power):
    """Return max(0, 1 - margin)ᵖ."""
    short = max(np.float32(0), np.float32(1) - margin)
    loss = short
    for _ in range(1, power):
        loss *= short
    return loss


@njit(cache=True, nogil=True)
def _locate_slots(trees, nodes):
    """Return where the slots of each node start among those of all `nodes`, (n_nodes + 1,)."""
    first_found = np.zeros(nodes.shape[0] + 1, np.int64)
    for place in range(nodes.shape[0]):
        node = nodes[place]
        first_found[place + 1] = first_found[place] + trees.first_slot[node + 1] - trees.first_slot[node]
    return first_found


@njit(cache=True, nogil=True)
def scale_to_unit(values):
    """Return the values of a document, scaled so that it has length one; zeros stay zero."""
    square = 0.0
    for value in values:
        square += value * value
    factor = np.float32(1 / np.sqrt(square) if square > 0 else 0)
    scaled = np.empty(values.shape[0], np.float32)
    for i in range(values.shape[0]):
        scaled[i] = values[i] * factor
    return scaled


@njit(cache=True, nogil=True)
def _fill_margins(trees, terms, values, at, nodes, first_found, margins):
    """Fill `margins` with those of all slots of `nodes`, which ascend; `at` moves on in the list of every term."""
    margins[:] = 0
    for term in range(terms.shape[0]):
        row = np.int64(at[term])
        end = np.int64(trees.first_row[terms[term] + 1])
        value = values[term]
        for place in range(nodes.shape[0]):
            node = nodes[place]
            row = _leap_to_node(trees.nodes, row, end, node)
            if row == end:
                break
            if trees.nodes[row] == node:
                first = first_found[place]
                for cell in range(np.int64(trees.starts[row]), np.int64(trees.starts[row + 1])):
                    margins[first + trees.offsets[cell]] += value * np.float32(trees.codes[cell])
        at[term] = row
    for place in range(nodes.shape[0]):
        slot_before = trees.first_slot[nodes[place]] - first_found[place]
        for i in range(first_found[place], first_found[place + 1]):
            margins[i] = trees.bias[slot_before + i] + trees.scale[slot_before + i] * margins[i]


@njit(cache=True, nogil=True)
def _leap_to_node(nodes, row, end, node):
    """Return the first row from `row` on whose node is not before `node`: ever longer leaps, halving the last."""
    length = 1
    while row + length < end and nodes[row + length] <= node:
        row += length
        length *= 2
    if row == end or nodes[row] >= node:
        return row
    high = min(end, row + length)  # nodes[row] < node, and what is from `high` on is not
    while high - row > 1:
        middle = (row + high) // 2
        if nodes[middle] < node:
            row = middle
        else:
            high = middle
    return high


@njit(cache=True, nogil=True)
def collect_path_weights(trees, path, terms):
    """Return the weight of each term at each slot of `path`, which leads down a tree, (n_slots, n_terms) float64."""
    found = np.zeros((path.shape[0], terms.shape[0]))
    nodes = np.searchsorted(trees.first_slot, path, side="right") - 1
    for term in range(terms.shape[0]):
        row, end = np.int64(trees.first_row[terms[term]]), np.int64(trees.first_row[terms[term] + 1])
        for step in range(path.shape[0]):
            row = _leap_to_node(trees.nodes, row, end, nodes[step])
            if row == end:
                break
            if trees.nodes[row] == nodes[step]:
                offset = path[step] - trees.first_slot[nodes[step]]
                for cell in range(np.int64(trees.starts[row]), np.int64(trees.starts[row + 1])):
                    if trees.offsets[cell] == offset:
                        found[step, term] = trees.codes[cell] * trees.scale[path[step]]
    return found


@njit(cache=True, nogil=True)
def _descend_one_level(trees, nodes, scores, n_nodes, first_found, found):
    """Replace `nodes` and `scores` by the best nodes below them, in order; return how many there are."""
    ids = np.empty_like(nodes)
    best = np.empty_like(scores)
    filled = np.int64(0)
    for place in range(n_nodes):
        slot_before = trees.first_slot[nodes[place]] - first_found[place]
        for i in range(first_found[place], first_found[place + 1]):
            if trees.targets[slot_before + i] >= 0 and can_enter(best, filled, found[i]):
                filled = push_entry(ids, best, filled, trees.targets[slot_before + i], found[i])
    for i in range(filled):  # few: sorted by insertion
        here = i
        while here > 0 and nodes[here - 1] > ids[i]:
            nodes[here] = nodes[here - 1]
            scores[here] = scores[here - 1]
            here -= 1
        nodes[here] = ids[i]
        scores[here] = best[i]
    return filled
