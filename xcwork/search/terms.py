"""Sparse products that are ranked, on whatever device: `start + X @ terms`, with terms that stay where they are needed.

    search = TermSearch(terms, start, device="auto")
    best = search.find(X, k)

On the CPU this is `top_k_product`, with terms that are brought into the types of the kernel once. On an accelerator the
terms are copied there once, with the first search; each block of rows then goes there, and its best columns come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.compute.transfer import fetch_arrays, send_arrays
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.search.exact import check_terms, rank_columns
from xcwork.sparse import Rows, normalise_rows, to_rows, to_unit_rows

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    import torch

    from xcwork.kernels.tensor_rows import TensorRows


@dataclass(frozen=True, eq=False)
class TermSearch:
    """Ranks columns for rows."""

    terms: sparse.csr_array  # (n_features, n_columns)
    start: np.ndarray | None = None  # (n_columns,): the score before any term counts, NaN where there is no column
    device: str = "cpu"

    def find(self, X: sparse.csr_array, k: int, *, among: np.ndarray | None = None, unit: bool = False) -> TopK:
        """Return the k best columns of every row of `start + X @ terms`, as `top_k_product` does."""
        place = find_tensor_device(self.device)
        if place is None:
            check_terms(X, self.terms, self.start)
            rows = to_unit_rows(X) if unit else to_rows(X)
            return rank_columns(rows, self._columns, self._base, k, every=self.start is not None, among=among)
        from xcwork.kernels.tensor_topk import find_top_k

        X = normalise_rows(X) if unit else X
        base = self._make_start(among, place)
        k = min(k, self.terms.shape[1])
        found = [fetch_ranking(*find_top_k(scores, k)) for scores in self.score(X, base, place)]
        return TopK.concatenate([TopK.make_empty(0, k), *found])

    @cached_property
    def _columns(self) -> Rows:
        """The terms in the types of kernels."""
        return to_rows(self.terms)

    @cached_property
    def _base(self) -> np.ndarray:
        """The score before any term counts, (n_columns,) float32."""
        return np.zeros(self.terms.shape[1], np.float32) if self.start is None else self.start.astype(np.float32)

    def score(self, X: sparse.csr_array, base: torch.Tensor, place: torch.device) -> Iterator[torch.Tensor]:
        """Yield the scores of blocks of rows, (n_rows, n_columns): -inf or NaN for columns that do not compete."""
        import torch

        from xcwork.kernels.tensor_rows import TensorRows, multiply_sparse

        if X.shape[1] != self.terms.shape[0]:
            raise DataError(f"rows of {X.shape[1]} features cannot meet terms of {self.terms.shape[0]} features")
        terms = self.get_tensors(place)
        for x in self._cut(X):
            total = base.expand(x.shape[0], -1).clone()
            met = multiply_sparse(TensorRows.from_csr(x, place), self._lengths[x.indices], terms, total)
            yield total if self.start is not None else torch.where(met, total, -torch.inf)

    def get_tensors(self, place: torch.device) -> TensorRows:
        """Return the terms on a device; they are copied there once."""
        from xcwork.kernels.tensor_rows import TensorRows

        if place not in self._tensors:
            self._tensors[place] = TensorRows.from_csr(self.terms, place)
        return self._tensors[place]

    @cached_property
    def _tensors(self) -> dict[torch.device, TensorRows]:
        return {}

    @cached_property
    def _lengths(self) -> np.ndarray:
        return np.diff(self.terms.indptr).astype(np.int64)

    def _make_start(self, among: np.ndarray | None, place: torch.device) -> torch.Tensor:
        n_columns = self.terms.shape[1]
        base = self._base.copy()
        if among is not None:
            outside = np.ones(n_columns, bool)
            outside[among] = False
            base[outside] = np.nan
        return send_arrays(place, base)[0]

    def _cut(self, X: sparse.csr_array) -> Iterator[sparse.csr_array]:
        """Yield blocks of rows whose scores fit in memory."""
        from xcwork.kernels.tensor_rows import MAX_DENSE_NUMBERS

        size = max(1, MAX_DENSE_NUMBERS // (4 * max(1, self.terms.shape[1])))
        for start in range(0, X.shape[0], size):
            yield X if X.shape[0] <= size else X[start : start + size]


def fetch_ranking(ids: torch.Tensor, scores: torch.Tensor) -> TopK:
    """Bring a ranking from its device."""
    ranked, theirs = fetch_arrays(ids, scores)
    return TopK(ranked.astype(np.int32), theirs)
