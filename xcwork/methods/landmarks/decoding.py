"""From landmarks back to all labels, and which labels that does not work for.

Every label is written as a combination of the landmarks, Y ≈ Y_S Z, and the same Z turns predicted landmarks into
predicted labels: Ŷ = (X B) Z. Two ways to find Z, both on counts alone (G = Y_SᵀY_S, g_l = Y_Sᵀy_l):

- `least_squares`: z = G⁺ g, the shortest minimiser of ‖y - Y_S z‖₂. The pseudo-inverse makes landmarks that repeat each
  other (identical columns, more landmarks than documents) share the weight instead of failing.
- `l1`: z minimises ‖z‖₁ + α ‖y - Y_S z‖₂. Few landmarks per label, hence short explanations and fast prediction.

A label with r_l = ‖y_l - Y_S z_l‖ / ‖y_l‖ above the threshold τ is an *outlier*: the landmarks do not determine it, and
it is predicted by its own regressor. τ = 1 declares none, τ = 0 all but the labels that are reproduced perfectly;
with ridge predictors τ = 0 is exactly one-vs-rest ridge, because ridge is linear in its target.
"""

from __future__ import annotations

import logging

import numpy as np
from scipy import linalg, sparse

from xcwork.methods.landmarks.affinity import Combination, count_cooccurrences, fix_landmarks, reconstruct_labels
from xcwork.methods.landmarks.predictors import keep_largest
from xcwork.progress import track

log = logging.getLogger(__name__)

DECODINGS = ("least_squares", "l1")
LABELS_PER_BLOCK = 4096  # decoded together
MAX_DECODER_ENTRIES = 16_000_000  # of Z: beyond it only the largest of every label are kept


def decode_labels(Y: sparse.csr_array, landmarks: np.ndarray, decoding: str, alpha: float) -> Combination:
    """Return every label as a combination of the landmarks, a landmark as itself."""
    if decoding == "l1":
        return reconstruct_labels(Y, landmarks, alpha)
    return fix_landmarks(solve_least_squares(Y, landmarks), landmarks)


def find_outliers(combination: Combination, threshold: float) -> np.ndarray:
    """Return the ids of the labels with documents that the combination does not reproduce well enough."""
    return np.flatnonzero(combination.residuals > threshold)


def solve_least_squares(Y: sparse.csr_array, landmarks: np.ndarray) -> Combination:
    """Return every label as the combination of landmarks with the smallest residual, by blocks of labels."""
    n_labels = Y.shape[1]
    k = len(landmarks)
    chosen = Y[:, landmarks]
    inverse, rank = linalg.pinvh(count_cooccurrences(chosen).toarray().astype(np.float64), return_rank=True)  # (k, k)
    if rank < k:
        log.info("the %d landmarks have only %d independent columns: those that repeat others share weights", k, rank)
    documents = np.bincount(Y.indices, minlength=n_labels).astype(np.float64)
    together = count_cooccurrences(Y, chosen)  # (n_labels, k)
    keep = max(1, MAX_DECODER_ENTRIES // n_labels)
    parts = []
    explained = []
    for start in track(range(0, n_labels, LABELS_PER_BLOCK), "decoding labels"):
        g = together[start : start + LABELS_PER_BLOCK].toarray().T.astype(np.float64)  # (k, n_block)
        z = inverse @ g
        explained.append((z * g).sum(axis=0))
        parts.append(keep_largest(z, keep))
    norms = np.sqrt(np.maximum(documents - np.concatenate(explained), 0.0))
    # What rounding leaves of a perfect fit is no residual.
    norms[norms < 1e-6 * np.sqrt(documents)] = 0.0
    Z = sparse.csc_array(sparse.vstack(parts).T)
    return Combination(Z, norms, np.sqrt(documents), np.zeros(n_labels))
