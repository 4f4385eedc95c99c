"""The weights of the five scores, chosen on documents that training has not seen.

One weight after the other is set to the value that gives the best nDCG@5, until no change helps: the objective is a
step function of few variables, for which this is quick and needs no derivative. Weights add up to 1. A weight that the
user has fixed stays; without validation documents the weights are the usual ones. The bonus of labels without training
documents is chosen last, on the labels that only validation documents carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.methods.siamesexml.scores import NAMES, Scored, lookup
from xcwork.search import top_k_rows

USUAL = (0.4, 0.2, 0.2, 0.1, 0.1)
GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9)  # shares tried for one score among all
BONUSES = (0.0, -0.3, -0.2, -0.1, -0.05, 0.05, 0.1)
SWEEPS = 4
K = 5
ENOUGH = 10  # positives of unseen labels needed to choose their bonus


@dataclass(frozen=True)
class Fusion:
    """Weights by the order of `scores.NAMES`, and the bonus of labels without training documents."""

    weights: tuple[float, ...]
    unseen_bonus: float = 0.0

    def bonus(self, is_unseen: np.ndarray) -> np.ndarray:
        """What is added to the score of each label, (n_labels,)."""
        return np.where(is_unseen, self.unseen_bonus, 0).astype(np.float32)


def fixed_weights(settings: Any) -> dict[int, float]:
    """Places of the scores whose weights do not have to be chosen."""
    asked = {"classifier": settings.alpha, "documents": settings.votes, "words": settings.words}
    if settings.classifier_epochs == 0 and settings.alpha is None:
        asked["classifier"] = 0.0
    fixed = {NAMES.index(name): weight for name, weight in asked.items() if weight is not None}
    if "documents" not in settings.graphs and settings.votes is None:
        fixed[NAMES.index("documents")] = 0.0
    if "centroids" not in settings.graphs:
        fixed[NAMES.index("centroid")] = 0.0
    return fixed


def normalised(weights: Sequence[float], fixed: dict[int, float]) -> tuple[float, ...]:
    """`weights` with the fixed ones in place and the others scaled so that all add up to 1, as far as that goes."""
    held = np.array([fixed.get(place, np.nan) for place in range(len(weights))])
    free = np.where(np.isnan(held), weights, 0)
    rest = max(0.0, 1 - np.nansum(held))
    free = free * (rest / free.sum()) if free.sum() > 0 else free
    return tuple(float(w) for w in np.where(np.isnan(held), free, held))


def usual(fixed: dict[int, float]) -> Fusion:
    """Weights for want of better ones."""
    return Fusion(normalised(USUAL, fixed))


def choose(scored: Scored, truth: sparse.csr_array, is_unseen: np.ndarray, fixed: dict[int, float]) -> Fusion:
    """The weights and the bonus with the best nDCG@5 on `truth` (n_documents, n_labels)."""
    gain = _Gain.of(scored, truth)
    nothing = np.zeros(truth.shape[1], np.float32)
    weights = normalised(USUAL, fixed)
    best = gain(scored.total(weights, nothing))
    for _ in range(SWEEPS):
        before = best
        for place in range(len(NAMES)):
            if place in fixed:
                continue
            for share in GRID:
                others = [w for at, w in enumerate(weights) if at != place]
                trial = list(weights)
                trial[place] = share * sum(others) / (1 - share) if sum(others) else 1.0
                trial = normalised(trial, fixed)
                value = gain(scored.total(trial, nothing))
                if value > best + 1e-9:
                    best, weights = value, trial
        if best == before:
            break
    if np.count_nonzero(is_unseen[truth.indices]) < ENOUGH:
        return Fusion(weights)
    values = [gain(scored.total(weights, Fusion(weights, bonus).bonus(is_unseen))) for bonus in BONUSES]
    return Fusion(weights, BONUSES[int(np.argmax(values))])


@dataclass(frozen=True, eq=False)
class _Gain:
    """nDCG@5 as a function of the scores of fixed candidates."""

    is_relevant: np.ndarray  # (n_documents, n_candidates) bool
    ideal: np.ndarray  # (n_documents,)

    @classmethod
    def of(cls, scored: Scored, truth: sparse.csr_array) -> _Gain:
        discounts = 1 / np.log2(np.arange(K) + 2)
        n_relevant = np.minimum(np.diff(truth.indptr), K)
        return cls(lookup(truth, scored.ids) > 0, np.append(0, np.cumsum(discounts))[n_relevant])

    def __call__(self, scores: np.ndarray) -> float:
        best = top_k_rows(scores, K).ids
        hits = np.take_along_axis(self.is_relevant, np.maximum(best, 0), axis=1) & (best >= 0)
        gains = (hits / np.log2(np.arange(best.shape[1]) + 2)).sum(axis=1)
        return float(np.divide(gains, self.ideal, out=np.zeros_like(gains), where=self.ideal > 0).mean())
