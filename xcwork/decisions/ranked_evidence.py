"""How often the most probable predictions of held-out documents are right, and how far that can be believed.

Predictions are in the order of their probabilities; a threshold is the number of them that are at or above it. What
holds for single predictions does not hold for documents: predictions of one document are right or wrong together. So
the interval counts documents (the variance of a ratio of sums over documents), and draws are draws of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xcwork.metrics.calibration import Z_95, compute_wilson_interval

MIN_ASSIGNMENTS = 30  # predictions at or above a threshold, for it to be trusted
N_DRAWS = 100  # of documents with replacement
MIN_USED_DRAWS = 50  # draws on which a threshold reaches the precision, for an optimism
SEED = 0


@dataclass(frozen=True, eq=False)
class RankedEvidence:
    """Predictions by falling probability; all (n_predictions,)."""

    probabilities: np.ndarray  # float64
    right: np.ndarray  # float64, 1 where the document has the label
    documents: np.ndarray  # numbers of the documents

    @cached_property
    def is_end(self) -> np.ndarray:
        """Where a threshold can lie: equal probabilities are assigned together."""
        p = self.probabilities
        return np.append(np.diff(p) < 0, True) if len(p) else np.zeros(0, bool)

    @cached_property
    def believed(self) -> np.ndarray:
        """How far each prediction counts as right: half what it was, half what its probability says."""
        return (self.probabilities + self.right) / 2.0

    def find_end(self, precision: float, times: np.ndarray | None = None) -> int:
        """Return how many predictions the lowest threshold for a precision takes; 0 where there is none.

        `times` (n_predictions,) counts every prediction that many times.
        """
        times = np.ones(len(self.right)) if times is None else times
        counts = np.cumsum(times)
        is_reached = np.cumsum(times * self.believed) >= precision * counts
        ends = np.flatnonzero(self.is_end & is_reached & (counts >= MIN_ASSIGNMENTS))
        return int(ends[-1]) + 1 if len(ends) else 0

    def estimate_optimism(self, precision: float) -> float:
        """Return by how much a threshold chosen on a draw of documents falls short of the precision on all of them."""
        _, numbers = np.unique(self.documents, return_inverse=True)
        n_documents = int(numbers.max()) + 1 if len(numbers) else 0
        shares = np.cumsum(self.right) / np.arange(1, len(self.right) + 1)
        rng = np.random.default_rng(SEED)
        misses = []
        for _ in range(N_DRAWS if n_documents else 0):
            drawn = np.bincount(rng.integers(n_documents, size=n_documents), minlength=n_documents)
            end = self.find_end(precision, drawn[numbers].astype(np.float64))
            if end:
                misses.append(precision - shares[end - 1])
        return max(float(np.mean(misses)), 0.0) if len(misses) >= MIN_USED_DRAWS else 0.0

    def compute_interval(self, end: int) -> tuple[float, float]:
        """Return the 95 % interval of the share of the first `end` predictions that is right, in percent.

        It is Wilson's or, where predictions of one document go together, the wider one that counts documents.
        """
        hits = self.right[:end]
        share = float(hits.mean())
        low, high = compute_wilson_interval(int(hits.sum()), end)
        _, numbers = np.unique(self.documents[:end], return_inverse=True)
        spread = 100.0 * Z_95 * float(np.sqrt((np.bincount(numbers, weights=hits - share) ** 2).sum())) / end
        return max(min(low, 100.0 * share - spread), 0.0), min(max(high, 100.0 * share + spread), 100.0)
