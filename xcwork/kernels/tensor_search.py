"""Exact search among dense vectors on a device, in blocks, with half precision where it can be proven to be enough.

In half precision a product is wrong by at most a few units of rounding times the lengths of both vectors. So the best
few hundred by half precision are compared again in single precision, and if the k-th of them is further above the last
one than that error, no other vector can be among the k best. Queries for which this does not hold are searched in
single precision altogether: the result is exact in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from xcwork.kernels.tensor_topk import find_top_k

ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
ERROR_UNITS = 8  # of rounding: both factors, the result, and sums that some devices keep in half precision
MAX_HALF_PRODUCT = 2.0**14  # float16 ends at 65,504
KEPT_PER_RESULT = 4  # vectors that are compared again for each one asked for
MIN_KEPT = 64
SCORES_PER_BLOCK = 2**23  # 32 MB


@dataclass(frozen=True, eq=False)
class TensorVectors:
    """Vectors on a device."""

    vectors: torch.Tensor  # (n, dimension) float32
    precision: torch.dtype = torch.float32

    @cached_property
    def half(self) -> torch.Tensor:
        return self.vectors.to(self.precision)

    @cached_property
    def longest(self) -> float:
        """The length of the longest vector."""
        return float(self.vectors.square().sum(dim=1).max().sqrt())

    def search(self, queries: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids and inner products of the k best vectors of each query, (n_queries, k)."""
        n_vectors = len(self.vectors)
        n_kept = max(KEPT_PER_RESULT * k, MIN_KEPT)
        if self.precision == torch.float32 or n_kept >= n_vectors:
            return find_best(queries, self.vectors, k)
        lengths = queries.square().sum(dim=1).sqrt()
        rough_ids, rough = find_best(queries.to(self.precision), self.half, n_kept)
        again = torch.bmm(self.vectors[rough_ids], queries[:, :, None])[:, :, 0]  # (n_queries, n_kept)
        by_id = torch.sort(rough_ids, dim=1)  # a lower place means a lower id
        places, scores = find_top_k(torch.gather(again, 1, by_id.indices), k)
        ids = torch.gather(by_id.values, 1, places)
        error = ERROR_UNITS * ROUNDING[self.precision] * lengths * self.longest
        is_proven = (scores[:, -1] > rough[:, -1] + error) & (lengths * self.longest < MAX_HALF_PRODUCT)
        doubtful = torch.nonzero(~is_proven)[:, 0]
        if len(doubtful):
            ids[doubtful], scores[doubtful] = find_best(queries[doubtful], self.vectors, k)
        return ids, scores


def find_best(queries: torch.Tensor, vectors: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and inner products (float32) of the k best of `vectors`, a block of them at a time."""
    n_at_once = max(k, SCORES_PER_BLOCK // max(1, len(queries)))
    ids = torch.empty((len(queries), 0), dtype=torch.int64, device=queries.device)
    best = torch.empty((len(queries), 0), device=queries.device)
    for first in range(0, len(vectors), n_at_once):
        scores = (queries @ vectors[first : first + n_at_once].T).to(torch.float32)
        found, found_scores = find_top_k(scores, k)
        # Earlier blocks have lower ids and stand first, so that of equal scores the lower id still wins.
        together = torch.cat([best, found_scores], dim=1)
        ids = torch.cat([ids, found + first], dim=1)
        places, best = find_top_k(together, k)
        ids = torch.gather(ids, 1, places)
    return ids, best
