"""The hot loops of landmark label selection: the square-root lasso by columns, products of sparse and dense, scores.

`solve_columns` minimises, for every target label y independently,

    ‖z‖₁ + α ‖y - A z‖₂        over z, with A the columns of the candidate labels,

and sees the documents only through counts: the Gram matrix G = AᵀA, the co-occurrences g = Aᵀy and n = ‖y‖². It uses

    ‖r‖ = min over s of ‖r‖²/2s + s/2,

which makes the problem jointly convex in (z, s): coordinate descent on z with the soft threshold s/α alternates with
s = ‖y - A z‖. Descent runs on a small working set with a dense copy of its Gram entries; the gradients g - G z of all
other candidates are touched only when the set is complete, to look for violators. A candidate that shares no document
with y nor with any active candidate has gradient zero, so it is never looked at: the work follows the co-occurrences.

A column is finished when its duality gap is small: θ = c r with r = y - A z and c the largest factor for which
‖θ‖ ≤ α and ‖Aᵀθ‖∞ ≤ 1 is dual feasible, hence ‖z‖₁ + α ‖r‖ exceeds the optimum by at most ‖z‖₁ + α ‖r‖ - c r·y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from xcwork.kernels.topk import push_entry

COLUMNS_PER_CHUNK = 16  # columns or rows that share a workspace
MAX_SWEEPS = 500  # of coordinate descent on one working set
MAX_ROUNDS = 50  # of growing the working set or sharpening its solution
UNSEEN_POSITION = -1  # position of a candidate outside the working set that no gradient has touched
SEEN_POSITION = -2  # position of a candidate outside the working set that one has touched


class CooccurrenceCounts(NamedTuple):
    """Co-occurrence counts between candidates: a symmetric CSR matrix, and its diagonal."""

    data: np.ndarray  # float64
    indices: np.ndarray
    indptr: np.ndarray
    diagonal: np.ndarray  # (n_candidates,) float64: documents of each candidate


class LassoTargets(NamedTuple):
    """Co-occurrence counts of every target (row) with the candidates: a CSR matrix, and what belongs to a target."""

    data: np.ndarray  # float64
    indices: np.ndarray
    indptr: np.ndarray
    squares: np.ndarray  # (n_targets,) float64: documents of each target
    own: np.ndarray  # (n_targets,) int64: the candidate that is the target itself and may not be used, or -1


class SolutionColumns(NamedTuple):
    """Where the solutions go, one row a target."""

    support: np.ndarray  # (n_targets, width) int32
    values: np.ndarray  # (n_targets, width) float64
    sizes: np.ndarray  # (n_targets,) int64
    norms: np.ndarray  # (n_targets,) float64: ‖y - A z‖
    gaps: np.ndarray  # (n_targets,) float64: duality gap, relative to α ‖y‖


class _Workspace(NamedTuple):
    """Arrays over the candidates that the columns of a chunk share."""

    together: np.ndarray  # g, dense
    gradient: np.ndarray  # g - G z
    position: np.ndarray  # in the working set, or UNSEEN or SEEN
    touched: np.ndarray  # the candidates that are not UNSEEN


class _WorkingSet(NamedTuple):
    """The working set: its Gram entries, coefficients and gradients, with room to grow."""

    gram: np.ndarray  # (capacity, capacity)
    z: np.ndarray  # (capacity,)
    gradient: np.ndarray  # (capacity,)


@njit(cache=True, parallel=True, nogil=True)
def solve_columns(counts, targets, alpha, tolerance, columns):
    """Fill `columns` with the solution of every target."""
    n_targets, n_candidates = targets.squares.shape[0], counts.diagonal.shape[0]
    # Taken apart here because numba loses what a parallel loop writes through the fields of a tuple.
    support, values, sizes, norms, gaps = columns
    for chunk in prange((n_targets + COLUMNS_PER_CHUNK - 1) // COLUMNS_PER_CHUNK):
        work = _Workspace(
            np.zeros(n_candidates),
            np.zeros(n_candidates),
            np.full(n_candidates, UNSEEN_POSITION, np.int32),
            np.empty(n_candidates, np.int32),
        )
        for target in range(chunk * COLUMNS_PER_CHUNK, min(n_targets, (chunk + 1) * COLUMNS_PER_CHUNK)):
            sizes[target], norms[target], gaps[target] = _solve_column(
                counts, targets, target, alpha, tolerance, work, support[target], values[target]
            )


@njit(cache=True, nogil=True)
def _solve_column(counts, targets, target, alpha, tolerance, work, chosen, values):
    """Solve one column: fill `chosen` and `values`, return (support size, ‖y - A z‖, relative gap)."""
    n, width = targets.squares[target], chosen.shape[0]
    length = np.sqrt(n)
    least = 0.5 * tolerance * length  # s never falls below: a perfect fit would make the threshold vanish
    sharpness = tolerance * length
    n_touched = _enter_target(targets, target, work)
    active = _WorkingSet(np.empty((8, 8)), np.zeros(8), np.empty(8))
    size, norm, gap = 0, length, 0.0
    for _ in range(MAX_ROUNDS):
        n_touched = _compute_gradients(counts, targets.own[target], work, chosen, active.z, size, n_touched)
        norm, gap = _compute_certificate(n, alpha, least, work, chosen, active.z, size, n_touched)
        if gap <= tolerance:
            break
        s = max(norm, least)
        room = min(max(8, size), width - size)
        grown = _find_violators(work, n_touched, counts.diagonal, s / alpha, alpha, room)
        if grown.shape[0] == 0:
            if size == 0:
                break
            sharpness *= 0.1
        active = _enlarge_working_set(counts, active, work, chosen, size, grown)
        size += grown.shape[0]
        for a in range(size):
            active.gradient[a] = work.gradient[chosen[a]]
        _descend_working_set(active, work.together, chosen, size, n, alpha, s, least, sharpness)
    for i in range(n_touched):
        j = work.touched[i]
        work.together[j], work.gradient[j], work.position[j] = 0.0, 0.0, UNSEEN_POSITION
    kept = 0
    for a in range(size):
        if active.z[a] != 0.0:
            chosen[kept], values[kept] = chosen[a], active.z[a]
            kept += 1
    return kept, norm, gap


@njit(cache=True, nogil=True)
def _enter_target(targets, target, work):
    """Enter the target's co-occurrences into the workspace; returns how many candidates are touched."""
    n_touched = 0
    for at in range(targets.indptr[target], targets.indptr[target + 1]):
        j = targets.indices[at]
        if j != targets.own[target]:
            work.together[j], work.position[j], work.touched[n_touched] = targets.data[at], SEEN_POSITION, j
            n_touched += 1
    return n_touched


@njit(cache=True, nogil=True)
def _compute_gradients(counts, own, work, chosen, z, size, n_touched):
    """Compute g - G z for every candidate that shares a document with the target or an active candidate."""
    for i in range(n_touched):
        j = work.touched[i]
        work.gradient[j] = work.together[j]
    for a in range(size):
        if z[a] != 0.0:
            for at in range(counts.indptr[chosen[a]], counts.indptr[chosen[a] + 1]):
                j = counts.indices[at]
                if j != own:
                    if work.position[j] == UNSEEN_POSITION:
                        work.position[j], work.touched[n_touched] = SEEN_POSITION, j
                        n_touched += 1
                    work.gradient[j] -= z[a] * counts.data[at]
    return n_touched


@njit(cache=True, nogil=True)
def _compute_certificate(n, alpha, least, work, chosen, z, size, n_touched):
    """Return (‖y - A z‖, duality gap relative to α ‖y‖)."""
    explained, shrunk, total = 0.0, 0.0, 0.0
    for a in range(size):
        j = chosen[a]
        explained += z[a] * work.together[j]  # zᵀ Aᵀ y
        shrunk += z[a] * work.gradient[j]  # zᵀ Aᵀ r
        total += abs(z[a])
    norm = np.sqrt(max(n - explained - shrunk, 0.0))
    steepest = 0.0
    for i in range(n_touched):
        steepest = max(steepest, abs(work.gradient[work.touched[i]]))
    scale = alpha / max(norm, least)
    if steepest * scale > 1.0:
        scale = 1.0 / steepest
    gap = total + alpha * norm - scale * (n - explained)
    return norm, max(gap, 0.0) / (alpha * np.sqrt(n))


@njit(cache=True, nogil=True)
def _find_violators(work, n_touched, documents, threshold, alpha, room):
    """Find at most `room` candidates outside the working set, those with the largest gradients above the threshold."""
    n_found = 0
    found = np.empty(n_touched, np.int32)
    excess = np.empty(n_touched)
    for i in range(n_touched):
        j = work.touched[i]
        # ‖a_j‖ ≤ 1/α can never pay for its coefficient: |a_j·r| ≤ ‖a_j‖ ‖r‖ ≤ ‖r‖/α.
        if (
            work.position[j] == SEEN_POSITION
            and abs(work.gradient[j]) > threshold
            and documents[j] * alpha * alpha > 1.0
        ):
            found[n_found], excess[n_found] = j, abs(work.gradient[j]) / np.sqrt(documents[j])
            n_found += 1
    if n_found <= room:
        return found[:n_found]
    order = np.argsort(-excess[:n_found])
    return found[order[:room]]


@njit(cache=True, nogil=True)
def _enlarge_working_set(counts, active, work, chosen, size, grown):
    """Add `grown` to the working set: their Gram entries are read from their rows of counts."""
    new_size, capacity = size + grown.shape[0], active.z.shape[0]
    if new_size > capacity:
        capacity = max(2 * capacity, new_size)
        larger = _WorkingSet(np.empty((capacity, capacity)), np.zeros(capacity), np.empty(capacity))
        larger.gram[:size, :size] = active.gram[:size, :size]
        larger.z[:size] = active.z[:size]
        active = larger
    for i in range(grown.shape[0]):
        chosen[size + i] = grown[i]
        work.position[grown[i]] = size + i
    for a in range(size, new_size):
        active.z[a] = 0.0
        active.gram[a, :new_size] = 0.0
        active.gram[:new_size, a] = 0.0
    for a in range(size, new_size):
        for at in range(counts.indptr[chosen[a]], counts.indptr[chosen[a] + 1]):
            b = work.position[counts.indices[at]]
            if b >= 0:
                active.gram[a, b] = active.gram[b, a] = counts.data[at]
    return active


@njit(cache=True, nogil=True)
def _descend_working_set(active, together, chosen, size, n, alpha, s, least, tolerance):
    """Run coordinate descent on the working set, with s renewed after every sweep."""
    gram, z, gradient = active.gram, active.z, active.gradient
    for _ in range(MAX_SWEEPS):
        threshold, moved = s / alpha, 0.0
        for j in range(size):
            c = gradient[j] + gram[j, j] * z[j]
            new = (c - threshold if c > threshold else c + threshold if c < -threshold else 0.0) / gram[j, j]
            step = new - z[j]
            if step != 0.0:
                z[j] = new
                for i in range(size):
                    gradient[i] -= step * gram[j, i]
                moved = max(moved, abs(step) * np.sqrt(gram[j, j]))
        square = n
        for j in range(size):
            square -= z[j] * (together[chosen[j]] + gradient[j])
        renewed = max(np.sqrt(max(square, 0.0)), least)
        moved = max(moved, abs(renewed - s))
        s = renewed
        if moved <= tolerance:
            return


@njit(cache=True, parallel=True, nogil=True, fastmath={"contract"})
def multiply_sparse_by_dense(data, indices, indptr, dense, out):
    """Set out = A @ dense for a CSR matrix A; rows of `dense` and `out` lie contiguously.

    Four entries of A at a time: a row of `out` is then read and written a quarter as often.
    """
    for row in prange(out.shape[0]):
        total = out[row]
        total[:] = 0
        at, end = indptr[row], indptr[row + 1]
        while at + 4 <= end:
            a, b, c, d = data[at], data[at + 1], data[at + 2], data[at + 3]
            of_a, of_b = dense[indices[at]], dense[indices[at + 1]]
            of_c, of_d = dense[indices[at + 2]], dense[indices[at + 3]]
            for i in range(total.shape[0]):
                total[i] += (a * of_a[i] + b * of_b[i]) + (c * of_c[i] + d * of_d[i])
            at += 4
        while at < end:
            a, of_a = data[at], dense[indices[at]]
            for i in range(total.shape[0]):
                total[i] += a * of_a[i]
            at += 1


@njit(cache=True, parallel=True, nogil=True)
def compute_sparse_gram(data, indices, indptr, t_data, t_indices, t_indptr, out):
    """Set out = A Aᵀ, dense and symmetric; A comes as CSR together with its transpose."""
    for row in prange(out.shape[0]):
        total = out[row]
        total[:] = 0
        for at in range(indptr[row], indptr[row + 1]):
            value, feature = data[at], indices[at]
            for cell in range(t_indptr[feature], t_indptr[feature + 1]):
                total[t_indices[cell]] += value * t_data[cell]


@njit(cache=True, parallel=True, nogil=True)
def keep_largest_of_columns(matrix, ids, values):
    """Fill rows of `ids` (ascending) and `values` (n_columns, keep) with each column's entries of largest size."""
    n_rows, n_columns = matrix.shape
    keep = ids.shape[1]
    for chunk in prange((n_columns + COLUMNS_PER_CHUNK - 1) // COLUMNS_PER_CHUNK):
        first, last = chunk * COLUMNS_PER_CHUNK, min(n_columns, (chunk + 1) * COLUMNS_PER_CHUNK)
        sizes = np.empty((COLUMNS_PER_CHUNK, keep), matrix.dtype)
        for row in range(n_rows):
            for column in range(first, last):
                size = abs(matrix[row, column])
                if row < keep or size > sizes[column - first, 0]:
                    push_entry(ids[column], sizes[column - first], min(row, keep), row, size)
        for column in range(first, last):
            ids[column].sort()
            for at in range(keep):
                values[column, at] = matrix[ids[column, at], column]


@njit(cache=True, parallel=True, nogil=True)
def score_rows(X, direct, decoder, own, own_labels, out):
    """Set out[i] = (x_i direct) decoder + x_i own, with column j of `own` for label own_labels[j]; sums in double."""
    n_landmarks = decoder.indptr.shape[0] - 1
    for row in prange(out.shape[0]):
        landmarks = np.zeros(n_landmarks)
        total = np.zeros(out.shape[1])
        for at in range(X.indptr[row], X.indptr[row + 1]):
            value, term = np.float64(X.data[at]), X.indices[at]
            for cell in range(direct.indptr[term], direct.indptr[term + 1]):
                landmarks[direct.indices[cell]] += value * direct.data[cell]
        for landmark in range(n_landmarks):
            for cell in range(decoder.indptr[landmark], decoder.indptr[landmark + 1]):
                total[decoder.indices[cell]] += landmarks[landmark] * decoder.data[cell]
        for at in range(X.indptr[row], X.indptr[row + 1]):
            value, term = np.float64(X.data[at]), X.indices[at]
            for cell in range(own.indptr[term], own.indptr[term + 1]):
                total[own_labels[own.indices[cell]]] += value * own.data[cell]
        out[row] = total
