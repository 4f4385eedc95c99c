"""Sparse matrices on a device, made of plain tensors, so that any back end of PyTorch can compute with them.

A product with a dense matrix is an `embedding_bag`: each row of the result is a weighted sum of rows of the dense one.
A product of two sparse matrices lists the entries that meet and adds them up at their places; how many there are is
known on the host, from the lengths of rows, so that it never waits for the device. On CUDA such sums are added in any
order: two runs agree to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch.nn.functional import embedding_bag

from xcwork.compute.transfer import send_arrays

MAX_LISTED_ENTRIES = 2**22  # that meet in one step of a sparse product: about 100 MB
MAX_DENSE_NUMBERS = 2**25  # of a dense block of scores: 128 MB


@dataclass(frozen=True, eq=False)
class TensorRows:
    """A CSR matrix on a device. The lengths of its rows may be known on the host too, where products are planned."""

    values: torch.Tensor  # (nnz,) float32
    columns: torch.Tensor  # (nnz,) int64
    starts: torch.Tensor  # (n_rows + 1,) int64
    n_columns: int
    lengths: np.ndarray | None = None  # (n_rows,) int64, on the host

    @classmethod
    def from_csr(cls, matrix: sparse.csr_array, device: torch.device) -> TensorRows:
        """Copy a matrix to the device."""
        values, columns, starts = send_arrays(
            device,
            matrix.data.astype(np.float32, copy=False),
            matrix.indices.astype(np.int64, copy=False),
            matrix.indptr.astype(np.int64, copy=False),
        )
        return cls(values, columns, starts, matrix.shape[1], np.diff(matrix.indptr).astype(np.int64))

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    @property
    def device(self) -> torch.device:
        return self.values.device

    @cached_property
    def ends(self) -> np.ndarray:
        """Where the entries of each row end, on the host, (n_rows,)."""
        assert self.lengths is not None
        return np.cumsum(self.lengths)

    @cached_property
    def row_numbers(self) -> torch.Tensor:
        """The row of each entry, (nnz,)."""
        return repeat_numbers(self.starts.diff(), len(self.values))

    def __matmul__(self, dense: torch.Tensor) -> torch.Tensor:
        """Return the product with `dense` (n_columns, width), (n_rows, width)."""
        if len(self.values) == 0:
            return dense.new_zeros((self.n_rows, dense.shape[1]))
        return embedding_bag(
            self.columns,
            dense,
            self.starts,
            mode="sum",
            per_sample_weights=self.values.to(dense.dtype),
            include_last_offset=True,
        )

    def transpose(self) -> TensorRows:
        """Return the matrix with rows and columns exchanged."""
        columns, order = torch.sort(self.columns, stable=True)
        starts = torch.searchsorted(columns, torch.arange(self.n_columns + 1, device=self.device))
        return TensorRows(self.values[order], self.row_numbers[order], starts, self.n_rows)

    def cut(self, some: slice) -> TensorRows:
        """Return neighbouring rows."""
        assert self.lengths is not None
        first, last = (int(self.ends[at - 1]) if at else 0 for at in (some.start, some.stop))
        starts = self.starts[some.start : some.stop + 1] - first
        return TensorRows(self.values[first:last], self.columns[first:last], starts, self.n_columns, self.lengths[some])

    def take(self, rows: torch.Tensor, n_entries: int) -> TensorRows:
        """Return some rows, which have `n_entries` entries."""
        _, places = self.list_entries(rows, n_entries)
        return TensorRows(self.values[places], self.columns[places], find_starts(self._measure(rows)), self.n_columns)

    def keep(self, has_row: torch.Tensor, has_column: torch.Tensor, n_columns: int) -> TensorRows:
        """Return the rows that are marked, with the `n_columns` columns that are; no other column may have an entry."""
        entries = torch.nonzero(has_row[self.row_numbers])[:, 0]
        number = torch.cumsum(has_column, 0) - 1
        starts = find_starts(self.starts.diff()[has_row])
        return TensorRows(self.values[entries], number[self.columns[entries]], starts, n_columns)

    def list_entries(self, rows: torch.Tensor, n_entries: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (which of `rows` it is of, its place in `values`) of all `n_entries` entries of `rows` (n,)."""
        sizes = self._measure(rows)
        which = repeat_numbers(sizes, n_entries)
        before = find_starts(sizes)[:-1]
        places = torch.arange(n_entries, device=self.device) + (self.starts[rows] - before)[which]
        return which, places

    def _measure(self, rows: torch.Tensor) -> torch.Tensor:
        return self.starts[rows + 1] - self.starts[rows]


def repeat_numbers(sizes: torch.Tensor, total: int) -> torch.Tensor:
    """Return 0 sizes[0] times, 1 sizes[1] times and so on, `total` numbers."""
    numbers = torch.arange(len(sizes), device=sizes.device)
    return torch.repeat_interleave(numbers, sizes, output_size=total)


def find_starts(sizes: torch.Tensor) -> torch.Tensor:
    """Return where each part starts, and where the last one ends, (n_parts + 1,)."""
    return torch.cat([sizes.new_zeros(1), torch.cumsum(sizes, 0)])


def cut_by_size(sizes: np.ndarray, most: int, max_rows: int) -> list[slice]:
    """Return stretches of rows of at most `max_rows`, whose sizes add up to at most `most` unless one row has more."""
    ends = np.cumsum(sizes)
    parts = []
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + most, side="right"))
        stop = min(max(stop, start + 1), start + max_rows, len(sizes))
        parts.append(slice(start, stop))
        start = stop
    return parts


def add_sparse_product(
    rows: TensorRows, first_entry: int, n_entries: int, terms: TensorRows, n_met: int, total: torch.Tensor
) -> torch.Tensor:
    """Add some entries of `rows` times `terms` to `total` (n_rows, n_columns); return the places that were met.

    `n_met` is the number of entries of `terms` that they meet.
    """
    some = slice(first_entry, first_entry + n_entries)
    which, places = terms.list_entries(rows.columns[some], n_met)
    flat = rows.row_numbers[some][which] * terms.n_columns + terms.columns[places]
    total.view(-1).index_add_(0, flat, rows.values[some][which] * terms.values[places])
    return flat


def multiply_sparse(rows: TensorRows, entries_met: np.ndarray, terms: TensorRows, total: torch.Tensor) -> torch.Tensor:
    """Add rows @ terms to `total` (n_rows, n_columns); return which places were met, bool.

    `entries_met` (nnz of `rows`,) are the lengths of the rows of `terms` that each entry meets.
    """
    met = torch.zeros(total.shape, dtype=torch.bool, device=total.device)
    for part in cut_by_size(entries_met, MAX_LISTED_ENTRIES, len(entries_met) or 1):
        n_met = int(entries_met[part].sum())
        flat = add_sparse_product(rows, part.start, part.stop - part.start, terms, n_met, total)
        met.view(-1)[flat] = True
    return met
