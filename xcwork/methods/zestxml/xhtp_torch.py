"""XHTP's counting on an accelerator: the same sums as the numba kernel, as products of sparse torch matrices.

A block of features of side a meets all documents in one sparse product, n = A_blockᵀ B, whose entries are then ranked
row by row. The block is chosen so that n would fit into `BLOCK_BYTES` even if it was dense.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.compute.device_memory import run_in_parts
from xcwork.compute.transfer import fetch_arrays, send_arrays
from xcwork.kernels.bilinear import FeatureTotals
from xcwork.progress import track
from xcwork.sparse import sort_entries

BLOCK_BYTES = 2**28


def find_partners_torch(
    a: sparse.csr_array,
    b: sparse.csr_array,
    totals_a: FeatureTotals,
    totals_b: FeatureTotals,
    keep: int,
    blend: float,
    smoothing: float = 0.0,
    device: str = "cpu",
) -> list[tuple[sparse.csr_array, sparse.csr_array]]:
    """Return the best partners (columns of b) of every column of a, in blocks: their values v and their counts n."""
    n_rows = a.shape[1]
    n_columns = b.shape[1]
    by_feature = sparse.csr_array(a.T)
    place = resolve_device(device)
    by_document = make_tensor(b, place)
    relevant_b, occurrences_b = send_totals(totals_b, slice(None), place)
    width = min(keep, n_columns)
    size = max(1, BLOCK_BYTES // (16 * max(1, n_columns)))

    def count_part(first: int, part: slice) -> tuple[sparse.csr_array, sparse.csr_array]:
        start, stop = first + part.start, first + part.stop
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            product = torch.sparse.mm(make_tensor(by_feature[start:stop], place), by_document).coalesce()
        row, column = product.indices()  # in the order of rows, and of columns within a row
        n = product.values()
        relevant_a, occurrences_a = send_totals(totals_a, slice(start, stop), place)
        possible = blend * (relevant_a[row] + relevant_b[column] - n)
        possible = possible + (1 - blend) * (occurrences_a[row] * occurrences_b[column] + smoothing)
        values = torch.where(n > 0, n / possible, 0.0)
        # Stable sorts keep the lower id first among equals, as the kernel does.
        order = torch.sort(values, descending=True, stable=True).indices
        row, of_row = torch.sort(row[order], stable=True)
        order = order[of_row]
        n, values, column = n[order], values[order], column[order]
        first_of_row = torch.searchsorted(row, torch.arange(stop - start, device=place))
        rank = torch.arange(len(row), device=place) - first_of_row[row]
        kept = torch.nonzero((rank < width) & (n > 0))[:, 0]
        rows, columns, *best = fetch_arrays(row[kept], column[kept], values[kept], n[kept])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=stop - start))])
        best_values, best_counts = (
            sort_entries(sparse.csr_array((found.astype(np.float32), columns, indptr), shape=(stop - start, n_columns)))
            for found in best
        )
        return best_values, best_counts

    blocks = []
    for first in track(range(0, n_rows, size), "counting pairs"):
        n_here = min(size, n_rows - first)
        blocks += run_in_parts(n_here, partial(count_part, first), place.type, "features")
    return blocks


def send_totals(totals: FeatureTotals, some: slice, place: torch.device) -> list[torch.Tensor]:
    """Return how many relevant pairs, and how many documents, some features have."""
    return send_arrays(place, totals.relevant[some].astype(np.float64), totals.occurrences[some].astype(np.float64))


def make_tensor(matrix: sparse.csr_array, place: torch.device) -> torch.Tensor:
    """Return a sparse matrix as a tensor of double precision."""
    entries = sparse.coo_array(matrix)
    where, values = send_arrays(place, np.vstack(entries.coords).astype(np.int64), entries.data.astype(np.float64))
    return torch.sparse_coo_tensor(where, values, matrix.shape, check_invariants=False)
