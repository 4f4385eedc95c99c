"""XHTP's counting on an accelerator: the same sums as the numba kernel, as products of sparse torch matrices.

A block of features of side a meets all documents in one sparse product, n = A_blockᵀ B, whose rows are then ranked. The
block is chosen so that its dense n fits into `BLOCK_BYTES`.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from xcwork.kernels.bilinear import FeatureTotals
from xcwork.progress import track
from xcwork.sparse import gather_filled

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
    by_document = make_tensor(b, device)
    relevant_b = torch.as_tensor(totals_b.relevant, dtype=torch.float64, device=device)
    occurrences_b = torch.as_tensor(totals_b.occurrences, dtype=torch.float64, device=device)
    width = min(keep, n_columns)
    size = max(1, BLOCK_BYTES // (16 * max(1, n_columns)))
    blocks = []
    for start in track(range(0, n_rows, size), "counting pairs"):
        stop = min(start + size, n_rows)
        n = torch.sparse.mm(make_tensor(by_feature[start:stop], device), by_document).to_dense()  # (block, n_columns)
        relevant_a, occurrences_a = (
            torch.as_tensor(part[start:stop], dtype=torch.float64, device=device)[:, None]
            for part in (totals_a.relevant, totals_a.occurrences)
        )
        possible = blend * (relevant_a + relevant_b - n) + (1 - blend) * (occurrences_a * occurrences_b + smoothing)
        values = torch.where(n > 0, n / possible, 0.0)
        # A stable sort keeps the lower id first among equals, as the kernel does.
        values, ids = torch.sort(values, dim=1, descending=True, stable=True)
        values, ids = values[:, :width], ids[:, :width]
        counts = torch.gather(n, 1, ids)
        filled = (counts > 0).sum(dim=1).cpu().numpy()
        partners = ids.cpu().numpy()
        best_values, best_counts = (
            gather_filled(partners, part.cpu().numpy().astype(np.float32), filled, n_columns)
            for part in (values, counts)
        )
        blocks.append((best_values, best_counts))
    return blocks


def make_tensor(matrix: sparse.csr_array, device: str) -> torch.Tensor:
    """Return a sparse matrix as a tensor of double precision."""
    entries = sparse.coo_array(matrix)
    indices = torch.as_tensor(np.vstack(entries.coords).astype(np.int64))
    return torch.sparse_coo_tensor(indices, entries.data.astype(np.float64), matrix.shape, check_invariants=False).to(
        device
    )
