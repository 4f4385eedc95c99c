"""The square-root lasso by columns: every label as a sparse combination of others.

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
from numba import prange

from xcwork.kernels.stored_code import njit

COLUMNS_PER_CHUNK = 16  # columns that share a workspace
MIN_WORKING_SET_GROWTH = 8  # candidates that may join the working set together
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
    """The arrays that solutions are written to, one row per target."""

    support: np.ndarray  # (n_targets, width) int32
    values: np.ndarray  # (n_targets, width) float64
    sizes: np.ndarray  # (n_targets,) int64
    norms: np.ndarray  # (n_targets,) float64: ‖y - A z‖
    gaps: np.ndarray  # (n_targets,) float64: duality gap, relative to α ‖y‖


class _Workspace(NamedTuple):
    """Arrays over the candidates that the columns of a chunk share."""

    together: np.ndarray  # g, dense
    gradient: np.ndarray  # g - G z
    position: np.ndarray  # in the working set, or UNSEEN_POSITION or SEEN_POSITION
    touched: np.ndarray  # the candidates whose position is not UNSEEN_POSITION


class _WorkingSet(NamedTuple):
    """The working set: its Gram entries, coefficients and gradients, with room to grow."""

    gram: np.ndarray  # (capacity, capacity)
    z: np.ndarray  # (capacity,)
    gradient: np.ndarray  # (capacity,)


@njit(cache=True, parallel=True, nogil=True)
def solve_columns(counts, targets, alpha, tolerance, columns):
    """Fill `columns` with the solution of every target."""
    n_targets = targets.squares.shape[0]
    n_candidates = counts.diagonal.shape[0]
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
    n = targets.squares[target]
    width = chosen.shape[0]
    length = np.sqrt(n)
    least = 0.5 * tolerance * length  # s never falls below: a perfect fit would make the threshold vanish
    sharpness = tolerance * length
    n_touched = _enter_target(targets, target, work)
    active = _WorkingSet(
        np.empty((MIN_WORKING_SET_GROWTH, MIN_WORKING_SET_GROWTH)),
        np.zeros(MIN_WORKING_SET_GROWTH),
        np.empty(MIN_WORKING_SET_GROWTH),
    )
    size = 0
    norm = length
    gap = 0.0
    for _ in range(MAX_ROUNDS):
        n_touched = _compute_gradients(counts, targets.own[target], work, chosen, active.z, size, n_touched)
        norm, gap = _compute_certificate(n, alpha, least, work, chosen, active.z, size, n_touched)
        if gap <= tolerance:
            break
        s = max(norm, least)
        room = min(max(MIN_WORKING_SET_GROWTH, size), width - size)
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
        work.together[j] = 0.0
        work.gradient[j] = 0.0
        work.position[j] = UNSEEN_POSITION
    kept = 0
    for a in range(size):
        if active.z[a] != 0.0:
            chosen[kept] = chosen[a]
            values[kept] = active.z[a]
            kept += 1
    return kept, norm, gap


@njit(cache=True, nogil=True)
def _enter_target(targets, target, work):
    """Enter the target's co-occurrences into the workspace; return how many candidates are touched."""
    n_touched = 0
    for at in range(targets.indptr[target], targets.indptr[target + 1]):
        j = targets.indices[at]
        if j != targets.own[target]:
            work.together[j] = targets.data[at]
            work.position[j] = SEEN_POSITION
            work.touched[n_touched] = j
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
                        work.position[j] = SEEN_POSITION
                        work.touched[n_touched] = j
                        n_touched += 1
                    work.gradient[j] -= z[a] * counts.data[at]
    return n_touched


@njit(cache=True, nogil=True)
def _compute_certificate(n, alpha, least, work, chosen, z, size, n_touched):
    """Return (‖y - A z‖, duality gap relative to α ‖y‖)."""
    explained = 0.0  # zᵀ Aᵀ y
    shrunk = 0.0  # zᵀ Aᵀ r
    total = 0.0  # ‖z‖₁
    for a in range(size):
        j = chosen[a]
        explained += z[a] * work.together[j]
        shrunk += z[a] * work.gradient[j]
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
            found[n_found] = j
            excess[n_found] = abs(work.gradient[j]) / np.sqrt(documents[j])
            n_found += 1
    if n_found <= room:
        return found[:n_found]
    order = np.argsort(-excess[:n_found])
    return found[order[:room]]


@njit(cache=True, nogil=True)
def _enlarge_working_set(counts, active, work, chosen, size, grown):
    """Add the candidates `grown` to the working set, with the Gram entries from their rows of counts."""
    new_size = size + grown.shape[0]
    capacity = active.z.shape[0]
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
        threshold = s / alpha
        moved = 0.0
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
