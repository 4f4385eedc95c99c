"""The calibration of a trained method: from the score of a prediction to the probability that it is right.

    z = score curve of the label's kind + distance curve of that kind + rank step + frequency curve
    p = map( running minimum along the list of 1 / (1 + exp(-z)) )

The *kind* of a label says how often it was seen in training: often, seldom, never. Score curves rise, distance curves
and rank steps fall, so with everything else fixed a higher score never means a lower probability. Only the kind of the
label could make a probability rise along the list of a document; the running minimum keeps it from doing so, whatever
the length of the list. `map` is monotone and repairs what that costs. Curves are constant beyond their ends, so nothing
is extrapolated.

The same for all methods, fitted in `fitting.py` on training documents that the scoring model was not trained on. A
label that was added by its text has no training document, so it gets the curve of labels that were never seen.
Cost: a few interpolations per prediction, below ten microseconds for a document with ten labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from xcwork.core.topk import MISSING, TopK
from xcwork.decisions.evidence_terms import (
    FREQUENCY_KNOTS,
    KIND_NAMES,
    RANK_STEPS,
    Facts,
    classify_frequencies,
    look_up_frequencies,
)
from xcwork.errors import DataError
from xcwork.storage.state import register_storable

WAYS = ("held_out", "refit")
MAX_LOGIT = 30.0  # beyond it a probability is 0 or 1 in single precision


@register_storable
@dataclass(frozen=True, eq=False)
class HeldOutEvidence:
    """How the predictions for the held-out documents fared, from which thresholds are chosen.

    The probabilities are cross-fitted: those of a document come from a calibration that did not see it.
    """

    ids: np.ndarray  # (n_documents, depth) int32, MISSING where the list is shorter
    probabilities: np.ndarray  # (n_documents, depth) float32
    right: np.ndarray  # (n_documents, depth) uint8, 1 where the document has the label
    frequencies: np.ndarray  # (n_documents, depth) int64, training documents of the predicted label
    n_true: np.ndarray  # (n_documents,) int64, labels of the document

    def __len__(self) -> int:
        return len(self.n_true)

    @property
    def present(self) -> np.ndarray:
        """Which slots hold a prediction, (n_documents, depth) bool."""
        return self.ids != MISSING

    def to_state(self) -> dict[str, Any]:
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        evidence = cls(**state)
        shape = evidence.ids.shape
        _refuse_unless(len(shape) == 2 and evidence.ids.dtype.kind == "i", "ids")
        for name, kind in (("probabilities", "f"), ("right", "u"), ("frequencies", "i")):
            array = getattr(evidence, name)
            _refuse_unless(array.shape == shape and array.dtype.kind == kind, name)
        _refuse_unless(evidence.n_true.shape == shape[:1] and evidence.n_true.dtype.kind == "i", "n_true")
        _refuse_unless(_lies_between(evidence.probabilities, 0.0, 1.0), "probabilities")
        _refuse_unless(bool((evidence.right <= 1).all() and (evidence.ids >= MISSING).all()), "right")
        _refuse_unless(bool((evidence.frequencies >= 0).all() and (evidence.n_true >= 0).all()), "frequencies")
        return evidence


@register_storable
@dataclass(frozen=True, eq=False)
class Calibration:
    """Turns scores into probabilities."""

    way: str  # "held_out": the model itself was trained without the documents; "refit": a second model was
    score_knots: np.ndarray  # (n_knots,) rising
    score_curves: np.ndarray  # (n_kinds, n_knots) z at the knots, rising along a row
    gap_knots: np.ndarray  # (n_gaps,) rising, distances to the first score of the document
    gap_curves: np.ndarray  # (n_kinds, n_gaps) falling along a row
    rank_steps: np.ndarray  # (1 + number of steps,) falling
    frequency_curve: np.ndarray  # (number of frequency knots,) in any direction
    map_from: np.ndarray  # (n_map,) probabilities, rising
    map_to: np.ndarray  # (n_map,) probabilities, not falling
    evidence: HeldOutEvidence

    @property
    def n_documents(self) -> int:
        """The number of held-out documents it rests on."""
        return len(self.evidence)

    @property
    def depth(self) -> int:
        """The number of labels per held-out document it rests on."""
        return max(self.evidence.ids.shape[1], 1)

    def apply(self, topk: TopK, label_frequencies: np.ndarray) -> TopK:
        """Return the predictions with their probabilities; `label_frequencies` (n_labels,) are those of the model."""
        return self.apply_to_slots(topk, look_up_frequencies(topk.ids, label_frequencies))

    def apply_to_slots(self, topk: TopK, frequencies: np.ndarray) -> TopK:
        """Return the predictions with their probabilities, given the frequency of every slot (n_documents, k)."""
        present = topk.ids != MISSING
        raw = np.zeros(topk.ids.shape)
        raw[present] = self.compute_raw(Facts.from_topk(topk, frequencies))
        mapped = np.interp(np.minimum.accumulate(raw, axis=1), self.map_from, self.map_to)
        return replace(topk, probabilities=np.where(present, mapped, 0.0).astype(np.float32))

    def apply_among(self, topk: TopK, label_frequencies: np.ndarray, best: TopK) -> TopK:
        """Return predictions limited to some candidates with the probabilities they have among all labels.

        `best` are the best of all labels for the same documents: they say which ranks the candidates really have.
        """
        present = topk.ids != MISSING
        first, ids = best.scores[:, None, :], topk.ids[:, :, None]
        ties = (first == topk.scores[:, :, None]) & (best.ids[:, None, :] < ids)
        above = (first > topk.scores[:, :, None]) | ties  # (n_documents, k, best.k)
        ranks = 1 + above.sum(axis=2)
        highest = np.maximum(best.scores[:, :1], topk.scores[:, :1])
        gaps = np.where(present, highest - np.where(present, topk.scores, 0.0), 0.0)
        frequencies = look_up_frequencies(topk.ids, label_frequencies)
        facts = Facts(topk.scores[present].astype(np.float64), gaps[present], ranks[present], frequencies[present])
        raw = np.zeros(topk.ids.shape)
        raw[present] = self.compute_raw(facts)
        listed = np.ones(best.ids.shape)
        listed[best.ids != MISSING] = self.compute_raw(
            Facts.from_topk(best, look_up_frequencies(best.ids, label_frequencies))
        )
        lowest = np.where(above, listed[:, None, :], 1.0).min(axis=2, initial=1.0)
        mapped = np.interp(np.minimum.accumulate(np.minimum(raw, lowest), axis=1), self.map_from, self.map_to)
        return replace(topk, probabilities=np.where(present, mapped, 0.0).astype(np.float32))

    def compute_raw(self, facts: Facts) -> np.ndarray:
        """Return 1 / (1 + exp(-z)) of every prediction, before the list and the map, (n_predictions,)."""
        if np.isnan(facts.scores).any():
            raise DataError("a score is not a number, so it has no probability", remedy="train the method again")
        return 1.0 / (1.0 + np.exp(-self.compute_logits(facts)))

    def compute_logits(self, facts: Facts) -> np.ndarray:
        """Return z of every prediction, (n_predictions,)."""
        z = self._look_up_steps(facts.ranks) + self._look_up_frequency(facts.frequencies)
        kinds = facts.kinds
        for kind in range(len(KIND_NAMES)):
            of_kind = kinds == kind
            z[of_kind] += np.interp(facts.scores[of_kind], self.score_knots, self.score_curves[kind])
            z[of_kind] += np.interp(facts.gaps[of_kind], self.gap_knots, self.gap_curves[kind])
        return np.clip(z, -MAX_LOGIT, MAX_LOGIT)

    def explain(self, score: float, gap: float, rank: int, frequency: int) -> dict[str, float]:
        """Return what each fact adds to z: how a score becomes a probability before the list is made to fall."""
        kind = int(classify_frequencies(np.array([frequency]))[0])
        return {
            f"score {score:.4g}, label {KIND_NAMES[kind]} seen": float(
                np.interp(score, self.score_knots, self.score_curves[kind])
            ),
            f"{gap:.4g} below the first": float(np.interp(gap, self.gap_knots, self.gap_curves[kind])),
            f"rank {rank}": float(self._look_up_steps(np.array([rank]))[0]),
            f"{frequency:,} training documents": float(self._look_up_frequency(np.array([frequency]))[0]),
        }

    def _look_up_steps(self, ranks: np.ndarray) -> np.ndarray:
        return self.rank_steps[np.searchsorted(RANK_STEPS, ranks, side="right")]

    def _look_up_frequency(self, frequencies: np.ndarray) -> np.ndarray:
        return np.interp(np.log1p(frequencies), FREQUENCY_KNOTS, self.frequency_curve)

    def to_state(self) -> dict[str, Any]:
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the stored calibration; a ValueError where it could give a wrong probability."""
        calibration = cls(**state)
        calibration.check()
        return calibration

    def check(self) -> None:
        """Refuse curves that point the wrong way or do not fit each other: a file may come from anywhere."""
        n_kinds = len(KIND_NAMES)
        _refuse_unless(self.way in WAYS, "way")
        _refuse_unless(isinstance(self.evidence, HeldOutEvidence), "evidence")
        for name, shape in {
            "score_knots": (None,),
            "score_curves": (n_kinds, len(self.score_knots)),
            "gap_knots": (None,),
            "gap_curves": (n_kinds, len(self.gap_knots)),
            "rank_steps": (len(RANK_STEPS) + 1,),
            "frequency_curve": (len(FREQUENCY_KNOTS),),
            "map_from": (None,),
            "map_to": (len(self.map_from),),
        }.items():
            array = getattr(self, name)
            fits = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.ndim == len(shape)
            fits = fits and all(wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True))
            _refuse_unless(fits and array.shape[-1] >= 2 and bool(np.isfinite(array).all()), name)
        for name in ("score_knots", "gap_knots", "map_from"):
            _refuse_unless(bool((np.diff(getattr(self, name)) > 0).all()), name)
        for name, sign in (("score_curves", 1), ("gap_curves", -1), ("rank_steps", -1), ("map_to", 1)):
            _refuse_unless(bool((sign * np.diff(getattr(self, name)) >= 0).all()), name)
        _refuse_unless(_lies_between(self.map_to, 0.0, 1.0), "map_to")


def _lies_between(array: np.ndarray, low: float, high: float) -> bool:
    return bool(np.isfinite(array).all() and (array >= low).all() and (array <= high).all())


def _refuse_unless(sound: bool, name: str) -> None:
    if not sound:
        raise ValueError(f"{name} of the calibration is damaged")
