"""Landmark label selection: predict a few informative labels well and reconstruct the rest from them.

Labels depend on each other: who tags a page `python` often tags it `programming` too. So instead of a classifier
per label, k *landmark* labels get one, and every other label is a fixed combination of the predicted landmarks. Labels
that no combination reproduces, the *outliers*, keep a predictor of their own.

    1. affinity    labels as sparse combinations of others:  min ‖Z‖₁ + α‖E‖₂,₁  s.t.  Y = Y Z + E, Z_ll = 0
    2. selection   S greedily maximises cut(S) - λ·redundancy(S) + α_s·predictability(S) on |Z| + |Z|ᵀ
    3. predictors  p(x) = Bᵀx  for the landmarks: ridge regression or support vector machines
    4. decoding    Ŷ = p(x) Z_S  with Z_S from least squares or from the same ℓ1 problem with Y_S
    5. outliers    labels with ‖y - Y_S z‖ / ‖y‖ > τ are scored by their own regressor instead

Each step has a module with its mathematics. Everything is linear in x, so the share of a term through a landmark,
x_t · B[t, s] · Z[s, l], is exact: those products are the explanation, and the columns of Z_S embed the labels.

How much of the result is due to the landmarks is easy to misread: with many outliers the method *is* one-vs-rest, and
with ridge it is exactly that when every badly reproduced label is an outlier. Therefore `diagnose` always reports
the number of outliers, and P@k and nDCG@k of the landmarks alone and of full one-vs-rest beside the method's own.

Cost: counts O(sum_i |y_i|²), affinities and greedy selection proportional to what co-occurs, ridge O(min(N, d)³) or
conjugate gradients, one regressor per label for the scores of step 2 (`predictability=sample` does without) and for the
one-vs-rest row. Prediction: O(k · terms + nnz(Z) + outlier weights of the terms) per document. Cannot predict a label
that no training document has.

Differences from the paper: the optimisation of step 1 is corrected and solved by columns (see `affinity` and `admm`);
the definition of the predictability score, the weights λ and α_s, the outlier rule and the base regressor are not in
the part of the paper that is available, and are the choices described in the modules.

Reference: Barezi, Wood, Fung, Rabiee, A Submodular Feature-Aware Framework for Label Subset Selection in Extreme
Classification Problems, NAACL 2019.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.kernels.machine_sizes import estimate_shared_bytes
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.landmarks.admm import estimate_admm_bytes
from xcwork.methods.landmarks.decoding import DECODINGS
from xcwork.methods.landmarks.model import LandmarksModel
from xcwork.methods.landmarks.ridge import RIDGE_SOLVERS, estimate_ridge_bytes
from xcwork.methods.landmarks.selection import STRATEGIES, USES_AFFINITY
from xcwork.methods.landmarks.training import PREDICTABILITIES, train_landmarks
from xcwork.metrics.ranking import compute_curves, place_labels

log = logging.getLogger(__name__)

SCORE_WEIGHTS = (0.0, 0.1, 1.0)  # that are compared where none is given
VALIDATION_SHARE = 0.2
VALIDATION_RANK = 5  # up to which the mean of P@k compares them


@dataclass(kw_only=True, eq=False)
class Landmarks(Method):
    """A few well-predicted labels, from which the others are reconstructed."""

    landmarks: int = param(100, "number of labels that are predicted directly", low=1)
    selection: str = param("combined", "strategy that chooses the landmarks", choices=STRATEGIES)
    score_weight: float | None = param(
        1.0, "weight of predictability against informativeness; empty: the best on held-out documents", low=0.0
    )
    redundancy: float = param(0.5, "penalty on landmarks that say the same", low=0.0)
    decoding: str = param("least_squares", "way in which labels are combined from landmarks", choices=DECODINGS)
    outlier_threshold: float = param(
        0.7, "residual above which a label gets its own regressor; 1: none does", low=0.0, high=1.0
    )
    predictor: str = param("ridge", "kind of linear predictor", choices=("ridge", "svm"))
    gamma: float = param(1.0, "regularisation of ridge regression", low=1e-6)
    C: float = param(1.0, "weight of the errors of the support vector machines", low=1e-4, high=1e4)
    affinity_alpha: float = param(1.0, "price of what affinities leave unexplained", low=1e-3, advanced=True)
    decoding_alpha: float = param(3.0, "price of what l1 decoding leaves unexplained", low=1e-3, advanced=True)
    solver: str = param(
        "square_root_lasso", "solver of the affinities", choices=("square_root_lasso", "admm"), advanced=True
    )
    admm_ceiling: float | None = param(
        3.0,
        "ceiling of the penalty of ADMM; empty: it grows without end, as in the paper's supplement",
        low=0.01,
        advanced=True,
    )
    ridge_solver: str = param("auto", "solver of ridge regression", choices=RIDGE_SOLVERS, advanced=True)
    tolerance: float = param(0.1, "relative residual of conjugate gradients", low=1e-12, high=0.5, advanced=True)
    fill: bool = param(
        True,
        "whether all landmarks are chosen even when a further one lowers the objective of the selection",
        advanced=True,
    )
    max_weights: int | None = param(
        None,
        "maximum number of weights per label, the largest; empty: as many as fit",
        low=1,
        advanced=True,
        formerly="weights",
    )
    predictability: str = param(
        "all",
        "where the selection learns how predictable a label is: a regressor per label on all documents, or a ridge "
        "regression on a sample, so that only landmarks and outliers get a regressor",
        choices=PREDICTABILITIES,
        advanced=True,
    )
    one_vs_rest: bool = param(True, "whether what only the one-vs-rest row needs is trained, too", advanced=True)
    device: str = device_param()

    title = "Landmark labels"
    paper = "Barezi et al., NAACL 2019"
    capabilities = Capabilities(
        exact_explanations=True,
        gpu=True,
        gpu_training="ADMM, ridge regression, classifiers",
        gpu_prediction="scores",
        resumable=True,
    )
    model_type = LandmarksModel
    presets = (
        Preset("quick", {"landmarks": 30, "one_vs_rest": False, "selection": "most_frequent"}),
        Preset(
            "paper",
            {"decoding": "l1", "one_vs_rest": False, "predictability": "sample", "score_weight": None},
            ours_adds="decoding by least squares, the one-vs-rest row for comparison, a fixed weight of predictability",
            not_yet="solver=admm with an empty admm_ceiling is the supplement's schedule, but dense, so the preset "
            "takes the square-root lasso, which solves the same problem; predictability, redundancy and outlier "
            "threshold are reconstructions, because the main paper was not available",
        ),
    )

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        n_inputs = sizes.n_features + 1
        n_entries = sizes.n_entries + sizes.n_documents
        if self.predictor == "svm":
            predictors = estimate_shared_bytes(sizes.n_documents, sizes.n_features, sizes.n_entries, sizes.n_labels)
        else:
            shape = (sizes.n_documents, n_inputs)
            predictors = estimate_ridge_bytes(shape, n_entries, sizes.n_labels, self.ridge_solver, self.tolerance)
        by_admm = self.solver == "admm" and self.selection in USES_AFFINITY
        return max(predictors, estimate_admm_bytes(sizes.n_documents, sizes.n_labels) if by_admm else 0)

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> LandmarksModel:
        score_weight = self.score_weight
        if score_weight is None:
            score_weight = self._choose_score_weight(train) if self.selection == "combined" else 0.0
        return train_landmarks(train, self._collect_facts(train), checkpoint, score_weight)

    def _choose_score_weight(self, train: Split) -> float:
        """Return the weight whose landmarks, without outliers, rank held-out documents best."""
        rest, held_out = train.hold_out(VALIDATION_SHARE, self.seed)
        k = min(VALIDATION_RANK, train.n_labels)
        found = {}
        for weight in SCORE_WEIGHTS:
            changed = {"score_weight": weight, "outlier_threshold": 1.0, "one_vs_rest": False}
            candidate = type(self).from_params(self.get_params() | changed).fit(rest)
            placed = place_labels(candidate.predict(held_out, k=k), held_out.Y)
            found[weight] = float(np.mean(compute_curves(placed)["P"]))
        best = max(found, key=lambda weight: found[weight])
        log.info("predictability counts with weight %g, chosen on %d held-out documents", best, len(held_out))
        return best
