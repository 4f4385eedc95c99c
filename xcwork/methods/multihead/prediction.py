"""Ranking the labels of documents with a network, as many documents at a time as its heads have room for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.methods.multihead.network import MIN_ROWS_PER_PRODUCT, Network
from xcwork.progress import track_batches

FLOATS_PER_BATCH = 2**25  # of all documents that are ranked together
MAX_DOCUMENTS_PER_BATCH = 1024


def find_allowed_codes(
    label_frequencies: np.ndarray, label_of_code: np.ndarray, among: np.ndarray | None = None
) -> np.ndarray:
    """Return which codes may be predicted, (n_labels,): those with training documents, and in `among` if given."""
    is_allowed = label_frequencies > 0
    if among is not None:
        is_allowed &= np.isin(np.arange(len(is_allowed)), among)
    return is_allowed[label_of_code]


@torch.no_grad()
def rank_labels(
    network: Network, X: sparse.csr_array, k: int, label_of_code: np.ndarray, is_allowed: np.ndarray
) -> TopK:
    """Return the k best labels of every row of `X` among the allowed codes."""
    if not is_allowed.any():
        return TopK.make_empty(X.shape[0], k)
    label_of = label_of_code.astype(np.int64)
    blocks = [network.heads.rank(block, k, is_allowed, label_of).head(k) for block in iterate_features(network, X)]
    found = TopK.concatenate(blocks)
    return TopK(found.ids[: X.shape[0]], found.scores[: X.shape[0]])


def iterate_features(network: Network, X: sparse.csr_array) -> Iterator[torch.Tensor]:
    """Yield the features of the rows of `X`, as many as the heads can take; some empty rows may follow."""
    size = int(
        np.clip(
            FLOATS_PER_BATCH // network.heads.count_floats_per_document(), MIN_ROWS_PER_PRODUCT, MAX_DOCUMENTS_PER_BATCH
        )
    )
    for rows in track_batches(X, size, "ranking labels"):
        yield network.read(rows)
