"""Holding out documents without tearing groups apart.

Where labels are known for groups only, all members of a group have the same labels. A group with members on both sides
would show its labels to the model that is to be validated on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def number_groups(groups: Sequence[str]) -> np.ndarray:
    """Return the number of each document's group, in order of appearance; without a name, a group of its own."""
    numbers: dict[str | int, int] = {}
    return np.array([numbers.setdefault(group or row, len(numbers)) for row, group in enumerate(groups)], np.int64)


def keep_groups_whole(drawn: np.ndarray, group_of: np.ndarray | None) -> np.ndarray:
    """Return the rows to hold out: those drawn at random or, where documents have groups, at most as many in groups.

    The groups of the documents drawn first are held out as long as they fit; if none does, the smallest group is. One
    group of all documents separates nothing, so it is treated as none.
    """
    if group_of is None or len(drawn) == 0:
        return drawn
    sizes = np.bincount(group_of)
    if len(sizes) < 2:
        return drawn
    in_order = list(dict.fromkeys(group_of[drawn].tolist()))
    is_held, room = np.zeros(len(sizes), bool), len(drawn)
    for group in in_order:
        if sizes[group] <= room:
            is_held[group] = True
            room -= sizes[group]
    if not is_held.any():
        is_held[min([*in_order, *range(len(sizes))], key=sizes.__getitem__)] = True
    return np.flatnonzero(is_held[group_of])
