"""The tree that a dataset gives its labels: each label below its parent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xcwork.core.labels import LabelSpace
from xcwork.errors import DataError
from xcwork.methods.label_tree.shape import TreeShape

Children = dict[str | None, list[str]]  # what hangs below each label, group or the root (None)


def read_given_tree(labels: LabelSpace, trained: np.ndarray) -> TreeShape:
    """Return the tree that the labels' own hierarchy describes, over the labels `trained`.

    A broader label is a node with itself, if it is trained, and its narrower labels below. Of several parents the first
    counts; one that leads back to the label itself does not. A node with a single slot would decide nothing and is
    left out.
    """
    if labels.parents is None:
        raise DataError(
            "the labels of this dataset have no parents to make a tree of",
            remedy="add a parents field to the labels file, or choose kind=parabel or kind=bonsai",
        )
    uids = labels.uids or labels.names
    children = find_children(uids, labels.parents)
    label_of = {uids[label]: label for label in trained.tolist()}
    roots_first: list[str | None] = [None]
    for uid in roots_first:  # grows while it is read
        roots_first += children.get(uid, ())
    slots_of: dict[str | None, list[int | str]] = {}
    for uid in reversed(roots_first):
        below: list[int | str] = [label_of[uid]] if uid in label_of else []
        for child in children.get(uid, ()):
            slots = slots_of[child]
            below += slots if len(slots) == 1 else [child] if slots else []
        slots_of[uid] = below
    root: str | None = None
    while len(slots_of[root]) == 1 and isinstance(only := slots_of[root][0], str):
        root = only
    return TreeShape.from_root(root, lambda level: [slots_of[uid] for uid in level])


def find_children(uids: Sequence[str], parents: Sequence[Sequence[str]]) -> Children:
    """Return what hangs below each label, group or the root; a circle is cut where it was first entered."""
    parent_of = {uid: listed[0] if listed else None for uid, listed in zip(uids, parents, strict=True)}
    children: Children = {None: []}
    settled: set[str | None] = {None}
    for start in list(parent_of):
        uid: str | None = start
        path: dict[str, None] = {}  # ordered
        while uid is not None and uid not in settled and uid not in path:
            path[uid] = None
            uid = parent_of.get(uid)
        if uid is not None and uid in path:
            parent_of[uid] = None
        for step in path:
            children.setdefault(parent_of.get(step), []).append(step)
        settled |= path.keys()
    return children
