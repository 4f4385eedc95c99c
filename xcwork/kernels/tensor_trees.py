"""Label trees on a device: spherical k-means of many nodes at once, and beam search of many documents at once.

Both do what `xcwork.kernels.tree_training` and `xcwork.kernels.tree_search` do for one node and one document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import torch

from xcwork.compute.device_memory import run_in_parts
from xcwork.compute.transfer import send_arrays
from xcwork.kernels.tensor_rows import MAX_DENSE_NUMBERS, MAX_LISTED_ENTRIES, TensorRows
from xcwork.kernels.tensor_topk import find_top_k
from xcwork.kernels.tree_search import TreeArrays


def cluster_sets(
    rows: TensorRows,
    sets: Sequence[np.ndarray],
    starts: Sequence[np.ndarray],
    *,
    balanced: bool,
    least_gain: float,
    max_rounds: int,
) -> list[np.ndarray]:
    """Run spherical k-means on each of `sets`, rows with at least one member; return the cluster of each member, int32.

    `starts` are the positions of the first means among the members. `balanced` is for two clusters each.
    """
    most = max(1, MAX_DENSE_NUMBERS // (rows.n_columns * max(len(start) for start in starts)))

    def cluster_part(first: int, part: slice) -> list[np.ndarray]:
        some = slice(first + part.start, first + part.stop)
        return _cluster_block(rows, sets[some], starts[some], balanced, least_gain, max_rounds)

    found: list[np.ndarray] = []
    for first in range(0, len(sets), most):
        n_sets = min(most, len(sets) - first)
        for part in run_in_parts(n_sets, partial(cluster_part, first), rows.device.type, "nodes"):
            found += part
    return found


def _cluster_block(
    rows: TensorRows,
    sets: Sequence[np.ndarray],
    starts: Sequence[np.ndarray],
    balanced: bool,
    least_gain: float,
    max_rounds: int,
) -> list[np.ndarray]:
    assert rows.lengths is not None
    device = rows.device
    sizes = np.array([len(members) for members in sets])
    k = max(len(start) for start in starts)
    members = np.concatenate(sets)
    before = np.concatenate([[0], np.cumsum(sizes)])
    first_rows = np.concatenate([before[i] + start for i, start in enumerate(starts)])
    first_clusters = np.concatenate([i * k + np.arange(len(start)) for i, start in enumerate(starts)])
    listed, node, of_mean, cluster_of_mean, start, size = send_arrays(
        device,
        members.astype(np.int64),
        np.repeat(np.arange(len(sets)), sizes),  # (n_members,)
        first_rows,
        first_clusters,
        before[:-1],
        sizes,
    )
    local = rows.take(listed, int(rows.lengths[members].sum()))
    chosen = local.take(of_mean, int(rows.lengths[members[first_rows]].sum()))
    means = _sum_rows(chosen, cluster_of_mean, len(sets) * k)
    has_mean = torch.zeros(len(sets) * k, dtype=torch.bool, device=device)
    has_mean[cluster_of_mean] = True
    order = torch.arange(len(members), device=device)
    clusters = torch.zeros(len(members), dtype=torch.int64, device=device)
    best = torch.full((len(sets),), -torch.inf, device=device)
    is_done = torch.zeros(len(sets), dtype=torch.bool, device=device)
    place = order - start[node]  # of a member in its set
    half = (size + 1) // 2
    for _ in range(max_rounds):
        similar = _compare_with_means(local, node, means, k)  # (n_members, k)
        similar = torch.where(has_mean.view(-1, k)[node], similar, -torch.inf)
        if balanced:
            by_gap = torch.sort(similar[:, 1] - similar[:, 0], stable=True).indices
            by_node = by_gap[torch.sort(node[by_gap], stable=True).indices]
            now = torch.empty_like(clusters)
            now[by_node] = (place >= half[node]).to(torch.int64)
        else:
            now = torch.argmax(similar, dim=1)
        clusters = torch.where(is_done[node], clusters, now)
        nearness = torch.gather(similar, 1, clusters[:, None])[:, 0]
        total = torch.zeros(len(sets), device=device).index_add_(0, node, nearness) / size
        is_done |= total - best < least_gain
        best = torch.where(is_done, best, total)
        if bool(is_done.all()):
            break
        means = _sum_rows(local, node * k + clusters, len(sets) * k)
        lengths = means.square().sum(dim=1, keepdim=True).sqrt()
        means = torch.where(lengths > 0, means / lengths, 0.0)
    result = clusters.cpu().numpy().astype(np.int32)
    return [result[start:stop] for start, stop in pairwise(before)]


def _sum_rows(rows: TensorRows, clusters: torch.Tensor, n_clusters: int) -> torch.Tensor:
    """Return the sum of the rows of each cluster, (n_clusters, n_columns)."""
    flat = clusters[rows.row_numbers] * rows.n_columns + rows.columns
    sums = torch.zeros(n_clusters * rows.n_columns, device=rows.device).index_add_(0, flat, rows.values)
    return sums.view(n_clusters, rows.n_columns)


def _compare_with_means(rows: TensorRows, node: torch.Tensor, means: torch.Tensor, k: int) -> torch.Tensor:
    """Return the product of each row with all means of its node, (n_rows, k)."""
    by_column = means.view(-1, k, rows.n_columns).transpose(1, 2).reshape(-1, k)  # (n_nodes * n_columns, k)
    places = node[rows.row_numbers] * rows.n_columns + rows.columns
    return TensorRows(rows.values, places, rows.starts, len(by_column)) @ by_column


@dataclass(frozen=True, eq=False)
class TensorTrees:
    """Trained trees on a device."""

    keys: torch.Tensor  # (n_rows,) int64, ascending: feature * n_nodes + node of each row of weights
    cells: TensorRows  # (n_rows, n_slots)
    first_slot: torch.Tensor  # (n_nodes + 1,)
    targets: torch.Tensor  # (n_slots,): the node below, or ~label
    bias: torch.Tensor  # (n_slots,)
    levels: list[list[tuple[int, int]]]  # of each tree and level: (nodes, slots of the widest node)
    roots: list[int]

    @classmethod
    def from_arrays(cls, trees: TreeArrays, device: torch.device) -> TensorTrees:
        """Copy trees to the device."""
        n_nodes = len(trees.first_slot) - 1
        feature = np.repeat(np.arange(len(trees.first_row) - 1, dtype=np.int64), np.diff(trees.first_row))
        weights, slots, starts, keys, first_slot, targets, bias = send_arrays(
            device,
            trees.weights,
            trees.slots.astype(np.int64),
            trees.starts,
            feature * n_nodes + trees.nodes,
            trees.first_slot,
            trees.targets.astype(np.int64),
            trees.bias,
        )
        return cls(
            keys,
            TensorRows(weights, slots, starts, len(trees.targets)),
            first_slot,
            targets,
            bias,
            [_measure_levels(trees, int(root)) for root in trees.roots],
            trees.roots.tolist(),
        )

    @property
    def n_nodes(self) -> int:
        return len(self.first_slot) - 1

    @cached_property
    def n_slots(self) -> torch.Tensor:
        """Of each node, (n_nodes,)."""
        return self.first_slot.diff()

    def search(self, rows: TensorRows, width: int, power: int, allowed: torch.Tensor) -> torch.Tensor:
        """Return the mean probability of all labels over the trees, (n_documents, n_labels).

        -inf where no tree reaches a label, or where it is not `allowed` (n_labels,).
        """
        n_labels = len(allowed)
        total = torch.zeros((rows.n_rows, n_labels + 1), device=rows.device)  # the last column is for what is no label
        met = torch.zeros(total.shape, dtype=torch.bool, device=rows.device)
        for root, levels in zip(self.roots, self.levels, strict=True):
            self._search_tree(rows, root, levels, width, power, total, met)
        return torch.where(met[:, :n_labels] & allowed, total[:, :n_labels] / len(self.roots), -torch.inf)

    def _search_tree(
        self,
        rows: TensorRows,
        root: int,
        levels: list[tuple[int, int]],
        width: int,
        power: int,
        total: torch.Tensor,
        met: torch.Tensor,
    ) -> None:
        device = rows.device
        no_label = total.shape[1] - 1
        nodes = torch.full((rows.n_rows, 1), root, device=device)  # -1: nowhere
        scores = torch.zeros((rows.n_rows, 1), device=device)
        for level, (_, n_slots) in enumerate(levels):
            slot = torch.arange(n_slots, device=device)
            present = (nodes >= 0)[:, :, None] & (slot < self.n_slots[nodes.clamp(min=0)][:, :, None])
            place = torch.where(present, self.first_slot[nodes.clamp(min=0)][:, :, None] + slot, 0)
            margins = self._compute_margins(rows, nodes, n_slots) + self.bias[place]
            short = torch.clamp(1 - margins, min=0)
            loss = short
            for _ in range(1, power):
                loss = loss * short
            found = torch.where(present, scores[:, :, None] - loss, -torch.inf)  # (n_documents, n_at, n_slots)
            target = torch.where(present, self.targets[place], 0)
            label = torch.where(present & (target < 0), ~target, no_label).flatten(1)
            total.scatter_add_(1, label, torch.exp(found).flatten(1))
            met.scatter_(1, label, True)
            if level + 1 < len(levels):
                below = torch.where(present & (target >= 0), target, -1)
                nodes, scores = _choose_nodes(below.flatten(1), found.flatten(1), min(width, levels[level + 1][0]))

    def _compute_margins(self, rows: TensorRows, nodes: torch.Tensor, n_slots: int) -> torch.Tensor:
        """Return w·x of the slots of `nodes` (n_documents, n_at), (n_documents, n_at, n_slots)."""
        margins = torch.zeros((*nodes.shape, n_slots), device=rows.device)
        most = max(1, MAX_LISTED_ENTRIES // nodes.shape[1])
        for first in range(0, len(rows.values), most):
            some = slice(first, first + most)
            document = rows.row_numbers[some]
            wanted = rows.columns[some, None] * self.n_nodes + nodes[document]  # (n_entries, n_at)
            wanted = torch.where(nodes[document] >= 0, wanted, -1)
            row = torch.searchsorted(self.keys, wanted)
            is_there = self.keys[row.clamp(max=len(self.keys) - 1)] == wanted
            entry, at = torch.nonzero(is_there, as_tuple=True)
            row = row[entry, at]
            sizes = self.cells.starts[row + 1] - self.cells.starts[row]
            which, cell = self.cells.list_entries(row, int(sizes.sum()))
            entry, at = entry[which], at[which]
            document = document[entry]
            slot = self.cells.columns[cell] - self.first_slot[nodes[document, at]]
            flat = (document * nodes.shape[1] + at) * n_slots + slot
            margins.view(-1).index_add_(0, flat, rows.values[some][entry] * self.cells.values[cell])
        return margins


def _choose_nodes(nodes: torch.Tensor, scores: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best nodes of each row and their scores, (n_rows, width); of equal ones the lower; -1 for none."""
    order = torch.sort(nodes, dim=1, stable=True).indices  # so that a lower place means a lower node
    nodes = torch.gather(nodes, 1, order)
    scores = torch.where(nodes >= 0, torch.gather(scores, 1, order), -torch.inf)
    places, scores = find_top_k(scores, width)
    return torch.where(places >= 0, torch.gather(nodes, 1, places.clamp(min=0)), -1), scores


def _measure_levels(trees: TreeArrays, root: int) -> list[tuple[int, int]]:
    """Return of each level of a tree: (its nodes, the slots of the widest of them)."""
    level = np.array([root])
    found = []
    while len(level):
        firsts, lasts = trees.first_slot[level], trees.first_slot[level + 1]
        found.append((len(level), int((lasts - firsts).max())))
        slots = np.concatenate([np.arange(first, last) for first, last in zip(firsts, lasts, strict=True)])
        level = trees.targets[slots]
        level = level[level >= 0]
    return found


def count_documents_at_once(trees: TensorTrees, width: int, n_labels: int) -> int:
    """Return for how many documents the tensors of a search fit."""
    widest = max(min(width, n_nodes) * n_slots for levels in trees.levels for n_nodes, n_slots in levels)
    return max(1, MAX_DENSE_NUMBERS // (2 * n_labels + 6 * widest))
