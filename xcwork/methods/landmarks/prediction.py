"""Scores of all labels for documents, from landmark predictors, a decoder and the outliers' own regressors.

    s(x, l) = Σ_s (x · direct_s) Z[s, l]      or, for an outlier,      s(x, l) = x · own_l

On the CPU one kernel does this row by row over sparse weights. On an accelerator the same products run in torch; its
weights stay there. The blocks of documents are so small that a block of scores for all labels fits in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.transfer import send_arrays
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.kernels import use_cores_for
from xcwork.kernels.dense_products import score_rows
from xcwork.methods.common.sparse_torch import SparseProduct, find_accelerator
from xcwork.metrics.ranking import compute_document_ratios, place_labels
from xcwork.progress import track_batches
from xcwork.search import top_k_rows
from xcwork.sparse import to_rows

if TYPE_CHECKING:
    import torch

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
        device = find_accelerator(self.device)
        best = []
        for x in track_batches(X, n_rows, "scoring"):
            scores = self.score(x) if device is None else self.score_with_torch(x, device)  # (n_rows, n_labels)
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

    def score_with_torch(self, X: sparse.csr_array, device: torch.device) -> np.ndarray:
        """Return the same scores, computed by torch on `device`."""
        direct, decoder, own = self._weights_on_device
        rows, at = send_arrays(device, X.toarray().astype(np.float32, copy=False), self.own_labels.astype(np.int64))
        documents = rows.T.contiguous()  # (n_features + 1, n_rows)
        scores = decoder @ (direct @ documents)  # (n_labels, n_rows)
        if len(self.own_labels):
            scores[at] = own @ documents
        return scores.T.contiguous().cpu().numpy()

    @cached_property
    def _weights_on_device(self) -> list[SparseProduct]:
        """The transposed weights of landmarks, decoder and outliers."""
        import torch

        device = find_accelerator(self.device) or torch.device("cpu")
        parts = (self.direct, self.decoder, self.own)
        return [SparseProduct(part.T, torch.float32, device, kernel=False) for part in parts]

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
