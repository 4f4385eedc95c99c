"""What a probability depends on: the columns of the calibration's additive model, each a clipped piece of a line.

For every prediction four facts count: its score, how far it lies below the first score of its document, its rank, and
how often its label occurs in training. A fact that varies continuously is cut at knots t_0 < t_1 < …; column j rises
from 0 to 1 between t_j and t_(j+1) and is constant elsewhere, so coefficients of one sign make a monotone curve that
is constant beyond the knots: nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from xcwork.core.topk import MISSING, TopK

NEVER = 0
SELDOM = 1
OFTEN = 2
KIND_NAMES = ("never", "seldom", "often")
MAX_SELDOM_DOCUMENTS = 5  # training documents of a label that was seen seldom
RANK_STEPS = (2, 3, 4, 6, 11, 21)  # first ranks of the steps by which a probability falls
FREQUENCY_KNOTS = tuple(np.log1p([0.0, 1.0, 2.0, 5.0, 15.0, 50.0, 500.0]))  # of log(1 + training documents)


@dataclass(frozen=True, eq=False)
class Facts:
    """The four facts of every prediction, in one order; all (n_predictions,)."""

    scores: np.ndarray  # float64
    gaps: np.ndarray  # first score of the document minus this one, float64
    ranks: np.ndarray  # from 1, int64
    frequencies: np.ndarray  # training documents of the label, int64

    def __len__(self) -> int:
        return len(self.scores)

    @classmethod
    def from_topk(cls, topk: TopK, frequencies: np.ndarray) -> Facts:
        """Return the facts of all present slots, row by row; `frequencies` (n_documents, k) are those of the labels."""
        present = topk.ids != MISSING
        ranks = np.broadcast_to(np.arange(1, topk.k + 1), topk.ids.shape)[present]
        scores = topk.scores[present].astype(np.float64)
        first = np.repeat(topk.scores[:, 0].astype(np.float64), present.sum(axis=1)) if topk.k else scores
        return cls(scores, first - scores, ranks, frequencies[present])

    @property
    def kinds(self) -> np.ndarray:
        """How often the label was seen: NEVER, SELDOM or OFTEN."""
        return classify_frequencies(self.frequencies)


def look_up_frequencies(ids: np.ndarray, label_frequencies: np.ndarray) -> np.ndarray:
    """Return the training documents of every predicted label, 0 for a missing slot."""
    return np.where(ids == MISSING, 0, label_frequencies[ids]) if label_frequencies.size else np.zeros_like(ids)


def classify_frequencies(frequencies: np.ndarray) -> np.ndarray:
    """Return NEVER, SELDOM or OFTEN for numbers of training documents."""
    return np.digitize(frequencies, [1, MAX_SELDOM_DOCUMENTS + 1])


@dataclass(frozen=True, eq=False)
class Knots:
    """Where scores and gaps are cut; both rise strictly and have at least two entries."""

    scores: np.ndarray
    gaps: np.ndarray

    def list_columns(self) -> list[tuple[str, int]]:
        """Return (term, sign) of every column: sign +1 may only raise the probability, -1 only lower it, 0 either."""
        n_scores, n_gaps = len(self.scores) - 1, len(self.gaps) - 1
        columns = [(f"{kind} seen", 0) for kind in KIND_NAMES]
        columns += [("score", 1)] * n_scores
        columns += [(f"score, {kind} seen", 1) for kind in KIND_NAMES for _ in range(n_scores)]
        columns += [("distance to the first", -1)] * n_gaps
        columns += [(f"distance to the first, {kind} seen", -1) for kind in KIND_NAMES]
        columns += [("rank", -1)] * len(RANK_STEPS)
        return columns + [("training documents", 0)] * (len(FREQUENCY_KNOTS) - 1)

    def iterate_terms(self, facts: Facts) -> Iterator[np.ndarray]:
        """Yield the values of every column, (n_predictions,) each, in the order of `list_columns`."""
        kinds = facts.kinds
        members = [kinds == kind for kind in range(len(KIND_NAMES))]
        yield from (member.astype(np.float64) for member in members)
        pieces = list(cut_at_knots(facts.scores, self.scores))
        yield from pieces
        for member in members:
            yield from (piece * member for piece in pieces)
        yield from cut_at_knots(facts.gaps, self.gaps)
        span = np.clip((facts.gaps - self.gaps[0]) / (self.gaps[-1] - self.gaps[0]), 0.0, 1.0)
        yield from (span * member for member in members)
        yield from ((facts.ranks >= step).astype(np.float64) for step in RANK_STEPS)
        yield from cut_at_knots(np.log1p(facts.frequencies), np.array(FREQUENCY_KNOTS))


def cut_at_knots(values: np.ndarray, knots: np.ndarray) -> Iterator[np.ndarray]:
    """Yield, for each interval between two knots, how far into it every value lies: 0 before it, 1 behind it."""
    for low, high in pairwise(knots.tolist()):
        yield np.clip((values - low) / (high - low), 0.0, 1.0)
