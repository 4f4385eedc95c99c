"""What a set of assignments achieves: precision, recall, and how much work it saves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcwork.metrics.calibration import compute_wilson_interval


@dataclass(frozen=True)
class Outcome:
    """Figures of assigned labels in percent, where the name does not say otherwise."""

    n_documents: int
    n_assignments: int
    n_right: int
    precision: float | None  # right ones among the assigned; None where nothing is assigned
    precision_low: float  # 95 % interval, after Wilson
    precision_high: float
    expected_precision: float | None  # mean probability of the assigned
    recall: float  # of all true labels, those that are assigned
    micro_f1: float
    automation_share: float  # documents that get at least one label without a check
    assignment_share: float  # of the labels that are assigned or suggested, those that need no check
    labels_per_document: float  # assigned, a number


def measure_outcome(
    assigned: np.ndarray, suggested: np.ndarray, probabilities: np.ndarray, right: np.ndarray, n_true: np.ndarray
) -> Outcome:
    """Return what the slots marked in `assigned` (n_documents, k) achieve; `suggested` are those shown to a person."""
    n_documents, n_assigned, n_positive = len(n_true), int(assigned.sum()), int(n_true.sum())
    n_right = int(right[assigned].sum())
    low, high = compute_wilson_interval(n_right, n_assigned)
    n_shown = n_assigned + int((suggested & ~assigned).sum())
    return Outcome(
        n_documents=n_documents,
        n_assignments=n_assigned,
        n_right=n_right,
        precision=100.0 * n_right / n_assigned if n_assigned else None,
        precision_low=low,
        precision_high=high,
        expected_precision=100.0 * float(probabilities[assigned].mean(dtype=np.float64)) if n_assigned else None,
        recall=100.0 * n_right / max(n_positive, 1),
        micro_f1=200.0 * n_right / max(n_assigned + n_positive, 1),
        automation_share=100.0 * float(assigned.any(axis=1).mean()) if n_documents else 0.0,
        assignment_share=100.0 * n_assigned / max(n_shown, 1),
        labels_per_document=n_assigned / max(n_documents, 1),
    )
