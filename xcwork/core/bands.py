"""Bands of labels by how often they occur in training.

A band never mixes two definitions, so there is one function per definition:

- `make_absolute_bands`: head (more than 50 training documents), torso (6-50), tail (1-5), zero-shot (none).
- `make_share_bands`: labels from the most frequent down; head are those that have the first third of all training
  positives, torso the second third, tail the last. Labels of equal frequency share a band.
- `make_decile_bands`: the same with ten equal shares.
- `make_shot_bands`: many-shot (more than 3), few-shot (1-3), zero-shot (none).

`xcwork.metrics.by_band` says what each band contributes to P@k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xcwork.errors import ConfigError

ZERO_SHOT = "zero-shot"


@dataclass(frozen=True, eq=False)
class Bands:
    """A band for every label."""

    definition: str
    names: tuple[str, ...]
    of_label: np.ndarray  # (n_labels,) position in `names`
    spans: tuple[str, ...] = ()  # training documents of a label of each band, in words: "6 to 50"

    def find_names(self, labels: np.ndarray) -> np.ndarray:
        """Return the band names of some labels, as an array of strings."""
        return np.asarray(self.names, dtype=object)[self.of_label[labels]]


def make_absolute_bands(frequencies: np.ndarray, *, tail: int = 5, torso: int = 50) -> Bands:
    """Return head, torso and tail by fixed counts: tail up to `tail` training documents, torso up to `torso`."""
    if not 1 <= tail < torso:
        raise ConfigError(f"the cut points must satisfy 1 <= tail < torso, got tail={tail} and torso={torso}")
    definition = f"training documents: head > {torso}, torso {tail + 1}-{torso}, tail 1-{tail}, zero-shot 0"
    edges = np.array([1, tail + 1, torso + 1])
    spans = (f"more than {torso}", f"{tail + 1} to {torso}", f"1 to {tail}", "none")
    return Bands(definition, ("head", "torso", "tail", ZERO_SHOT), 3 - np.digitize(frequencies, edges), spans)


def make_shot_bands(frequencies: np.ndarray, *, few: int = 3) -> Bands:
    """Return many-shot, few-shot (1 to `few` training documents) and zero-shot."""
    if few < 1:
        raise ConfigError(f"few-shot labels have at least 1 training document, got the cut point {few}")
    definition = f"training documents: many-shot > {few}, few-shot 1-{few}, zero-shot 0"
    of_label = 2 - np.digitize(frequencies, [1, few + 1])
    return Bands(
        definition, ("many-shot", "few-shot", ZERO_SHOT), of_label, (f"more than {few}", f"1 to {few}", "none")
    )


def make_share_bands(
    frequencies: np.ndarray, *, cuts: Sequence[float] = (1 / 3, 2 / 3), names: Sequence[str] = ("head", "torso", "tail")
) -> Bands:
    """Return bands by the share of training positives that more frequent labels have, the most frequent ones first.

    A label belongs to the band in which the positives of all labels *more* frequent than it end, so equal frequencies
    are never torn apart, whatever the order of the labels.
    """
    edges = np.asarray(cuts, dtype=np.float64)
    if np.any(edges <= 0) or np.any(edges >= 1) or np.any(np.diff(edges) <= 0) or len(names) != len(edges) + 1:
        raise ConfigError("cut points must rise strictly between 0 and 1, with one name more than there are cuts")
    frequencies = np.asarray(frequencies, dtype=np.int64)
    values, inverse, counts = np.unique(frequencies, return_inverse=True, return_counts=True)
    positives = values * counts  # of all labels with this frequency, ascending frequency
    above = positives.sum() - np.cumsum(positives)
    of_value = np.digitize(above / max(positives.sum(), 1), edges)
    of_label = np.where(frequencies > 0, of_value[inverse], len(names))
    shares = ", ".join(f"{100 * cut:.0f}" for cut in edges)
    definition = f"share of training positives that more frequent labels have, cut at {shares} %; zero-shot: none"
    spans = [_describe_span(frequencies[of_label == at]) for at in range(len(names))]
    return Bands(definition, (*names, ZERO_SHOT), of_label, (*spans, "none"))


def _describe_span(frequencies: np.ndarray) -> str:
    if not len(frequencies):
        return "no label"
    low, high = int(frequencies.min()), int(frequencies.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def make_decile_bands(frequencies: np.ndarray) -> Bands:
    """Return ten bands of about equal training volume, from the most frequent labels (1) to the rarest (10)."""
    cuts = [tenth / 10 for tenth in range(1, 10)]
    return make_share_bands(frequencies, cuts=cuts, names=[f"decile {i}" for i in range(1, 11)])
