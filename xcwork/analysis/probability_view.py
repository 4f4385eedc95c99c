"""How the score of one prediction becomes a probability, step by step, for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xcwork.core.topk import TopK
from xcwork.decisions.calibration import Calibration

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ProbabilityView:
    """The way from a score to a probability."""

    label: int
    rank: int  # from 1
    score: float
    probability: float  # as predicted, from 0 to 1
    parts: dict[str, float]  # what each fact adds to the logit
    n_documents: int  # held-out documents that the calibration rests on

    @property
    def raw(self) -> float:
        """The probability that the parts alone make, before the list is made to fall and the map is applied."""
        return 1.0 / (1.0 + math.exp(-sum(self.parts.values())))

    def describe(self) -> str:
        """Return the way as one sentence."""
        return (
            f"Score {self.score:.4g}. Such predictions are right {100 * self.probability:.0f} times in 100, by "
            f"{self.n_documents:,} documents that the calibration was learned on."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the steps, one per row."""
        import pandas as pd

        steps = [(name, f"{value:+.2f}") for name, value in self.parts.items()]
        steps.append(("together", f"{sum(self.parts.values()):+.2f}"))
        steps.append(("as a percentage, 1 / (1 + exp(−sum))", f"{100 * self.raw:.1f} %"))
        steps.append(("checked against held-out documents, and never above an earlier label", self._format_end()))
        return pd.DataFrame(steps, columns=["step", "adds or makes"])

    def _format_end(self) -> str:
        return f"{100 * self.probability:.1f} %"


def explain_probability(
    calibration: Calibration, topk: TopK, label: int, label_frequencies: np.ndarray
) -> ProbabilityView | None:
    """Return how the label of the first document got its probability; None if it is not listed there."""
    slots = np.flatnonzero(topk.ids[0] == label)
    if topk.probabilities is None or len(slots) == 0:
        return None
    slot = int(slots[0])
    score, first = float(topk.scores[0, slot]), float(topk.scores[0, 0])
    frequency = int(label_frequencies[label]) if label < len(label_frequencies) else 0
    parts = calibration.explain(score, first - score, slot + 1, frequency)
    probability = float(topk.probabilities[0, slot])
    return ProbabilityView(label, slot + 1, score, probability, parts, calibration.n_documents)
