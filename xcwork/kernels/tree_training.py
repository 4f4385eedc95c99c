"""Growing and training a label tree: spherical k-means over label centroids, and the problem of a single node.

Every kernel works for one node, on one thread and without the GIL, so that the nodes of a tree run side by side.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from xcwork.sparse import Rows

# Sorting the entries of a node is faster than a look at all features when it has so many times fewer.
FEATURES_PER_SORTED_ENTRY = 30


@njit(cache=True, nogil=True)
def cluster_rows(rows, n_features, members, starts, balanced, least_gain, max_rounds):
    """Run spherical k-means on the unit rows `members`; return the cluster of each, (n_members,) int32.

    The first means are the members at the k positions `starts`. It ends when the mean similarity of the members to
    their cluster rises by less than `least_gain`. `balanced`, for k = 2, cuts the members in the middle when they are
    ordered by mean₀·v - mean₁·v: sizes differ by at most one. Otherwise each goes to its nearest mean, and a cluster
    may end up empty.
    """
    n_members = members.shape[0]
    k = starts.shape[0]
    # A small node should not pay for the features of all labels.
    rows, features = gather_rows(rows, n_features, members)
    means = np.zeros((features.shape[0], k), np.float32)
    found = np.empty(n_members, np.int32)
    similarity = np.empty((n_members, k), np.float32)
    for c in range(k):
        _add_to_mean(rows, starts[c], means, c)
    before = -np.inf
    for _ in range(max_rounds):
        _fill_similarities(rows, means, similarity)
        if balanced:
            order = np.argsort(similarity[:, 1] - similarity[:, 0], kind="mergesort")
            for place in range(n_members):
                found[order[place]] = 0 if place < (n_members + 1) // 2 else 1
        else:
            for i in range(n_members):
                found[i] = np.argmax(similarity[i])
        total = 0.0
        for i in range(n_members):
            total += similarity[i, found[i]]
        if total / n_members - before < least_gain:
            break
        before = total / n_members
        means[:] = 0
        for i in range(n_members):
            _add_to_mean(rows, i, means, found[i])
        _normalise_columns(means)
    return found


@njit(cache=True, nogil=True)
def _add_to_mean(rows, i, means, c):
    """Add row i to the mean of cluster c, which is not yet divided."""
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        means[rows.indices[at], c] += rows.data[at]


@njit(cache=True, nogil=True)
def _fill_similarities(rows, means, similarity):
    """Fill `similarity` (n_members, k) with mean·v."""
    similarity[:] = 0
    for i in range(similarity.shape[0]):
        row = similarity[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            value = rows.data[at]
            mean = means[rows.indices[at]]
            for c in range(row.shape[0]):
                row[c] += value * mean[c]


@njit(cache=True, nogil=True)
def _normalise_columns(means):
    """Scale the columns of `means` to unit length; those of zeros stay zero."""
    squares = np.zeros(means.shape[1], np.float64)
    for f in range(means.shape[0]):
        for c in range(means.shape[1]):
            squares[c] += means[f, c] * means[f, c]
    for c in range(means.shape[1]):
        squares[c] = 1 / np.sqrt(squares[c]) if squares[c] > 0 else 0
    for f in range(means.shape[0]):
        for c in range(means.shape[1]):
            means[f, c] *= squares[c]


@njit(cache=True, nogil=True)
def gather_rows(rows, n_features, documents):
    """Return (the rows `documents` in columns of their own, the feature behind each of those columns ascending)."""
    indptr = np.zeros(documents.shape[0] + 1, np.int64)
    for row in range(documents.shape[0]):
        indptr[row + 1] = indptr[row] + rows.indptr[documents[row] + 1] - rows.indptr[documents[row]]
    data = np.empty(indptr[-1], np.float32)
    indices = np.empty(indptr[-1], np.int32)
    for row in range(documents.shape[0]):
        first, last = rows.indptr[documents[row]], rows.indptr[documents[row] + 1]
        data[indptr[row] : indptr[row + 1]] = rows.data[first:last]
        indices[indptr[row] : indptr[row + 1]] = rows.indices[first:last]
    if indices.shape[0] * FEATURES_PER_SORTED_ENTRY < n_features:
        features = np.unique(indices)
        indices = np.searchsorted(features, indices).astype(np.int32)
    else:
        number = np.zeros(n_features, np.int32)
        number[indices] = 1
        features = np.flatnonzero(number).astype(np.int32)
        number[features] = np.arange(features.shape[0])
        indices = number[indices]
    return Rows(data, indices, indptr), features


@njit(cache=True, nogil=True)
def group_by_feature(weights, least):
    """Return the weights (n_slots, n_features) of at least that size, feature by feature: (starts, slots, values)."""
    n_slots, n_features = weights.shape
    starts = np.zeros(n_features + 1, np.int64)
    for slot in range(n_slots):
        for feature in range(n_features):
            starts[feature + 1] += abs(weights[slot, feature]) >= least and weights[slot, feature] != 0
    for feature in range(n_features):
        starts[feature + 1] += starts[feature]
    place = starts[:-1].copy()
    slots = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.float32)
    for slot in range(n_slots):
        for feature in range(n_features):
            if abs(weights[slot, feature]) >= least and weights[slot, feature] != 0:
                slots[place[feature]] = slot
                values[place[feature]] = weights[slot, feature]
                place[feature] += 1
    return starts, slots, values


@njit(cache=True, nogil=True)
def find_next_places(keys, filled):
    """Return the next free place of every key, (n_keys,) int64; `filled[key]` is where the next entry of a key goes."""
    places = np.empty(keys.shape[0], np.int64)
    for i in range(keys.shape[0]):
        places[i] = filled[keys[i]]
        filled[keys[i]] += 1
    return places


@njit(cache=True, nogil=True)
def copy_rows(indptr, indices, data, offset, places, starts, slots, values):
    """Write row i of a CSR matrix to row places[i] of another, its columns moved by `offset`."""
    for row in range(places.shape[0]):
        to = starts[places[row]]
        for cell in range(indptr[row], indptr[row + 1]):
            slots[to] = indices[cell] + offset
            values[to] = data[cell]
            to += 1
