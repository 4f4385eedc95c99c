"""Texts as bags of tokens: sums of token vectors, and the gradients of those sums."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F


class Bags:
    """The rows of a sparse matrix (n_texts, n_tokens) as bags of tokens."""

    def __init__(self, X: sparse.csr_array, device: torch.device) -> None:
        self._X, self._device = X, device

    def summed(self, table: torch.Tensor) -> torch.Tensor:
        """Σ value * row of every bag, (n_texts, dimension)."""
        if self._X.nnz == 0:
            return table.new_zeros(self._X.shape[0], table.shape[1])
        at, starts, values = self._tensors(self._X.indices, self._X.indptr, self._X.data)
        return F.embedding_bag(at, table, starts, mode="sum", per_sample_weights=values, include_last_offset=True)

    @cached_property
    def _columns(self) -> sparse.csc_array:
        return sparse.csc_array(self._X)

    @cached_property
    def tokens(self) -> torch.Tensor:
        """The tokens that occur, ascending."""
        return self._tensors(np.flatnonzero(np.diff(self._columns.indptr)))[0]

    def by_token(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(tokens that occur, where the entries of each start, texts of the entries, values of the entries)."""
        columns, tokens = self._columns, self.tokens.cpu().numpy()
        return tokens, np.append(columns.indptr[tokens], columns.nnz), columns.indices, columns.data

    def gradient_of_tokens(self, gradient: torch.Tensor) -> torch.Tensor:
        """Σ value * gradient of the texts with each token that occurs, (n_tokens that occur, dimension)."""
        tokens, starts, texts, values = self.by_token()
        place = np.repeat(np.arange(len(tokens)), np.diff(starts))
        place, texts, values = self._tensors(place, texts, values)
        return gradient.new_zeros(len(tokens), gradient.shape[1]).index_add_(
            0, place, values[:, None] * gradient[texts]
        )

    def _tensors(self, *arrays: np.ndarray) -> list[torch.Tensor]:
        whole = [array if array.dtype.kind == "f" else array.astype(np.int64) for array in arrays]
        return [torch.from_numpy(array).to(self._device) for array in whole]
