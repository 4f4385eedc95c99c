"""Random walks with restart on the graph of documents and labels: which labels are met near which.

A walk from a label steps to one of its documents and on to one of that document's labels; after each such step it
returns to its start with some probability. Every label has random numbers of its own, so the result does not depend on
threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from xcwork.kernels.stored_code import njit
from xcwork.kernels.topk import push_entry, sort_best_first


@njit(cache=True, nogil=True, inline="always")
def _advance_state(state):
    """Return the next state of xorshift64*."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@njit(cache=True, nogil=True)
def _draw_below(state, n):
    """Return a number below n from the upper bits of a state."""
    return np.int64(((state * np.uint64(2685821657736338717)) >> np.uint64(33)) % np.uint64(n))


@njit(cache=True, parallel=True, nogil=True)
def find_most_visited(documents, documents_start, labels, labels_start, walkers, random, steps, restart, ids, visits):
    """Fill `ids` and `visits` (n_walkers, k) with the labels that walks from each of `walkers` met most often.

    `documents[documents_start[l]:documents_start[l + 1]]` have label l, `labels[labels_start[i]:...]` belong to
    document i; `random` (n_walkers,) holds the states of the generators, none of them zero.
    """
    threshold = np.int64(restart * 2**31)
    for w in prange(walkers.shape[0]):
        start = walkers[w]
        state = random[w]
        met = np.empty(steps, np.int64)
        at = start
        for step in range(steps):
            state = _advance_state(state)
            document = documents[
                documents_start[at] + _draw_below(state, documents_start[at + 1] - documents_start[at])
            ]
            state = _advance_state(state)
            at = labels[
                labels_start[document] + _draw_below(state, labels_start[document + 1] - labels_start[document])
            ]
            met[step] = at
            state = _advance_state(state)
            if _draw_below(state, 2**31) < threshold:
                at = start
        met.sort()
        filled = np.int64(0)
        first = 0
        for step in range(1, steps + 1):
            if step == steps or met[step] != met[first]:
                filled = push_entry(ids[w], visits[w], filled, met[first], np.float32(step - first))
                first = step
        sort_best_first(ids[w], visits[w], filled)
