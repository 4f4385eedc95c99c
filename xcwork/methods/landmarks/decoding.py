"""From landmarks back to all labels, and which labels that does not work for.

Every label is written as a combination of the landmarks, Y ≈ Y_S Z, and the same Z turns predicted landmarks into
predicted labels: Ŷ = (X B) Z. Two ways to find Z, both on counts alone (G = Y_SᵀY_S, g_l = Y_Sᵀy_l):

- `least_squares`: z = G⁺ g, the shortest minimiser of ‖y - Y_S z‖₂. The pseudo-inverse makes landmarks that repeat each
  other (identical columns, more landmarks than documents) share the weight instead of failing.
- `l1`: z minimises ‖z‖₁ + α ‖y - Y_S z‖₂. Few landmarks a label, hence short explanations and fast prediction.

A label with r_l = ‖y_l - Y_S z_l‖ / ‖y_l‖ above the threshold τ is an *outlier*: the landmarks do not determine it, and
it is predicted by a regressor of its own. τ = 1 declares none, τ = 0 all but the labels that are reproduced perfectly;
with ridge predictors τ = 0 is exactly one-vs-rest ridge, because ridge is linear in its target.
"""

from __future__ import annotations

import logging

import numpy as np
from scipy import linalg, sparse

from xcwork.methods.landmarks.affinity import Combination, cooccurrences, reconstruction, with_landmarks
from xcwork.methods.landmarks.predictors import largest
from xcwork.progress import track

log = logging.getLogger(__name__)

DECODINGS = ("least_squares", "l1")
BLOCK = 4096  # labels decoded together
MOST_ENTRIES = 16_000_000  # of Z: beyond it only the largest of every label are kept


def decode(Y: sparse.csr_array, landmarks: np.ndarray, how: str, alpha: float) -> Combination:
    """Every label as a combination of the landmarks, a landmark as itself."""
    if how == "l1":
        return reconstruction(Y, landmarks, alpha)
    return with_landmarks(_least_squares(Y, landmarks), landmarks)


def outliers(combination: Combination, threshold: float) -> np.ndarray:
    """Ids of the labels with documents that the combination does not reproduce well enough."""
    return np.flatnonzero(combination.residuals > threshold)


def _least_squares(Y: sparse.csr_array, landmarks: np.ndarray) -> Combination:
    n_labels, k = Y.shape[1], len(landmarks)
    chosen = Y[:, landmarks]
    inverse, rank = linalg.pinvh(cooccurrences(chosen).toarray().astype(np.float64), return_rank=True)  # (k, k)
    if rank < k:
        log.info("the %d landmarks have only %d independent columns: those that repeat others share weights", k, rank)
    documents = np.bincount(Y.indices, minlength=n_labels).astype(np.float64)
    together = cooccurrences(Y, chosen)  # (n_labels, k)
    keep = max(1, MOST_ENTRIES // n_labels)
    parts, explained = [], []
    for start in track(range(0, n_labels, BLOCK), "decoding labels"):
        g = together[start : start + BLOCK].toarray().T.astype(np.float64)  # (k, n_block)
        z = inverse @ g
        explained.append((z * g).sum(axis=0))
        parts.append(largest(z, keep))
    norms = np.sqrt(np.maximum(documents - np.concatenate(explained), 0.0))
    # What rounding leaves of a perfect fit is no residual.
    norms[norms < 1e-6 * np.sqrt(documents)] = 0.0
    Z = sparse.csc_array(sparse.vstack(parts).T)
    return Combination(Z, norms, np.sqrt(documents), np.zeros(n_labels))
