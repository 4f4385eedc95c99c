"""Fit a calibration to the predictions for held-out documents.

The additive model of `calibration.py` is fitted by penalised maximum likelihood with the signs of its coefficients as
bounds (L-BFGS-B), so it is monotone by construction. Predictions of labels that were never seen have few right ones
among them, hence the penalty, which shrinks what differs between the kinds of labels and leaves the common curve alone.
Then the lists are made to fall, and an isotonic regression on bins of equal mass removes what bias is left.

Held-out documents have labels that no other training document has: to the scoring model these were never seen, and they
stand for the labels that a test split has and the training split has not. Labels that no training document at all has
are listed too and always wrong, so together there are more unseen candidates than later; wrong ones weigh less. And a
model that was trained on fewer documents meets more labels it has never seen than the final one will; right ones weigh
less, too. How many of the labels of a new document were never seen is estimated after Good and Turing: as large a share
as the labels that were seen once have in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.optimize import isotonic_regression, lsq_linear

from xcwork.core.topk import MISSING, TopK
from xcwork.decisions.calibration import Calibration, HeldOutEvidence
from xcwork.decisions.evidence_terms import KIND_NAMES, NEVER, RANK_STEPS, Facts, Knots, look_up_frequencies
from xcwork.decisions.held_out_documents import MIN_HELD_OUT_DOCUMENTS
from xcwork.errors import DataError
from xcwork.metrics.ranking import place_labels

DEPTH = 20  # labels per held-out document that the calibration is fitted to
MIN_RIGHT = 20  # right predictions: below it there is no probability rather than a wrong one
N_FOLDS = 3  # of the cross-fitted evidence
N_SCORE_KNOTS = 7
N_GAP_KNOTS = 4
COMMON_PENALTY = 0.3  # of squared coefficients, in predictions
KIND_PENALTY = 3.0
MAX_COEFFICIENT = 50.0
MAX_ITERATIONS = 30  # Newton steps
MAX_HALVINGS = 20
MIN_GAIN = 1e-7  # of the mean log-likelihood, in a step worth taking another
MIN_BIN_PREDICTIONS = 50  # of the isotonic regression
MAX_BINS = 20
MIN_UNSEEN_WEIGHT = 0.1  # a right prediction always counts for something
MODEL_WEIGHT = 50.0  # predictions that what the additive model says counts for, in every bin


@dataclass(frozen=True, eq=False)
class HeldOutSample:
    """Predictions for documents that the scoring model was not trained on."""

    topk: TopK
    truth: sparse.csr_array  # (n_documents, n_labels)
    label_frequencies: np.ndarray  # (n_labels,) of that model's training documents


@dataclass(frozen=True)
class UnseenWeights:
    """What a held-out prediction of a label that was never seen counts for."""

    right: float
    wrong: float

    @classmethod
    def from_frequencies(cls, final: np.ndarray, scoring: Sequence[np.ndarray]) -> UnseenWeights:
        """Return the weights, given the label frequencies of the final model and of those that scored."""
        n_unseen = int((final == 0).sum())
        n_listed = max(int((frequencies == 0).sum()) for frequencies in scoring)
        expected = float(np.mean([estimate_unseen_share(frequencies) for frequencies in scoring]))
        right = min(estimate_unseen_share(final) / expected, 1.0) if expected > 0 else 1.0
        return cls(max(right, MIN_UNSEEN_WEIGHT), max(n_unseen, n_listed - n_unseen, 1) / max(n_listed, 1))


def estimate_unseen_share(label_frequencies: np.ndarray) -> float:
    """Return the share that labels seen once have among all labels of the training documents."""
    return float((label_frequencies == 1).sum()) / max(float(label_frequencies.sum()), 1.0)


def fit_calibration(
    samples: Sequence[HeldOutSample], *, way: str, label_frequencies: np.ndarray, seed: int = 0
) -> Calibration:
    """Return the calibration learned from held-out documents; several models may have scored some of them each.

    `label_frequencies` (n_labels,) count the training documents of the final model.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # the matrices are small: on a busy machine threads only wait for each other
        return _fit_samples(samples, way, label_frequencies, seed)


def _fit_samples(samples: Sequence[HeldOutSample], way: str, label_frequencies: np.ndarray, seed: int) -> Calibration:
    """Fit once for the calibration, and once per fold for the probabilities of its evidence."""
    lists = [sample.topk.head(min(sample.topk.k, DEPTH)) for sample in samples]
    topk = TopK.concatenate([replace(each, probabilities=None) for each in lists])
    hits = [place_labels(each, sample.truth).mark_hits() for each, sample in zip(lists, samples, strict=True)]
    right = np.vstack([np.pad(hit, ((0, 0), (0, topk.k - hit.shape[1]))) for hit in hits])
    _check_evidence(topk, right)
    frequencies = np.vstack(
        [
            look_up_frequencies(each.head(topk.k).ids, s.label_frequencies)
            for each, s in zip(lists, samples, strict=True)
        ]
    )
    weights = UnseenWeights.from_frequencies(label_frequencies, [sample.label_frequencies for sample in samples])
    folds = np.random.default_rng(seed).integers(N_FOLDS, size=len(topk))
    probabilities = np.zeros(topk.ids.shape, np.float32)
    for fold in range(N_FOLDS):
        inside, outside = folds == fold, folds != fold
        partial = _fit_once(_take_rows(topk, outside), right[outside], frequencies[outside], weights)
        known = partial.apply_to_slots(_take_rows(topk, inside), frequencies[inside]).probabilities
        assert known is not None
        probabilities[inside] = known
    calibration = replace(
        _fit_once(topk, right, frequencies, weights),
        way=way,
        evidence=HeldOutEvidence(
            ids=topk.ids,
            probabilities=probabilities,
            right=right.astype(np.uint8),
            frequencies=frequencies.astype(np.int64),
            n_true=np.concatenate([np.diff(sample.truth.indptr) for sample in samples]).astype(np.int64),
        ),
    )
    try:
        calibration.check()
    except ValueError as problem:  # no probability is better than a wrong one
        raise DataError(f"the scores of the held-out documents give no calibration ({problem})") from problem
    return calibration


def _take_rows(topk: TopK, rows: np.ndarray) -> TopK:
    return replace(topk, ids=topk.ids[rows], scores=topk.scores[rows])


def _check_evidence(topk: TopK, right: np.ndarray) -> None:
    """Refuse what would give a wrong probability."""
    scores = topk.scores[topk.ids != MISSING]
    if not np.isfinite(scores).all():
        raise DataError("scores of held-out documents are not numbers, so there is no calibration")
    if len(topk) < MIN_HELD_OUT_DOCUMENTS:
        raise DataError(
            f"{len(topk)} held-out documents are too few to calibrate, at least {MIN_HELD_OUT_DOCUMENTS} are needed",
            remedy="use more training documents",
        )
    if int(right.sum()) < MIN_RIGHT:
        raise DataError(
            f"only {int(right.sum())} predictions for {len(topk)} held-out documents are right, at least {MIN_RIGHT} "
            "are needed to calibrate",
            remedy="use more training documents or another method",
        )
    if scores.min() == scores.max():
        raise DataError("all scores of held-out documents are equal, so they say nothing about probabilities")


def _fit_once(topk: TopK, right: np.ndarray, frequencies: np.ndarray, unseen: UnseenWeights) -> Calibration:
    """Return the calibration of these predictions, with nothing known about the way and no evidence yet."""
    present = topk.ids != MISSING
    facts, hits = Facts.from_topk(topk, frequencies), right[present].astype(np.float64)
    weights = np.where(facts.kinds == NEVER, np.where(hits > 0, unseen.right, unseen.wrong), 1.0)
    knots = Knots(
        _choose_knots(facts.scores, hits, N_SCORE_KNOTS), _choose_knots(facts.gaps[facts.ranks > 1], None, N_GAP_KNOTS)
    )
    coefficients = _fit_coefficients(knots, facts, hits, weights)
    calibration = _collect_curves(knots, coefficients)
    raw = calibration.apply_to_slots(topk, frequencies).probabilities
    assert raw is not None
    map_from, map_to = _fit_map(raw[present].astype(np.float64), hits, weights)
    return replace(calibration, map_from=map_from, map_to=map_to)


def _choose_knots(values: np.ndarray, hits: np.ndarray | None, n_knots: int) -> np.ndarray:
    """Return knots at quantiles; where right predictions are known, half of them at quantiles of those."""
    if len(values) == 0:
        return np.array([0.0, 1.0])
    shares = np.linspace(0.0, 1.0, n_knots)
    chosen = [np.quantile(values, shares)]
    if hits is not None:
        chosen.append(np.quantile(values[hits > 0], shares[1:-1:2]))
    knots = np.unique(np.concatenate(chosen))
    # Knots that nearly coincide would make a step out of rounding errors.
    apart = np.concatenate([[True], np.diff(knots) > 1e-6 * max(knots[-1] - knots[0], np.abs(knots).max(), 1e-30)])
    knots = knots[apart]
    return knots if len(knots) > 1 else np.array([knots[0], knots[0] + 1.0])


def _fit_coefficients(knots: Knots, facts: Facts, hits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the coefficients with the largest penalised likelihood among those with the right signs."""
    columns = knots.list_columns()
    terms = np.column_stack(list(knots.iterate_terms(facts)))
    signs = np.array([sign for _, sign in columns])
    bounds = np.array([np.where(signs > 0, 0.0, -MAX_COEFFICIENT), np.where(signs < 0, 0.0, MAX_COEFFICIENT)])
    penalties = np.array([KIND_PENALTY if ", " in name else COMMON_PENALTY for name, _ in columns])
    penalties[: len(KIND_NAMES)] = 0.01

    return _maximise_likelihood(terms, hits, weights, penalties, bounds)


def _maximise_likelihood(
    terms: np.ndarray, hits: np.ndarray, weights: np.ndarray, penalties: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """Return the coefficients by Newton steps, each the least squares solution within `bounds` (2, n_columns)."""
    coefficients = np.zeros(terms.shape[1])
    loss, step = np.inf, coefficients
    for _ in range(MAX_ITERATIONS):
        for _ in range(MAX_HALVINGS):
            z = terms @ (coefficients + step)
            tried = float(weights @ (np.logaddexp(0.0, z) - hits * z) + 0.5 * penalties @ (coefficients + step) ** 2)
            if tried <= loss:
                break
            step = step / 2.0
        else:
            break
        coefficients = coefficients + step
        gained, loss = loss - tried, tried
        if gained < MIN_GAIN * len(hits):
            break
        p = 1.0 / (1.0 + np.exp(-z))
        slope = terms.T @ (weights * (p - hits)) + penalties * coefficients
        curvature = (terms * (weights * np.maximum(p * (1.0 - p), 1e-6))[:, None]).T @ terms + np.diag(penalties)
        factor = np.linalg.cholesky(curvature)
        target = solve_triangular(factor, curvature @ coefficients - slope, lower=True)
        step = lsq_linear(factor.T, target, bounds=bounds, method="bvls").x - coefficients
    return coefficients


def _collect_curves(knots: Knots, coefficients: np.ndarray) -> Calibration:
    """Add up the coefficients of the columns to values at the knots."""
    n_kinds, n_scores, n_gaps = len(KIND_NAMES), len(knots.scores) - 1, len(knots.gaps) - 1
    sizes = [n_kinds, n_scores, n_kinds * n_scores, n_gaps, n_kinds, len(RANK_STEPS)]
    starts, common, by_kind, gaps, gap_slopes, ranks, frequency = np.split(coefficients, np.cumsum(sizes))
    rises = np.hstack([starts[:, None], common[None, :] + by_kind.reshape(n_kinds, n_scores)])
    span = np.diff(knots.gaps) / (knots.gaps[-1] - knots.gaps[0])
    falls = gaps[None, :] + gap_slopes[:, None] * span[None, :]
    return Calibration(
        way="held_out",
        score_knots=knots.scores,
        score_curves=np.cumsum(rises, axis=1),
        gap_knots=knots.gaps,
        gap_curves=np.cumsum(np.hstack([np.zeros((n_kinds, 1)), falls]), axis=1),
        rank_steps=np.concatenate([[0.0], np.cumsum(ranks)]),
        frequency_curve=np.concatenate([[0.0], np.cumsum(frequency)]),
        map_from=np.array([0.0, 1.0]),
        map_to=np.array([0.0, 1.0]),
        evidence=_EMPTY,
    )


def _fit_map(raw: np.ndarray, hits: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a monotone map of probabilities, linear between the means of bins of about equal size."""
    order = np.argsort(raw, kind="stable")
    # Most predictions are wrong and have next to no probability: bins of equal *probability mass* look where it counts.
    mass = np.cumsum(raw[order] * weights[order])
    n_bins = int(np.clip(len(raw) // MIN_BIN_PREDICTIONS, 1, MAX_BINS))
    bins = np.minimum((n_bins * mass / mass[-1]).astype(np.int64), n_bins - 1) if mass[-1] > 0 else np.zeros_like(order)
    columns = (weights, weights * raw, weights * hits)
    sums = [np.bincount(bins, weights=column[order], minlength=n_bins) for column in columns]
    size, said, was = (column[sums[0] >= 1.0] for column in sums)
    # A bin of few predictions says little: it is drawn towards what the additive model says.
    shares = (was + said / size * MODEL_WEIGHT) / (size + MODEL_WEIGHT)
    rising = np.clip(isotonic_regression(shares, weights=size).x, 0.0, 1.0)  # the bins are in the order of `said`
    points, first = np.unique(np.concatenate([[0.0], said / size, [1.0]]), return_index=True)
    values = np.concatenate([[0.0], rising, [1.0]])[first]
    return points, np.maximum.accumulate(values)


_EMPTY = HeldOutEvidence(
    np.empty((0, 0), np.int32),
    np.empty((0, 0), np.float32),
    np.empty((0, 0), np.uint8),
    np.empty((0, 0), np.int64),
    np.empty(0, np.int64),
)
