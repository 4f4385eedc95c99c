"""Scores of all labels for documents, from landmark predictors, a decoder and the outliers' own regressors.

    s(x, l) = Σ_s (x · direct_s) Z[s, l]      or, for an outlier,      s(x, l) = x · own_l

On the CPU one kernel does this row by row over sparse weights. On an accelerator the same products run in torch; its
weights stay there, words of documents go there and the best labels come back. The blocks of documents are so small that
a block of scores for all labels fits in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.compute.transfer import send_arrays
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.kernels import use_cores_for
from xcwork.kernels.dense_products import score_rows
from xcwork.metrics.ranking import compute_document_ratios, place_labels
from xcwork.progress import track_batches
from xcwork.search import top_k_rows
from xcwork.sparse import to_rows

if TYPE_CHECKING:
    import torch

    from xcwork.kernels.tensor_rows import TensorRows

SCORES_PER_BLOCK = 2**24  # 64 MB
MAX_DOCUMENTS_PER_BLOCK = 1024
MEASURED_KS = (1, 3, 5)


@dataclass(frozen=True, eq=False)
class LandmarkScorer:
    """Everything a prediction needs."""

    direct: sparse.csr_array  # (n_features + 1, k): predictors of the landmarks
    decoder: sparse.csr_array  # (k, n_labels), nothing in the columns of `own_labels`
    own: sparse.csr_array  # (n_features + 1, n_outliers)
    own_labels: np.ndarray  # (n_outliers,) label ids
    candidates: np.ndarray  # (n_labels,) bool: labels that may be predicted
    device: str = "auto"

    def rank_labels(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """Return the best labels of each row of `X` (with its bias column), of those in `among` if given."""
        barred = ~self.candidates
        if among is not None:
            barred |= ~np.isin(np.arange(len(barred)), among)
        n_rows = int(np.clip(SCORES_PER_BLOCK // len(self.candidates), 1, MAX_DOCUMENTS_PER_BLOCK))
        device = find_tensor_device(self.device)
        best = []
        for x in track_batches(X, n_rows, "scoring"):
            if device is not None:
                best.append(self._rank_with_torch(x, k, barred, device))
                continue
            scores = self.score(x)  # (n_rows, n_labels)
            scores[:, barred] = -np.inf
            best.append(top_k_rows(scores, k))
        return TopK.concatenate(best)

    def score(self, X: sparse.csr_array, dtype: type = np.float32) -> np.ndarray:
        """Return the scores of all labels, (n_rows, n_labels)."""
        out = np.empty((X.shape[0], self.decoder.shape[1]), dtype)
        x, direct, decoder, own = (to_rows(matrix, dtype) for matrix in (X, self.direct, self.decoder, self.own))
        with use_cores_for(out.size):
            score_rows(x, direct, decoder, own, self.own_labels.astype(np.int64, copy=False), out)
        return out

    def score_with_torch(self, X: sparse.csr_array, device: torch.device) -> torch.Tensor:
        """Return the same scores, computed by torch on `device`."""
        from xcwork.kernels.tensor_bilinear import multiply_rows
        from xcwork.kernels.tensor_rows import TensorRows

        direct, decoder, own, own_labels = self._get_tensors(device)
        rows = TensorRows.from_csr(X, device)
        by_landmarks = multiply_rows(rows, X.indices, direct)  # (n_rows, k)
        scores = (decoder @ by_landmarks.T.contiguous()).T
        if len(own_labels):
            scores = scores.index_copy(1, own_labels, multiply_rows(rows, X.indices, own))
        return scores

    def _rank_with_torch(self, X: sparse.csr_array, k: int, barred: np.ndarray, device: torch.device) -> TopK:
        from xcwork.kernels.tensor_topk import find_top_k
        from xcwork.search.terms import fetch_ranking

        (is_barred,) = send_arrays(device, barred)
        scores = self.score_with_torch(X, device).masked_fill(is_barred, float("-inf"))
        return fetch_ranking(*find_top_k(scores, k))

    def _get_tensors(self, device: torch.device) -> tuple[TensorRows, TensorRows, TensorRows, torch.Tensor]:
        """Return the weights on a device; they are copied there once."""
        from xcwork.kernels.tensor_rows import TensorRows

        if device not in self._tensors:
            parts = (self.direct, sparse.csr_array(self.decoder.T), self.own)
            direct, decoder, own = (TensorRows.from_csr(part, device) for part in parts)
            (labels,) = send_arrays(device, self.own_labels.astype(np.int64))
            self._tensors[device] = direct, decoder, own, labels
        return self._tensors[device]

    @cached_property
    def _tensors(self) -> dict[torch.device, tuple[TensorRows, TensorRows, TensorRows, torch.Tensor]]:
        return {}

    def measure(self, split: Split, X: sparse.csr_array, name: str) -> dict[str, float]:
        """Return P@k and nDCG@k on `split`, whose features with bias column are `X`; names start with `name`."""
        pairs = split.filter_pairs
        most = max(MEASURED_KS)
        if pairs is None or len(pairs) == 0:
            best = self.rank_labels(X, most)
        else:
            best = self.rank_labels(X, most + int(np.bincount(pairs[:, 0]).max())).drop_pairs(pairs)
        ratios = compute_document_ratios(place_labels(best.head(most), split.Y), np.ones(split.n_labels), MEASURED_KS)
        return {
            f"{name}_{metric}": ratio.compute_percent()
            for metric, ratio in ratios.items()
            if metric.startswith(("P@", "nDCG@"))
        }
