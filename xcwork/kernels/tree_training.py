"""Growing and training a label tree: spherical k-means over label centroids, and the problem of a single node.

Every kernel works for one node, on one thread and without the GIL, so that the nodes of a tree run side by side.
"""

from __future__ import annotations

import numpy as np

from xcwork.kernels.stored_code import njit
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
    if count_entries(rows, members) < n_features:  # a small node should not pay for the features of all labels
        rows, features = gather_rows(rows, n_features, members)
        n_features = features.shape[0]
        members = np.arange(n_members).astype(members.dtype)
    means = np.zeros((n_features, k), np.float32)
    found = np.empty(n_members, np.int32)
    similarity = np.empty((n_members, k), np.float32)
    for c in range(k):
        _add_to_mean(rows, members[starts[c]], means, c)
    before = -np.inf
    for _ in range(max_rounds):
        _fill_similarities(rows, members, means, similarity)
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
            _add_to_mean(rows, members[i], means, found[i])
        _normalise_columns(means)
    return found


@njit(cache=True, nogil=True)
def _add_to_mean(rows, i, means, c):
    """Add row i to the mean of cluster c, which is not yet divided."""
    for at in range(rows.indptr[i], rows.indptr[i + 1]):
        means[rows.indices[at], c] += rows.data[at]


@njit(cache=True, nogil=True)
def _fill_similarities(rows, members, means, similarity):
    """Fill `similarity` (n_members, k) with mean·v."""
    similarity[:] = 0
    for i in range(similarity.shape[0]):
        row = similarity[i]
        for at in range(rows.indptr[members[i]], rows.indptr[members[i] + 1]):
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
def count_entries(rows, documents):
    """Return how many entries the rows `documents` have."""
    n_entries = 0
    for document in documents:
        n_entries += rows.indptr[document + 1] - rows.indptr[document]
    return n_entries


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
def copy_rows(part_starts, part_offsets, part_codes, places, starts, offsets, codes):
    """Write row i of some packed weights to row places[i] of others."""
    for row in range(places.shape[0]):
        to = np.int64(starts[places[row]])
        for cell in range(np.int64(part_starts[row]), np.int64(part_starts[row + 1])):
            offsets[to] = part_offsets[cell]
            codes[to] = part_codes[cell]
            to += 1


@njit(cache=True, nogil=True)
def sum_members(rows, n_features, starts, documents, counts, first, last, least):
    """Return the unit sums of the documents of the labels first … last - 1 as rows, scaled again without small entries.

    The documents of label l are documents[starts[l]:starts[l + 1]], each `counts` times. Entries below `least` of a
    unit sum are left out.
    """
    n_labels = last - first
    indptr = np.zeros(n_labels + 1, np.int64)
    for label in range(first, last):
        size = 0
        for at in range(starts[label], starts[label + 1]):
            size += rows.indptr[documents[at] + 1] - rows.indptr[documents[at]]
        # No more than 1 / least² entries of a unit row are as large as `least`.
        indptr[label - first + 1] = indptr[label - first] + min(size, np.int64(1.01 / least**2) + 1)
    data = np.empty(indptr[-1], np.float32)
    indices = np.empty(indptr[-1], np.int32)
    total = np.zeros(n_features, np.float32)
    met = np.zeros(n_features, np.bool_)
    touched = np.empty(n_features, np.int32)
    end = 0
    for label in range(first, last):
        n_touched = 0
        for at in range(starts[label], starts[label + 1]):
            for cell in range(rows.indptr[documents[at]], rows.indptr[documents[at] + 1]):
                feature = rows.indices[cell]
                if not met[feature]:
                    met[feature] = True
                    touched[n_touched] = feature
                    n_touched += 1
                total[feature] += rows.data[cell] * counts[at]
        square = 0.0
        for i in range(n_touched):
            square += np.float64(total[touched[i]]) ** 2
        limit = least * np.sqrt(square)
        begin = end
        kept = 0.0
        for i in range(n_touched):
            value = total[touched[i]]
            total[touched[i]] = 0
            met[touched[i]] = False
            if value >= limit and value > 0:
                indices[end] = touched[i]
                data[end] = value
                kept += np.float64(value) ** 2
                end += 1
        for i in range(begin, end):
            data[i] /= np.sqrt(kept)
        indptr[label - first + 1] = end
    return Rows(data[:end], indices[:end], indptr)
