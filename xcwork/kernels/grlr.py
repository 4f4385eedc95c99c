"""Group-robust label representations (GRLR, algorithm 1 of EAGLE) and the members they point at.

For one label, let x_1 … x_m be the unit-length members of all groups that have it, w_i the weight of the group of x_i,
and v_i = <e, x_i>:

    e ← Proj(Σ w_i x_i)
    T times:  the winner of each group is its member with the largest v
              g ← Proj(Σ over winners of w_i x_i),   u_i = <g, x_i>
              e ← Proj(e + λ g),  that is  v ← (v + λ u) / ρ,  ρ = ‖e + λ g‖ = √(1 + 2 λ <e, g> + λ²)

*Careful* steps, for centred documents, differ in three ways. Winners common to all groups are subtracted: groups J,
drawn among all, enter the sum of g with negative weights. No group counts towards itself: members are compared by
v_i - o_i, where o is what their own group has contributed to v. And steps end early when the winners have settled:
nearly the same ones several times in a row.

Only products that can change a winner are computed: an old u gives v up to an error of ‖g - g'‖, so a group whose best
member leads its second by twice the error keeps its winner. The winners are exactly those of the algorithm.
`docs/methods/grlr.md` derives both.

Of equal members the first wins, and equal means up to rounding: the sum of two unit vectors is as close to one as to
the other, so a label that occurs in a single group of two is always a tie, which must not depend on the machine.

Proj(0) is undefined. Where the members cancel out, e starts at one of them, drawn with the label's random number; where
g cancels out, e stays. An empty document is nearest only where there is no other; a label whose members are all
empty keeps e = 0 and points at the first member of each group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcwork.kernels.centred_sums import (
    EMPTY_DOCUMENT_COSINE,
    add_row,
    add_sum,
    clear_sum,
    fill_cosines,
    measure_length,
    multiply_sums,
)
from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import push_entry, sort_best_first

COSINE_TIE_TOLERANCE = 1e-6  # cosines that differ by less are equal
SETTLED_STEPS = 2  # steps in a row with nearly the same winners, after which a label is settled
SETTLED_GROUPS_PER_CHANGE = 50  # winners are nearly the same when fewer than one in so many is new
MIN_SUM_LENGTH_SHARE = 1e-5  # a sum shorter than this share of its terms is rounding


class GroupLists(NamedTuple):
    """The members of every group."""

    documents: np.ndarray  # int32, group after group
    starts: np.ndarray  # (n_groups + 1,) int64


@njit(cache=True, nogil=True)
def _find_best_place(v, own, first, last, taken):
    """Return the first place whose v - own is as large as any, up to rounding, among those that are not taken."""
    largest = -np.inf
    for i in range(first, last):
        if not taken[i] and v[i] - own[i] > largest:
            largest = v[i] - own[i]
    best = first
    while taken[best] or v[best] - own[best] < largest - COSINE_TIE_TOLERANCE:
        best += 1
    return best


@njit(cache=True, nogil=True)
def _is_certain(v, own, first, last, error):
    """Tell whether one member leads all others even if every v is wrong by `error`."""
    largest, second = -np.inf, -np.inf
    for i in range(first, last):
        value = v[i] - own[i]
        if value > largest:
            largest, second = value, largest
        elif value > second:
            second = value
    return largest - second > 2 * error + COSINE_TIE_TOLERANCE


@njit(cache=True, nogil=True)
def _start_embedding(rows, sums_of_groups, groups, group_weights, members, weights, random, e):
    """Set e to Σ w_i x_i, or to a random member where that is 0; return what makes its length one, and if it was 0."""
    for j in range(groups.shape[0]):
        add_row(e, sums_of_groups, groups[j], group_weights[j])
    sizes = 0.0
    for i in range(members.shape[0]):
        sizes += weights[i] if rows.scale[members[i]] > 0 else 0
    length = measure_length(e, rows.mean_square[0])
    if length > MIN_SUM_LENGTH_SHARE * sizes:
        return 1 / length, False
    chosen = draw_member(rows.scale, members, random)
    clear_sum(e)
    if chosen >= 0:
        add_row(e, rows, members[chosen], 1.0)
    return 1.0, True


@njit(cache=True, nogil=True)
def compute_products_with_own_group(rows, sums_of_groups, bags, total):
    """Return <x_i, sum of its group> of every member, 0 for an empty one, (n_members,)."""
    products = np.empty(bags.documents.shape[0])
    for j in range(bags.starts.shape[0] - 1):
        add_row(total, sums_of_groups, j, 1.0)
        fill_cosines(total, 1.0, rows, bags.documents, bags.starts[j], bags.starts[j + 1], products)
        clear_sum(total)
    for i in range(products.shape[0]):
        if rows.scale[bags.documents[i]] == 0:
            products[i] = 0.0
    return products


@njit(cache=True, nogil=True)
def draw_member(scale, members, random):
    """Return the place of a member that is not empty, chosen by the number `random`, or -1."""
    candidates = 0
    for document in members:
        candidates += scale[document] > 0
    if candidates == 0:
        return -1
    wanted = np.int64(random % np.uint64(candidates))
    place = 0
    while wanted > 0 or scale[members[place]] == 0:
        wanted -= scale[members[place]] > 0
        place += 1
    return place


@njit(cache=True, nogil=True)
def _elect_winners(rows, members, firsts, e, factor, v, own, error, fresh, winners):
    """Elect the winner of every group; where v is not exact enough it is recomputed and the group marked in `fresh`."""
    none_taken = np.zeros(v.shape[0], np.bool_)
    for j in range(winners.shape[0]):
        first, last = firsts[j], firsts[j + 1]
        if error[j] > 0 and not _is_certain(v, own, first, last, error[j]):
            fill_cosines(e, factor, rows, members, first, last, v)
            error[j] = 0
            fresh[j] = True
        winners[j] = _find_best_place(v, own, first, last, none_taken)


@njit(cache=True, nogil=True)
def _replace_winners(rows, members, weights, old, new, total, change):
    """Let `total` be the sum of the new winners instead of the old; return the change of direction and the length."""
    square = rows.mean_square[0]
    changed = False
    for j in range(new.shape[0]):
        if old[j] != new[j]:
            changed = True
            if old[j] >= 0:
                add_row(change, rows, members[old[j]], -weights[old[j]])
            add_row(change, rows, members[new[j]], weights[new[j]])
    before = multiply_sums(total, total, square)
    if not changed:
        return 0.0, np.sqrt(max(before, 0.0))
    meeting = before + multiply_sums(total, change, square)
    add_sum(total, change, 1.0)
    clear_sum(change)
    length = measure_length(total, square)
    scale = np.sqrt(max(before, 0.0)) * length
    return np.sqrt(max(2 - 2 * meeting / scale, 0.0)) if scale > 0 else 2.0, length


@njit(cache=True, nogil=True)
def _descend_embedding(
    rows, members, weights, firsts, steps, rate, careful, e, factor, total, change, v, own, leave_out
):
    """Take the steps of algorithm 1 on e, which stands for factor * e, and return the new factor.

    `v` ends up exact enough.
    """
    n_groups = firsts.shape[0] - 1
    u = np.zeros_like(v)
    winners = np.empty(n_groups, np.int64)
    old = np.full(n_groups, -1, np.int64)
    error = np.zeros(n_groups)  # of v
    fresh = np.ones(n_groups, np.bool_)  # whether u is to be recomputed
    path = 0.0  # how far g has come
    since = np.zeros(n_groups)  # and how far it had come when u was computed
    winners_share = np.zeros_like(v)  # <winner of the group, x>
    same = 0  # steps in a row
    for _ in range(steps):
        _elect_winners(rows, members, firsts, e, factor, v, own, error, fresh, winners)
        same = same + 1 if SETTLED_GROUPS_PER_CHANGE * (winners != old).sum() < winners.shape[0] else 0
        if careful and same == SETTLED_STEPS:
            break
        turned, length = _replace_winners(rows, members, weights, old, winners, total, change)
        if leave_out:
            for j in range(n_groups):
                if winners[j] != old[j]:
                    add_row(change, rows, members[winners[j]], 1.0)
                    fill_cosines(change, 1.0, rows, members, firsts[j], firsts[j + 1], winners_share)
                    clear_sum(change)
        old[:] = winners
        path += turned
        sizes = 0.0
        for i in winners:
            sizes += abs(weights[i]) if rows.scale[members[i]] > 0 else 0
        if length <= MIN_SUM_LENGTH_SHARE * sizes:
            break
        agreement = factor * multiply_sums(e, total, rows.mean_square[0]) / length
        shrink = 1 / np.sqrt(1 + 2 * rate * agreement + rate * rate)
        add_sum(e, total, rate / (factor * length))
        factor *= shrink
        for j in range(n_groups):
            if fresh[j]:
                fill_cosines(total, 1 / length, rows, members, firsts[j], firsts[j + 1], u)
                fresh[j] = False
                since[j] = path
            for i in range(firsts[j], firsts[j + 1]):
                if v[i] > EMPTY_DOCUMENT_COSINE:
                    v[i] = (v[i] + rate * u[i]) * shrink
                    own[i] = (own[i] + rate * weights[i] * winners_share[i] / length) * shrink
            error[j] = (error[j] + rate * (path - since[j])) * shrink
    _elect_winners(rows, members, firsts, e, factor, v, own, error, fresh, winners)
    clear_sum(total)
    return factor


@njit(cache=True, nogil=True)
def mark_members(members, firsts, v, own, slots, documents):
    """Write the members of each group with the largest v - own, as many as it has slots, to `documents`."""
    taken = np.zeros(v.shape[0], np.bool_)
    for j in range(firsts.shape[0] - 1):
        for slot in range(slots[j], slots[j + 1]):
            best = _find_best_place(v, own, firsts[j], firsts[j + 1], taken)
            taken[best] = True
            documents[slot] = members[best]


@njit(cache=True, nogil=True)
def _keep_largest(e, factor, mean, ids, values):
    """Keep the largest entries of factor * e, with their signs."""
    if e.centre[0] != 0:
        for feature in range(mean.shape[0]):
            if mean[feature] != 0:
                if not e.in_use[feature]:
                    e.in_use[feature] = True
                    e.used[e.n_used[0]] = feature
                    e.n_used[0] += 1
                e.values[feature] -= e.centre[0] * mean[feature]
    filled = np.int64(0)
    for i in range(e.n_used[0]):
        filled = push_entry(ids, values, filled, e.used[i], abs(e.values[e.used[i]]))
    sort_best_first(ids, values, filled)
    for i in range(filled):
        values[i] = e.values[ids[i]] * factor


@njit(cache=True, nogil=True)
def assign_members(
    rows,
    sums_of_groups,
    own_sums,
    bags,
    own_groups,
    others,
    labels,
    slots,
    steps,
    rate,
    careful,
    random,
    sums,
    documents,
    kept_ids,
    kept,
):
    """Run GRLR for `labels`, and mark the members it points at.

    `sums_of_groups` are `CentredDocuments` too, one per group (see `sum_members`), and `own_sums` what
    `compute_products_with_own_group` returns. `own_groups` has the groups of each label and their weights (CSR, labels
    × groups), `others` those of J with their negative weights; `slots` says which stretch of `documents` is for the
    members of each entry of `own_groups`. The largest entries of the embedding of labels[at] go to row `at` of
    `kept_ids` and `kept`. `sums` are three empty ones to work with.
    """
    e, total, change = sums
    for at in range(labels.shape[0]):
        label = labels[at]
        begin, end = own_groups.indptr[label], own_groups.indptr[label + 1]
        n_own = end - begin
        against = slice(others.indptr[label], others.indptr[label + 1])
        takes_steps = steps > 0 and (against.stop > against.start or not careful)
        groups = np.concatenate((own_groups.indices[begin:end], others.indices[against]))
        group_weights = np.concatenate((own_groups.data[begin:end], others.data[against]))
        firsts = np.zeros(groups.shape[0] + 1, np.int64)
        for j in range(groups.shape[0]):
            firsts[j + 1] = firsts[j] + bags.starts[groups[j] + 1] - bags.starts[groups[j]]
        members = np.empty(firsts[-1], np.int32)
        weights = np.empty(firsts[-1], np.float32)
        for j in range(groups.shape[0]):
            members[firsts[j] : firsts[j + 1]] = bags.documents[bags.starts[groups[j]] : bags.starts[groups[j] + 1]]
            weights[firsts[j] : firsts[j + 1]] = group_weights[j]
        end_of_own = firsts[n_own]
        factor, cancelled = _start_embedding(
            rows,
            sums_of_groups,
            groups[:n_own],
            group_weights[:n_own],
            members[:end_of_own],
            weights[:end_of_own],
            random[label],
            e,
        )
        v = np.empty(firsts[-1], np.float64)
        fill_cosines(e, factor, rows, members, 0, firsts[-1], v)
        own = np.zeros_like(v)
        leave_out = careful and n_own > 1
        if takes_steps:
            if leave_out and not cancelled:
                for i in range(end_of_own):
                    own[i] = factor * weights[i] * own_sums[members[i]]
            factor = _descend_embedding(
                rows, members, weights, firsts, steps, rate, careful, e, factor, total, change, v, own, leave_out
            )
        for j in range(n_own):
            if slots[begin + j + 1] - slots[begin + j] > 1:  # the order of several members asks for all their products
                fill_cosines(e, factor, rows, members, firsts[j], firsts[j + 1], v)
        mark_members(members, firsts[: n_own + 1], v, own, slots[begin : end + 1], documents)
        _keep_largest(e, factor, rows.mean, kept_ids[at], kept[at])
        clear_sum(e)
