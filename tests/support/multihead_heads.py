"""Small classifiers of multi-head encoding, and what they say of all labels."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from xcwork.methods.multihead.heads import BatchTargets, Heads

WIDTH = 6


def labels(n: int, n_labels: int, *, single: bool = False, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    if single:
        return sparse.csr_array(np.eye(n_labels, dtype=np.float32)[rng.integers(n_labels, size=n)])
    return sparse.csr_array((rng.random((n, n_labels)) < 0.3).astype(np.float32))


def prepared(heads: Heads, Y: sparse.csr_array, seed: int = 0) -> Heads:
    torch.manual_seed(seed)
    with torch.no_grad():
        heads.initialise(Y)
        for parameter in heads.parameters():
            parameter.normal_()
    return heads


def features(n: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, WIDTH)).astype(np.float32))


def targets(Y: sparse.csr_array) -> BatchTargets:
    return BatchTargets(Y, np.random.default_rng(0))


def everything(heads: Heads, given_features: torch.Tensor, n_labels: int):
    """All labels of all documents as a dense matrix of scores."""
    found = heads.rank(given_features, n_labels, np.ones(n_labels, bool), np.arange(n_labels))
    scores = np.full((len(given_features), n_labels), np.nan)
    np.put_along_axis(scores, found.ids.astype(np.int64), found.scores, 1)
    return scores
