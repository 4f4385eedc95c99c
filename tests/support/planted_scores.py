"""Predictions whose probabilities are known, because they were drawn from them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.decisions.fitting import HeldOutSample

N_LABELS = 300
KIND_SHIFT = np.array([-1.5, 0.0, 1.0])  # of the logit: never, seldom, often seen


def draw_frequencies() -> np.ndarray:
    """Return training documents of the labels: a third never seen, a third seldom, a third often."""
    frequencies = np.zeros(N_LABELS, np.int64)
    frequencies[100:200] = 3
    frequencies[200:] = 40
    return frequencies


def draw_sample(n_documents: int, seed: int, k: int = 8) -> tuple[HeldOutSample, np.ndarray]:
    """Return predictions with their truth, and the probability each was drawn with, (n_documents, k)."""
    rng = np.random.default_rng(seed)
    frequencies = draw_frequencies()
    ids = np.stack([rng.permutation(N_LABELS)[:k] for _ in range(n_documents)]).astype(np.int32)
    scores = -np.sort(-rng.normal(0.0, 2.0, (n_documents, k)), axis=1).astype(np.float32)
    kinds = np.digitize(frequencies[ids], [1, 6])
    p = 1.0 / (1.0 + np.exp(-(1.2 * scores - 0.5 + KIND_SHIFT[kinds])))
    right = rng.random(p.shape) < p
    rows = np.repeat(np.arange(n_documents), right.sum(axis=1))
    ones = np.ones(len(rows), np.float32)
    truth = sparse.csr_array((ones, (rows, ids[right])), shape=(n_documents, N_LABELS))
    return HeldOutSample(TopK(ids, scores), truth, frequencies), p
