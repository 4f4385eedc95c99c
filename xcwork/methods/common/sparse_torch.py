"""Sparse matrices times dense tensors, on an accelerator or with a compiled kernel on the CPU."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import has_float64, is_torch_wanted_on_cpu, resolve_device, resolve_device_kind
from xcwork.compute.transfer import send_arrays
from xcwork.kernels import one_at_a_time
from xcwork.kernels.dense_products import multiply_sparse_by_dense

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)


def find_accelerator(name: str) -> torch.device | None:
    """Return the accelerator that `name` stands for, or None where compiled kernels on the CPU are to be used."""
    if resolve_device_kind(name) == "cpu":
        return resolve_device("cpu") if is_torch_wanted_on_cpu() else None
    place = resolve_device(name)
    if not has_float64(place):
        log.info("%s has neither double precision nor sparse products; this part runs on the CPU", place.type.upper())
        return None
    return place


class SparseProduct:
    """A sparse matrix that multiplies dense tensors of one device."""

    def __init__(self, matrix: sparse.sparray, dtype: torch.dtype, device: torch.device, *, kernel: bool) -> None:
        import torch

        number = {torch.float32: np.float32, torch.float64: np.float64}[dtype]
        self.matrix = sparse.csr_array(matrix, dtype=number)
        self.shape = self.matrix.shape
        self._tensor: torch.Tensor | None = None  # where no kernel is used
        if not kernel:
            entries = (self.matrix.indptr.astype(np.int64), self.matrix.indices.astype(np.int64), self.matrix.data)
            starts, columns, values = send_arrays(device, *entries)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
                tensor = torch.sparse_csr_tensor(starts, columns, values, size=self.shape, check_invariants=False)
            self._tensor = tensor

    def __matmul__(self, dense: torch.Tensor) -> torch.Tensor:
        import torch

        if self._tensor is not None:
            return self._tensor @ dense
        out = np.empty((self.shape[0], dense.shape[1]), self.matrix.data.dtype)
        A = self.matrix
        factor = dense.contiguous().numpy()
        with one_at_a_time:
            multiply_sparse_by_dense(A.data, A.indices, A.indptr, factor, out)
        return torch.from_numpy(out)
