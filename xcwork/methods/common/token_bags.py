"""Texts as bags of tokens: sums of token vectors, and the gradients of those sums."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from xcwork.compute.transfer import send_arrays


class TokenBags:
    """The rows of a sparse matrix (n_texts, n_tokens) as bags of tokens."""

    def __init__(self, X: sparse.csr_array, device: torch.device) -> None:
        self._X = X
        self._device = device

    def sum_tokens(self, table: torch.Tensor) -> torch.Tensor:
        """Return Σ value * row of every bag, (n_texts, dimension)."""
        if self._X.nnz == 0:
            return table.new_zeros(self._X.shape[0], table.shape[1])
        at, starts, values = self._send(self._X.indices, self._X.indptr, self._X.data)
        return F.embedding_bag(at, table, starts, mode="sum", per_sample_weights=values, include_last_offset=True)

    @cached_property
    def _columns(self) -> sparse.csc_array:
        return sparse.csc_array(self._X)

    def group_by_token(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the tokens that occur, where the entries of each start, and texts and values of the entries."""
        columns = self._columns
        tokens = np.flatnonzero(np.diff(columns.indptr))  # ascending
        return tokens, np.append(columns.indptr[tokens], columns.nnz), columns.indices, columns.data

    def sum_gradients(self, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tokens that occur, and Σ value * gradient of the texts with each, (n_occurring, dimension)."""
        tokens, starts, texts, values = self.group_by_token()
        places = np.repeat(np.arange(len(tokens)), np.diff(starts))
        at, place, text, value = self._send(tokens, places, texts, values)
        sums = gradient.new_zeros(len(tokens), gradient.shape[1])
        return at, sums.index_add_(0, place, value[:, None] * gradient[text])

    def _send(self, *arrays: np.ndarray) -> list[torch.Tensor]:
        """Return the arrays on the device, whole numbers with 64 bits."""
        whole = [array if array.dtype.kind == "f" else array.astype(np.int64, copy=False) for array in arrays]
        return send_arrays(self._device, *whole)
