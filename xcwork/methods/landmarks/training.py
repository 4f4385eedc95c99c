"""Training: affinities, selection, predictors, decoding and outliers, one after the other."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.errors import Cancelled
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.landmarks.admm import AdmmSettings, relate_labels_by_admm
from xcwork.methods.landmarks.affinity import Combination, relate_labels
from xcwork.methods.landmarks.decoding import decode_labels, find_outliers
from xcwork.methods.landmarks.model import LandmarksModel
from xcwork.methods.landmarks.predictors import Regressors, RidgeSettings, count_kept_weights, train_ridge, train_svm
from xcwork.methods.landmarks.selection import USES_AFFINITY, USES_SCORES, SelectionSettings, choose_landmarks
from xcwork.methods.model import Params
from xcwork.progress import report
from xcwork.sparse import drop_zeros

PREDICTABILITIES = ("all", "sample")
MAX_SAMPLED_DOCUMENTS = 2000  # that tell how predictable labels are, with predictability=sample

log = logging.getLogger(__name__)


def train_landmarks(
    train: Split, facts: dict[str, Any], checkpoint: Checkpoint | None, score_weight: float
) -> LandmarksModel:
    """Return the trained model, of which `facts` are the fields that every model has."""
    params: Params = facts["params"]
    frequencies = train.label_frequencies
    seen = np.flatnonzero(frequencies)
    log_peculiarities(train, params.landmarks)
    # Support vector machines keep their own checkpoint, which is what takes time there.
    progress = TrainingProgress(checkpoint if params.predictor == "ridge" else None, train, params)
    try:
        affinity = convergence = None
        if params.selection in USES_AFFINITY:
            affinity, convergence = find_affinity(train, params, progress)
        regressors = r2 = None
        uses_scores = params.selection in USES_SCORES
        if params.one_vs_rest or (uses_scores and params.predictability == "all"):
            regressors = train_regressors(train, seen, params, progress, checkpoint)
            r2 = regressors.compute_r2(frequencies, len(train))
        elif uses_scores:
            r2 = estimate_r2(train, params)
        settings = SelectionSettings.from_params(params | {"score_weight": score_weight})
        chosen = choose_landmarks(train.Y, affinity, r2, settings)
        combination = decode_labels(train.Y, chosen.landmarks, params.decoding, params.decoding_alpha)
        outliers = np.setdiff1d(find_outliers(combination, params.outlier_threshold), chosen.landmarks)
        directly = np.union1d(chosen.landmarks, outliers)
        if regressors is None:
            regressors = train_regressors(train, directly, params, progress, checkpoint)
    except Cancelled:
        progress.save()
        raise
    decoder, outlier_decoder = divide_columns(combination.Z, outliers)
    rest = np.setdiff1d(regressors.labels, directly) if params.one_vs_rest else np.zeros(0, np.int64)
    model = LandmarksModel(
        **facts,
        landmarks=chosen.landmarks,
        gains=chosen.gains,
        n_monotone=chosen.n_monotone,
        is_guaranteed=chosen.is_guaranteed,
        outliers=outliers,
        decoder=decoder,
        outlier_decoder=outlier_decoder,
        residuals=combination.residuals,
        r2=regressors.compute_r2(frequencies, len(train)),
        landmark_weights=regressors.select_weights(chosen.landmarks),
        outlier_weights=regressors.select_weights(outliers),
        rest=rest,
        rest_weights=regressors.select_weights(rest),
        convergence=convergence,
    )
    log.info(
        "%d landmarks, %d outlier labels with their own regressor, %d labels decoded, %d labels without documents",
        len(model.landmarks),
        len(model.outliers),
        model.n_decoded,
        train.n_labels - len(seen),
    )
    report("selecting landmarks", landmarks=len(model.landmarks), outliers=len(model.outliers))
    return model


def find_affinity(
    train: Split, params: Params, progress: TrainingProgress
) -> tuple[Combination, dict[str, list[float]] | None]:
    """Return every label as a combination of the others, and how ADMM converged if it was the solver."""
    stored = progress.get_state("affinity")
    if stored is not None:
        solution = stored["solution"]
        return Combination(**{**solution, "Z": sparse.csc_array(solution["Z"])}), stored["convergence"]
    convergence = None
    if params.solver == "admm":
        settings = AdmmSettings(ceiling=params.admm_ceiling)
        affinity, history = relate_labels_by_admm(
            train.Y, params.affinity_alpha, device=params.device, settings=settings
        )
        convergence = vars(history)
    else:
        affinity = relate_labels(train.Y, params.affinity_alpha, seed=params.seed)
    progress.update("affinity", lambda: {"solution": vars(affinity), "convergence": convergence})
    return affinity, convergence


def train_regressors(
    train: Split, labels: np.ndarray, params: Params, progress: TrainingProgress, checkpoint: Checkpoint | None
) -> Regressors:
    """Return linear predictors of `labels`, of the kind that the parameters name."""
    keep = count_kept_weights(train.X.shape[1] + 1, len(labels), params.max_weights)
    if params.predictor == "svm":
        return train_svm(
            train, labels, C=params.C, keep=keep, seed=params.seed, checkpoint=checkpoint, device=params.device
        )
    return train_ridge(train, labels, RidgeSettings.from_params(params), keep, progress)


def estimate_r2(train: Split, params: Params) -> np.ndarray:
    """Return the training R² of every label, (n_labels,), of ridge regression on a sample of the documents."""
    rows = np.random.default_rng(params.seed).permutation(len(train))[:MAX_SAMPLED_DOCUMENTS]
    sample = train.take(np.sort(rows))
    frequencies = sample.label_frequencies
    progress = TrainingProgress(None, sample, params)
    regressors = train_ridge(sample, np.flatnonzero(frequencies), RidgeSettings.from_params(params), 1, progress)
    return regressors.compute_r2(frequencies, len(sample))


def divide_columns(Z: sparse.csc_array, outliers: np.ndarray) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the columns of other labels and those of outliers, both (k, n_labels)."""
    is_outlier = np.zeros(Z.shape[1])
    is_outlier[outliers] = 1.0
    decoder = drop_zeros(sparse.csr_array(Z @ sparse.diags_array(1.0 - is_outlier)))
    return decoder, drop_zeros(sparse.csr_array(Z @ sparse.diags_array(is_outlier)))


def log_peculiarities(train: Split, n_landmarks: int) -> None:
    """Say in the log what is unusual about the data."""
    frequencies = train.label_frequencies
    if (frequencies == 0).any():
        log.info("%d labels have no training document and are never predicted", int((frequencies == 0).sum()))
    marks = np.random.default_rng(0).random(len(train))
    columns = (sparse.csr_array(train.Y.T, dtype=np.float64) @ marks)[frequencies > 0]
    n_repeated = len(columns) - len(np.unique(columns.round(9)))
    if n_repeated:
        log.info("%d labels have exactly the same documents as another one", n_repeated)
    if len(train) < n_landmarks:
        log.info("there are fewer documents (%d) than landmarks (%d)", len(train), n_landmarks)
