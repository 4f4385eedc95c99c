"""What landmark label selection learns: predictors of the landmarks, a decoder, and regressors of the outliers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Explanation
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.methods.landmarks.admm import AdmmHistory
from xcwork.methods.landmarks.explanation import explain_label
from xcwork.methods.landmarks.prediction import LandmarkScorer
from xcwork.methods.landmarks.predictors import append_bias
from xcwork.methods.model import (
    FittedModel,
    check_array,
    check_csr,
    check_flag,
    check_history,
    check_keys,
    check_number,
    for_display,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LandmarksModel(FittedModel):
    """The landmarks, how labels are combined from them, and which labels have regressors of their own."""

    landmarks: np.ndarray  # (k,) label ids in the order they were chosen
    gains: np.ndarray  # (k,): what each added to the objective of the selection
    n_monotone: int  # landmarks before the first one that lowered the objective
    is_guaranteed: bool | None  # worth at least 1 - 1/e of the best set, for certain; None: no objective was involved
    outliers: np.ndarray  # (n_outliers,) label ids
    # Apart, because predicting needs only the first and outliers are often the larger part.
    decoder: sparse.csr_array  # (k, n_labels), nothing in the columns of outliers
    outlier_decoder: sparse.csr_array  # (k, n_labels), only the columns of outliers
    residuals: np.ndarray  # (n_labels,): share of each label that landmarks do not reproduce
    r2: np.ndarray  # (n_labels,): how well documents predict each label
    landmark_weights: sparse.csr_array  # (n_features + 1, k)
    outlier_weights: sparse.csr_array  # (n_features + 1, n_outliers)
    rest: np.ndarray  # (n_rest,) ids of the other labels; only the one-vs-rest row needs them
    rest_weights: sparse.csr_array  # (n_features + 1, n_rest)
    convergence: dict[str, list[float]] | None = for_display()  # of ADMM; None with the other solver

    @property
    def n_decoded(self) -> int:
        """The number of labels that are only combined from landmarks."""
        return int(np.count_nonzero(self.label_frequencies)) - len(self.landmarks) - len(self.outliers)

    @property
    def combinations(self) -> sparse.csr_array:
        """Z: every label, also an outlier, as a combination of landmarks, (k, n_labels)."""
        return sparse.csr_array(self.decoder + self.outlier_decoder)

    @cached_property
    def scorer(self) -> LandmarkScorer:
        """The scores of the method: landmarks, decoded labels and outliers."""
        return LandmarkScorer(
            self.landmark_weights,
            self.decoder,
            self.outlier_weights,
            self.outliers,
            self.label_frequencies > 0,
            self.params.device,
        )

    @property
    def landmarks_only_scorer(self) -> LandmarkScorer:
        """All labels decoded from landmarks, outliers too."""
        return replace(
            self.scorer, decoder=self.combinations, own=self.outlier_weights[:, :0], own_labels=self.outliers[:0]
        )

    @property
    def one_vs_rest_scorer(self) -> LandmarkScorer:
        """All labels by their own regressors."""
        own = sparse.csr_array(sparse.hstack((self.landmark_weights, self.outlier_weights, self.rest_weights)))
        labels = np.concatenate([self.landmarks, self.outliers, self.rest])
        nothing = sparse.csr_array((0, self.n_labels))
        return replace(self.scorer, direct=own[:, :0], decoder=nothing, own=own, own_labels=labels)

    def check(self) -> None:
        for name in ("landmarks", "outliers", "rest"):
            check_array(name, getattr(self, name), (None,), kind="i", below=self.n_labels)
        check_array("gains", self.gains, (len(self.landmarks),))
        check_number("n_monotone", self.n_monotone)
        if self.is_guaranteed is not None:
            check_flag("is_guaranteed", self.is_guaranteed)
        check_csr("decoder", self.decoder, (len(self.landmarks), self.n_labels))
        check_csr("outlier_decoder", self.outlier_decoder, (len(self.landmarks), self.n_labels))
        check_array("residuals", self.residuals, (self.n_labels,))
        check_array("r2", self.r2, (self.n_labels,))
        n_inputs = self.n_features + 1
        check_csr("landmark_weights", self.landmark_weights, (n_inputs, len(self.landmarks)))
        check_csr("outlier_weights", self.outlier_weights, (n_inputs, len(self.outliers)))
        check_csr("rest_weights", self.rest_weights, (n_inputs, len(self.rest)))
        if self.convergence is not None:
            check_keys("convergence", self.convergence, {field.name for field in fields(AdmmHistory)})
            for name, series in self.convergence.items():
                check_history(f"convergence {name}", series)

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self.scorer.rank_labels(append_bias(X), k, among)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        names = [self.labels.names[landmark] for landmark in self.landmarks]
        return explain_label(self.scorer, x, label, self.features, names)

    def label_embeddings(self) -> sparse.csr_array:
        """Return the combination of landmarks that each label is: the columns of Z."""
        return sparse.csr_array(self.combinations.T)

    def diagnose(self, split: Split) -> dict[str, float]:
        """Return the numbers of landmarks and outliers, and how good landmarks alone and one-vs-rest are on `split`."""
        has_documents = self.label_frequencies > 0
        counts = {
            "landmarks": len(self.landmarks),
            "outliers": len(self.outliers),
            "decoded_labels": self.n_decoded,
            "mean_residual": self.residuals[has_documents].mean(),
        }
        if self.is_guaranteed is not None:
            counts["greedy_guarantee_holds"] = self.is_guaranteed
        X = append_bias(split.X)
        measured = self.landmarks_only_scorer.measure(split, X, "landmarks_only")
        if self.params.one_vs_rest:
            measured |= self.one_vs_rest_scorer.measure(split, X, "one_vs_rest")
        return {name: float(value) for name, value in counts.items()} | measured
