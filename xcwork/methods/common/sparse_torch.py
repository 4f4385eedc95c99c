"""Sparse matrices times dense tensors, on an accelerator or with a compiled kernel on the CPU."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve
from xcwork.kernels import one_at_a_time
from xcwork.kernels.sqrt_lasso import sparse_times_dense

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)


def accelerator(name: str) -> torch.device | None:
    """The accelerator that `name` stands for, or None when the CPU is to be used."""
    place = resolve(name)
    if place.type == "mps":
        log.info("MPS has neither double precision nor sparse products; the CPU is used")
    return None if place.type in ("cpu", "mps") else place


class Product:
    """A sparse matrix that multiplies dense tensors of one device."""

    def __init__(self, matrix: sparse.sparray, dtype: torch.dtype, device: torch.device, *, kernel: bool) -> None:
        import torch

        number = {torch.float32: np.float32, torch.float64: np.float64}[dtype]
        self.matrix = sparse.csr_array(matrix, dtype=number)
        self.shape = self.matrix.shape
        self._tensor = None
        if not kernel:
            starts, columns = self.matrix.indptr.astype(np.int64), self.matrix.indices.astype(np.int64)
            parts = [torch.as_tensor(part) for part in (starts, columns, self.matrix.data)]
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
                self._tensor = torch.sparse_csr_tensor(*parts, size=self.shape, check_invariants=False).to(device)

    def __matmul__(self, dense: torch.Tensor) -> torch.Tensor:
        import torch

        if self._tensor is not None:
            return self._tensor @ dense
        out = np.empty((self.shape[0], dense.shape[1]), self.matrix.data.dtype)
        A, factor = self.matrix, dense.contiguous().numpy()
        with one_at_a_time:
            sparse_times_dense(A.data, A.indices, A.indptr, factor, out)
        return torch.from_numpy(out)
