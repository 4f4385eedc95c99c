"""Linear machines on an accelerator: the same problems, and the same results, as the compiled kernels on the CPU have.

Documents go to the device once, with a column of ones for the bias. A block of labels then needs their ids there and
the weights that stay back; nothing else travels. `xcwork.kernels.tensor_machines` has the mathematics.

- `TensorBlockTrainer`: labels against all documents, for one-vs-all and landmark labels (`one_vs_all_svm`);
- `TensorNodeTrainer`: labels against some of the documents, for the nodes of a label tree;
- `TensorPairSolver`: labels with documents and starting scores of their own (`pair_svm`), for ZestXML and SiameseXML.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device_memory import choose_batch_size, run_in_parts
from xcwork.compute.transfer import fetch_arrays, send_arrays
from xcwork.kernels.bilinear_training import LabelledPairs
from xcwork.kernels.machine_sizes import (
    BYTES_PER_ENTRY,
    MAX_ENTRIES_PER_BLOCK,
    count_block_labels,
    count_bytes_per_label,
)
from xcwork.kernels.tensor_machines import Documents, MachineSettings, OwnDocuments, SharedDocuments, solve_machines
from xcwork.kernels.tensor_rows import TensorRows, cut_by_size, find_starts

MIN_LABELS_FOR_COMMON_START = 9  # fewer are solved from zero

log = logging.getLogger(__name__)


def append_ones(X: sparse.csr_array) -> sparse.csr_array:
    """Return `X` with a column of ones behind it, as float32."""
    ones = np.ones((X.shape[0], 1), np.float32)
    return sparse.csr_array(sparse.hstack([X, ones], dtype=np.float32))


@dataclass(frozen=True, eq=False)
class TensorBlockTrainer:
    """Trains blocks of labels against all documents of one split."""

    documents: Documents  # (n_documents, n_used + 1)
    documents_of: TensorRows  # (n_labels, n_documents)
    settings: MachineSettings
    prune: float  # smaller weights are dropped
    columns: np.ndarray  # (n_used,): the features that some document has; others would only take room
    n_features: int

    @classmethod
    def from_matrices(
        cls, X: sparse.csr_array, Y: sparse.csr_array, settings: MachineSettings, prune: float, device: torch.device
    ) -> TensorBlockTrainer:
        """Copy documents (unit rows) and their labels to the device."""
        columns = np.unique(X.indices)
        used = np.searchsorted(columns, X.indices)
        compact = sparse.csr_array((X.data, used, X.indptr), shape=(X.shape[0], len(columns)))
        n_labels = int(np.count_nonzero(np.bincount(Y.indices, minlength=Y.shape[1])))
        documents = Documents.from_rows(TensorRows.from_csr(append_ones(compact), device), n_labels, settings.C)
        documents_of = TensorRows.from_csr(sparse.csr_array(Y.T), device)
        return cls(documents, documents_of, settings, prune, columns, X.shape[1])

    @property
    def block_size(self) -> int:
        """Labels whose tensors fit into the memory of a block."""
        X = self.documents.X
        per_label = count_bytes_per_label(X.n_rows, X.n_columns)
        wanted = count_block_labels(X.n_rows, X.n_columns, self.documents_of.n_rows)
        return choose_batch_size(wanted, lambda n: n * per_label, X.device, "labels")

    @cached_property
    def no_positives(self) -> torch.Tensor:
        """The coefficients (n_documents, 1) of a label that no document has, from which all others start."""
        return solve_without_positives(self.documents, self.settings)

    def train(self, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the pruned weights (n_labels, n_features) and biases (n_labels,) of `labels`."""
        device = self.documents_of.device.type
        return join_blocks(run_in_parts(len(labels), partial(self._train_part, labels), device, "labels"))

    def _train_part(self, block: np.ndarray, part: slice) -> tuple[sparse.csr_array, np.ndarray]:
        labels = block[part]
        assert self.documents_of.lengths is not None
        device = self.documents_of.device
        signs = torch.full((self.documents.X.n_rows, len(labels)), -1.0, device=device)
        n_positives = int(self.documents_of.lengths[labels].sum())
        slot, place = self.documents_of.list_entries(send_arrays(device, labels.astype(np.int64))[0], n_positives)
        signs[self.documents_of.columns[place], slot] = 1.0
        start = self.no_positives.expand(-1, len(labels)).contiguous()
        weights = find_weights(SharedDocuments(self.documents, signs), start, self.settings)
        label, column, values, bias = fetch_weights(weights.T, self.prune)
        return sparse.csr_array((values, (label, self.columns[column])), shape=(len(labels), self.n_features)), bias


@dataclass(frozen=True, eq=False)
class TensorNodeTrainer:
    """Trains labels, or sets of them, against some of the documents of one split."""

    X: TensorRows  # (n_documents, n_features + 1)
    settings: MachineSettings
    prune: float

    @classmethod
    def from_matrix(
        cls, X: sparse.csr_array, settings: MachineSettings, prune: float, device: torch.device
    ) -> TensorNodeTrainer:
        """Copy documents (unit rows) to the device."""
        return cls(TensorRows.from_csr(append_ones(X), device), settings, prune)

    def train(
        self, documents: np.ndarray, positives: Sequence[np.ndarray], slots_per_block: int
    ) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
        """Return (features with a weight ascending, their weights (n_rows, n_slots), biases (n_slots,)).

        Slot s tells positives[s], which are among `documents` (both ascending), from the others of them.
        """
        assert self.X.lengths is not None
        device = self.X.device
        rows = self.X.take(send_arrays(device, documents.astype(np.int64))[0], int(self.X.lengths[documents].sum()))
        features, columns = torch.unique(rows.columns, return_inverse=True)  # the bias is the last of them
        rows = TensorRows(rows.values, columns, rows.starts, len(features))
        local = Documents.from_rows(rows, len(positives), self.settings.C)
        start = torch.zeros((rows.n_rows, 1), device=device)
        if len(positives) >= MIN_LABELS_FOR_COMMON_START:
            start = solve_without_positives(local, self.settings)

        def train_slots(first: int, part: slice) -> tuple[torch.Tensor, ...]:
            some = positives[first + part.start : first + part.stop]
            place = np.concatenate([np.searchsorted(documents, having) for having in some])
            slot = np.repeat(np.arange(len(some)), [len(having) for having in some])
            signs = torch.full((rows.n_rows, len(some)), -1.0, device=device)
            signs.view(-1)[send_arrays(device, place * len(some) + slot)[0]] = 1.0
            machines = SharedDocuments(local, signs)
            weights = find_weights(machines, start.expand(-1, len(some)).contiguous(), self.settings)
            at, slots = torch.nonzero(find_kept(weights[:-1], self.prune), as_tuple=True)
            return features[at], slots + first + part.start, weights[at, slots], weights[-1]

        kept = []
        for first in range(0, len(positives), slots_per_block):
            n_slots = min(slots_per_block, len(positives) - first)
            kept += run_in_parts(n_slots, partial(train_slots, first), device.type, "labels")
        feature, slot, values, bias = fetch_arrays(*(torch.cat(parts) for parts in zip(*kept, strict=True)))
        used, row = np.unique(feature, return_inverse=True)
        shape = (len(used), len(positives))
        return used.astype(np.int32), sparse.csr_array((values, (row, slot)), shape=shape), bias


@dataclass(frozen=True, eq=False)
class TensorPairSolver:
    """Solves labels that have documents and starting scores of their own."""

    X: TensorRows  # (n_documents, n_features + 1)
    signs: TensorRows  # (n_labels, n_documents)
    offsets: torch.Tensor  # (n_pairs,)
    entries_of: np.ndarray  # (n_labels,): entries of the documents of each label, on the host
    settings: MachineSettings
    prune: float
    max_weights: int  # of a label

    @classmethod
    def from_pairs(
        cls,
        X: sparse.csr_array,
        pairs: LabelledPairs,
        settings: MachineSettings,
        device: torch.device,
        *,
        prune: float,
        max_weights: int,
    ) -> TensorPairSolver:
        """Copy documents and pairs, which are listed by label, to the device."""
        rows = TensorRows.from_csr(append_ones(X), device)
        assert rows.lengths is not None
        signs = sparse.csr_array(tuple(pairs.others), shape=(len(pairs.others.indptr) - 1, X.shape[0]))
        before = np.concatenate([[0], np.cumsum(rows.lengths[signs.indices])])
        return cls(
            rows,
            TensorRows.from_csr(signs, device),
            send_arrays(device, pairs.offsets.astype(np.float32))[0],
            np.diff(before[signs.indptr]),
            settings,
            prune,
            max_weights,
        )

    @property
    def width(self) -> int:
        """Weights that a label can have."""
        return min(self.max_weights, self.X.n_columns - 1)

    def solve(self, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the weights (n_labels, n_features) and biases (n_labels,) of one block."""
        if len(labels) == 0:
            return sparse.csr_array((0, self.X.n_columns - 1), dtype=np.float32), np.zeros(0, np.float32)
        solved = []
        for part in cut_by_size(self.entries_of[labels], self.entries_per_block, len(labels)):
            some = labels[part]
            solved += run_in_parts(len(some), partial(self._solve_part, some), self.X.device.type, "labels")
        return join_blocks(solved)

    @cached_property
    def entries_per_block(self) -> int:
        """Entries of the documents of labels that are solved together: as many as fit into the memory of the device."""
        wanted = int(min(MAX_ENTRIES_PER_BLOCK, max(1, self.entries_of.sum())))
        return choose_batch_size(wanted, lambda n: n * BYTES_PER_ENTRY, self.X.device, "words of documents")

    def _solve_part(self, block: np.ndarray, part: slice) -> tuple[sparse.csr_array, np.ndarray]:
        labels = block[part]
        assert self.signs.lengths is not None
        n_features = self.X.n_columns - 1
        machines, keys = self._lay_side_by_side(labels)
        weights = find_weights(machines, torch.zeros_like(machines.signs), self.settings)
        feature = keys % self.X.n_columns
        is_bias = feature == n_features
        bias = machines.sum_weights(torch.where(is_bias, weights, 0.0))
        kept = torch.nonzero(find_kept(weights, self.prune) & ~is_bias)[:, 0]
        label, column, values, biases = fetch_arrays(machines.label_of_weight[kept], feature[kept], weights[kept], bias)
        rows = sparse.csr_array((values, (label, column)), shape=(len(labels), n_features))
        return keep_largest_weights(rows, self.width), biases

    def _lay_side_by_side(self, labels: np.ndarray) -> tuple[OwnDocuments, torch.Tensor]:
        """Return the problems of `labels`, and label * (n_features + 1) + feature of each weight, ascending."""
        assert self.signs.lengths is not None
        n_pairs = int(self.signs.lengths[labels].sum())
        n_entries = int(self.entries_of[labels].sum())
        label_of_pair, pair = self.signs.list_entries(send_arrays(self.X.device, labels.astype(np.int64))[0], n_pairs)
        documents = self.signs.columns[pair]
        pair_of_entry, entry = self.X.list_entries(documents, n_entries)
        keys = label_of_pair[pair_of_entry] * self.X.n_columns + self.X.columns[entry]
        values = self.X.values[entry]
        del entry  # each is as long as the entries of all documents, so none stays longer than it has to
        # One sort finds the different keys and transposes.
        keys, order = torch.sort(keys, stable=True)
        is_new = torch.ones_like(keys, dtype=torch.bool)
        is_new[1:] = keys[1:] != keys[:-1]
        first = torch.nonzero(is_new)[:, 0]
        column = torch.cumsum(is_new, 0) - 1
        keys = keys[first]
        columns = torch.empty_like(order).scatter_(0, order, column)
        del column, is_new
        ends = torch.cat([first, first.new_full((1,), n_entries)])
        by_weight = TensorRows(values[order], pair_of_entry[order], ends, n_pairs)
        del order, pair_of_entry
        lengths = self.X.starts[documents + 1] - self.X.starts[documents]
        rows = TensorRows(values, columns, find_starts(lengths), len(keys))
        machines = OwnDocuments(
            rows,
            by_weight,
            self.signs.values[pair],
            self.offsets[pair],
            keys // self.X.n_columns,
            label_of_pair,
            len(labels),
        )
        return machines, keys


def join_blocks(blocks: Sequence[tuple[sparse.csr_array, np.ndarray]]) -> tuple[sparse.csr_array, np.ndarray]:
    """Return weights and biases of the labels of all blocks."""
    if len(blocks) == 1:
        return blocks[0]
    rows, biases = zip(*blocks, strict=True)
    return sparse.csr_array(sparse.vstack(rows)), np.concatenate(biases)


def solve_without_positives(documents: Documents, settings: MachineSettings) -> torch.Tensor:
    """Return the coefficients (n_documents, 1) of a label that no document has."""
    nobody = torch.full((documents.X.n_rows, 1), -1.0, device=documents.X.device)
    return solve_and_tell(SharedDocuments(documents, nobody), torch.zeros_like(nobody), settings)


def find_weights(
    machines: SharedDocuments | OwnDocuments, start: torch.Tensor, settings: MachineSettings
) -> torch.Tensor:
    """Return the weights that solve all labels, from the coefficients of `start`."""
    return machines.collect(solve_and_tell(machines, start, settings))


def solve_and_tell(
    machines: SharedDocuments | OwnDocuments, start: torch.Tensor, settings: MachineSettings
) -> torch.Tensor:
    """Return the coefficients that solve all labels; say in the log if some are not within the tolerance."""
    coefficients, n_left = solve_machines(machines, start, settings)
    if n_left:
        log.info("%d labels are not within the tolerance %g", n_left, settings.tolerance)
    return coefficients


def find_kept(weights: torch.Tensor, prune: float) -> torch.Tensor:
    """Return which weights are large enough to stay."""
    return (weights.abs() >= prune) & (weights != 0)


def fetch_weights(weights: torch.Tensor, prune: float) -> list[np.ndarray]:
    """Return label, feature and value of the weights that stay, and the biases, from (n_labels, n_features + 1)."""
    label, column = torch.nonzero(find_kept(weights[:, :-1], prune), as_tuple=True)
    return fetch_arrays(label, column, weights[label, column], weights[:, -1])


def keep_largest_weights(rows: sparse.csr_array, most: int) -> sparse.csr_array:
    """Return the `most` entries of largest size of every row; of equal ones those with the lowest column."""
    lengths = np.diff(rows.indptr)
    if lengths.max(initial=0) <= most:
        return rows
    row = np.repeat(np.arange(rows.shape[0]), lengths)
    order = np.lexsort((rows.indices, -np.abs(rows.data), row))
    kept = order[np.arange(rows.nnz) - rows.indptr[row] < most]
    kept.sort()
    indptr = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
    return sparse.csr_array((rows.data[kept], rows.indices[kept], indptr), shape=rows.shape)
