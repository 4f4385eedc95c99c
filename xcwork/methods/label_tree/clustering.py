"""Trees by clustering: the labels of a node are split by their centroids until few are left.

The centroid of a label is the sum of the unit rows of its documents, scaled to unit length. Clustering is spherical
k-means; each node has its own random numbers, so a tree does not depend on the order of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.compute.cluster import Cluster, get_cluster
from xcwork.compute.device import find_tensor_device
from xcwork.compute.parallel import block_map
from xcwork.kernels.tree_training import cluster_rows
from xcwork.methods.label_tree.shape import TreeShape
from xcwork.methods.label_tree.shares import SHARES_PER_THREAD
from xcwork.sparse import Rows, sort_entries, take_rows

if TYPE_CHECKING:
    from xcwork.kernels.tensor_rows import TensorRows

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
    device: str = "cpu"

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
            tensors = self._tensors
            if tensors is not None:
                return self.split_together(sets, tensors)
            place = get_cluster()
            if place is not None:
                return self._split_in_shares(sets, place, f"{phase}, level {depth}")
            return list(block_map(LabelClustering.split, self, sets, f"{phase}, level {depth}"))

        return TreeShape.from_root(labels, split_level)

    def _split_in_shares(self, sets: Sequence[LabelSet], place: Cluster, phase: str) -> list[Sequence[Any]]:
        """Return for each set what `split` returns, computed on a cluster whose workers get the centroids they need."""
        found: list[Sequence[Any]] = [one.members.tolist() for one in sets]
        large = [number for number, one in enumerate(sets) if len(one.members) > self.leaf_size]
        sizes = np.cumsum([len(sets[number].members) for number in large])
        limit = max(1, int(sizes[-1]) // (SHARES_PER_THREAD * place.threads))
        groups = np.split(large, np.flatnonzero(np.diff(sizes // limit)) + 1)

        def make_share(group: np.ndarray) -> ClusteringShare:
            some = [sets[number] for number in group]
            starts = np.cumsum([0, *(len(one.members) for one in some)], dtype=np.int32)
            local = [
                one._replace(members=np.arange(first, last, dtype=np.int32))
                for one, first, last in zip(some, starts[:-1], starts[1:], strict=True)
            ]
            return ClusteringShare(group, self.restrict_to(np.concatenate([one.members for one in some])), local)

        limit = len(self.centroids.data)
        for share, parts in place.map_stream(
            split_share, None, map(make_share, groups), phase, weigh=count_share_entries, max_weight=limit
        ):
            for number, local, some in zip(share.numbers, share.sets, parts, strict=True):
                members, first = sets[number].members, local.members[0]
                found[number] = [members[part - first] for part in some] if some else members.tolist()
        return found

    def restrict_to(self, labels: np.ndarray) -> LabelClustering:
        """Return what splits sets of `labels` alone, which it counts from zero."""
        return replace(self, centroids=take_rows(self.centroids, labels))

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

    @cached_property
    def _tensors(self) -> TensorRows | None:
        """The centroids on the device; None where compiled kernels split."""
        device = find_tensor_device(self.device)
        if device is None:
            return None
        from xcwork.kernels.tensor_rows import TensorRows

        shape = (len(self.centroids.indptr) - 1, self.n_features)
        return TensorRows.from_csr(sort_entries(sparse.csr_array(tuple(self.centroids), shape=shape)), device)

    def split_together(self, sets: Sequence[LabelSet], centroids: TensorRows) -> list[Sequence[Any]]:
        """Return for each set what `split` returns, all computed together on a device."""
        from xcwork.kernels.tensor_trees import cluster_sets

        parts = [[labels.members] for labels in sets]
        randoms = [np.random.default_rng(labels.seed) for labels in sets]
        large = [at for at, labels in enumerate(sets) if len(labels.members) > self.leaf_size]
        while large:
            chosen = [(at, members) for at in large for members in parts[at]]
            k = 2 if self.balanced else self.branching
            starts = [randoms[at].choice(len(m), min(k, len(m)), replace=False) for at, m in chosen]
            found = cluster_sets(
                centroids,
                [members for _, members in chosen],
                starts,
                balanced=self.balanced,
                least_gain=MIN_SIMILARITY_GAIN,
                max_rounds=MAX_ROUNDS,
            )
            for at in large:
                parts[at] = []
            for (at, members), clusters in zip(chosen, found, strict=True):
                parts[at] += [members[clusters == c] for c in range(k) if (clusters == c).any()]
            wanted = self.branching if self.balanced else 0
            large = [at for at in large if len(parts[at]) < min(wanted, len(sets[at].members))]
        return [
            halves if len(halves) > 1 else labels.members.tolist() for labels, halves in zip(sets, parts, strict=True)
        ]

    def _find_clusters(self, members: np.ndarray, k: int, random: np.random.Generator) -> list[np.ndarray]:
        """Return at most k clusters of `members`, by k-means."""
        k = min(k, len(members))
        starts = random.choice(len(members), k, replace=False)
        found = cluster_rows(
            self.centroids, self.n_features, members, starts, self.balanced and k == 2, MIN_SIMILARITY_GAIN, MAX_ROUNDS
        )
        return [members[found == c] for c in range(k) if (found == c).any()]


class ClusteringShare(NamedTuple):
    """Some sets of a level, and what splits them: the centroids of their labels alone."""

    numbers: np.ndarray
    clustering: LabelClustering
    sets: list[LabelSet]


def count_share_entries(share: ClusteringShare) -> int:
    """Return how many entries the centroids of a share have."""
    return len(share.clustering.centroids.data)


def split_share(nothing: None, share: ClusteringShare) -> list[list[np.ndarray]]:
    """Split the sets of a share; no parts where one cannot be divided."""
    found = [share.clustering.split(one) for one in share.sets]
    return [[] if isinstance(parts[0], int) else list(parts) for parts in found]
