"""Trees by clustering: the labels of a node are split by their centroids until few are left.

The centroid of a label is the sum of the unit rows of its documents, scaled to unit length. Clustering is spherical
k-means; each node has its own random numbers, so a tree does not depend on the order of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xcwork.compute.parallel import block_map
from xcwork.kernels.tree_training import cluster_rows
from xcwork.methods.label_tree.shape import TreeShape
from xcwork.sparse import Rows

MIN_SIMILARITY_GAIN = 1e-4  # mean over the labels, for another round of k-means
MAX_ROUNDS = 100  # of k-means


class LabelSet(NamedTuple):
    """The labels of a node that may be split."""

    members: np.ndarray  # (n,) int32 label ids
    seed: tuple[int, ...]  # of the node


@dataclass(frozen=True)
class LabelClustering:
    """Splits sets of labels into clusters of similar ones."""

    centroids: Rows  # (n_labels, n_features), unit rows
    n_features: int
    branching: int
    balanced: bool
    leaf_size: int
    max_depth: int

    def grow_tree(self, labels: np.ndarray, seed: Sequence[int], phase: str) -> TreeShape:
        """Return the tree over `labels`; a node with few labels, or at the greatest depth, has the labels below it."""
        depth = 0
        n_nodes = 0

        def split_level(level: list[np.ndarray]) -> list[Sequence[Any]]:
            nonlocal depth, n_nodes
            nodes = list(enumerate(level, start=n_nodes))
            depth += 1
            n_nodes += len(level)
            if depth > self.max_depth or all(len(members) <= self.leaf_size for members in level):
                return [members.tolist() for members in level]
            sets = [LabelSet(members, (*seed, node)) for node, members in nodes]
            return list(block_map(LabelClustering.split, self, sets, f"{phase}, level {depth}", light=True))

        return TreeShape.from_root(labels, split_level)

    def split(self, labels: LabelSet) -> Sequence[Any]:
        """Return the parts of a node, or its labels where it is small enough or cannot be divided."""
        members = labels.members
        if len(members) <= self.leaf_size:
            return members.tolist()
        random = np.random.default_rng(labels.seed)
        if not self.balanced:
            parts = self._find_clusters(members, self.branching, random)
        else:  # halves, and halves of those, until there are as many parts as branches
            parts = [members]
            while len(parts) < min(self.branching, len(members)):
                parts = [half for part in parts for half in self._find_clusters(part, 2, random)]
        return parts if len(parts) > 1 else members.tolist()

    def _find_clusters(self, members: np.ndarray, k: int, random: np.random.Generator) -> list[np.ndarray]:
        """Return at most k clusters of `members`, by k-means."""
        k = min(k, len(members))
        starts = random.choice(len(members), k, replace=False)
        found = cluster_rows(
            self.centroids, self.n_features, members, starts, self.balanced and k == 2, MIN_SIMILARITY_GAIN, MAX_ROUNDS
        )
        return [members[found == c] for c in range(k) if (found == c).any()]
