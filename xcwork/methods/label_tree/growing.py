"""How the labels are split: by clustering their centroids, or as their own hierarchy says.

The centroid of a label is the sum of the unit rows of its documents, scaled to unit length. Clustering is spherical
k-means; every node draws from random numbers of its own, so a tree does not depend on the order of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xcwork.compute.parallel import block_map
from xcwork.core.labels import LabelSpace
from xcwork.errors import DataError
from xcwork.kernels.tree_training import cluster
from xcwork.methods.label_tree.forest import Shape
from xcwork.sparse import Rows

LEAST_GAIN = 1e-4  # in mean similarity, for another round of k-means
MAX_ROUNDS = 100


@dataclass(frozen=True)
class Clustering:
    """Splits sets of labels into clusters of similar ones."""

    centroids: Rows  # (n_labels, n_features), unit rows
    n_features: int
    branching: int
    balanced: bool
    leaf_size: int
    max_depth: int

    def grow(self, labels: np.ndarray, seed: Sequence[int], phase: str) -> Shape:
        """The tree over `labels`; a node with few labels, or at the greatest depth, has the labels below it."""
        depth, n_nodes = 0, 0

        def split_all(level: list[np.ndarray]) -> list[Sequence]:
            nonlocal depth, n_nodes
            nodes = list(enumerate(level, start=n_nodes))
            depth, n_nodes = depth + 1, n_nodes + len(level)
            if depth > self.max_depth or all(len(members) <= self.leaf_size for members in level):
                return [members.tolist() for members in level]
            tasks = [(members, (*seed, node)) for node, members in nodes]
            return list(block_map(_split, self, tasks, f"{phase}, level {depth}", light=True))

        return Shape.lay_out(labels, split_all)

    def split(self, members: np.ndarray, seed: Sequence[int]) -> Sequence:
        """The parts of a node, or its labels where it is small enough or of one piece."""
        if len(members) <= self.leaf_size:
            return members.tolist()
        random = np.random.default_rng(seed)
        parts = self._halves(members, random) if self.balanced else self._clusters(members, self.branching, random)
        return parts if len(parts) > 1 else members.tolist()

    def _halves(self, members: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
        """Balanced halves, and halves of those, until there are as many parts as branches."""
        parts = [members]
        while len(parts) < self.branching:
            parts = [half for part in parts for half in self._clusters(part, 2, random)]
        return parts

    def _clusters(self, members: np.ndarray, k: int, random: np.random.Generator) -> list[np.ndarray]:
        k = min(k, len(members))
        starts = random.choice(len(members), k, replace=False)
        found = cluster(
            self.centroids, self.n_features, members, starts, self.balanced and k == 2, LEAST_GAIN, MAX_ROUNDS
        )
        return [members[found == c] for c in range(k) if (found == c).any()]


def _split(clustering: Clustering, task: tuple[np.ndarray, Sequence[int]]) -> Sequence:
    return clustering.split(*task)


def given_tree(labels: LabelSpace, trained: np.ndarray) -> Shape:
    """The tree that the labels' own hierarchy describes, over the labels `trained`.

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
    children = _children(uids, labels.parents)
    label_of = {uids[label]: label for label in trained.tolist()}
    slots_of: dict[str | None, list[int | str]] = {}
    for uid in _leaves_first(children):
        below = [label_of[uid]] if uid in label_of else []
        for child in children.get(uid, ()):
            slots = slots_of[child]
            below += slots if len(slots) == 1 else [child] if slots else []
        slots_of[uid] = below
    root = None
    while len(slots_of[root]) == 1 and not isinstance(slots_of[root][0], int):
        root = slots_of[root][0]
    return Shape.lay_out(root, lambda level: [slots_of[uid] for uid in level])


def _children(uids: Sequence[str], parents: Sequence[Sequence[str]]) -> dict[str | None, list[str]]:
    """What hangs below each label, group or the root (None)."""
    parent_of = {uid: listed[0] if listed else None for uid, listed in zip(uids, parents, strict=True)}
    children: dict[str | None, list[str]] = {None: []}
    settled: set[str | None] = {None}
    for uid in list(parent_of):
        path: dict[str, None] = {}  # ordered
        while uid not in settled and uid not in path:
            path[uid] = None
            uid = parent_of.get(uid)
        if uid in path:  # round in a circle: cut it here
            parent_of[uid] = None
        for step in path:
            children.setdefault(parent_of.get(step), []).append(step)
        settled |= path.keys()
    return children


def _leaves_first(children: dict[str | None, list[str]]) -> list[str | None]:
    order: list[str | None] = [None]
    for uid in order:  # grows while it is read
        order += children.get(uid, ())
    return order[::-1]
