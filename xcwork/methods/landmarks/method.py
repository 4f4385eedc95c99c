"""Landmark label selection: predict a few informative labels well and reconstruct the rest from them.

Labels depend on each other: who tags a page `python` often tags it `programming` too. So instead of a classifier a
label, k *landmark* labels get one, and every other label is a fixed combination of the predicted landmarks. Labels that
no combination reproduces, the *outliers*, keep a predictor of their own.

    1. affinity    every label as a sparse combination of the others:  min ‖Z‖₁ + α‖E‖₂,₁  s.t.  Y = Y Z + E, Z_ll = 0
    2. selection   S greedily maximises  cut(S) - λ·redundancy(S) + α_s·predictability(S)   on the graph |Z| + |Z|ᵀ
    3. predictors  p(x) = Bᵀx  for the landmarks: ridge regression or support vector machines
    4. decoding    Ŷ = p(x) Z_S  with Z_S from least squares or from the same ℓ1 problem with Y_S
    5. outliers    labels with ‖y - Y_S z‖ / ‖y‖ > τ are scored by their own regressor instead

Each step has a module with its mathematics. Everything is linear in x, so the share of a term by way of a landmark,
x_t · B[t, s] · Z[s, l], is exact: those products are the explanation, and the columns of Z_S embed the labels.

How much of the result the landmarks carry is easy to misread: with many outliers the method *is* one-vs-rest, and with
ridge it is exactly that when every badly reproduced label is an outlier. Therefore `diagnostics` always reports the
number of outliers, and P@k and nDCG@k of the landmarks alone and of full one-vs-rest beside the method's own.

Cost: counts O(sum_i |y_i|²), affinities and greedy selection proportional to what co-occurs, ridge O(min(N, d)³) or
conjugate gradients, one regressor a label for the scores of step 2 (and for the one-vs-rest row). Prediction:
O(k · terms + nnz(Z) + outlier weights of the terms) a document. Cannot predict a label that no training document has.

Differences from the paper: the optimisation of step 1 is corrected and solved by columns (see `affinity` and `admm`);
the definition of the predictability score, the weights λ and α_s, the outlier rule and the base regressor are not in
the part of the paper that is available, and are the choices described in the modules.

Reference: Barezi, Wood, Fung, Rabiee, A Submodular Feature-Aware Framework for Label Subset Selection in Extreme
Classification Problems, NAACL 2019.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.compute.device import CHOICES as DEVICES
from xcwork.core.split import Split
from xcwork.errors import Cancelled, DataError
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.common.checkpoints import Progress
from xcwork.methods.landmarks import predictors, selection
from xcwork.methods.landmarks.admm import admm_affinity
from xcwork.methods.landmarks.affinity import Combination, self_affinity
from xcwork.methods.landmarks.decoding import DECODINGS, decode, outliers
from xcwork.methods.landmarks.predictors import Regressors, with_bias
from xcwork.methods.landmarks.ridge import SOLVERS
from xcwork.methods.landmarks.scoring import Scorer
from xcwork.methods.layout import array, flag, history, matrix, number, optional, sometimes, stored
from xcwork.progress import report
from xcwork.sparse import drop_zeros

log = logging.getLogger(__name__)

BIAS, OWN, NOTHING = "(any document)", "its own regressor", "no training document to learn from"


@dataclass(kw_only=True, eq=False)
class Landmarks(Method):
    """A few well-predicted labels, from which the others are reconstructed."""

    landmarks: int = param(100, "labels that are predicted directly", low=1)
    selection: str = param("combined", "how landmarks are chosen", choices=selection.STRATEGIES)
    score_weight: float = param(1.0, "weight of predictability against informativeness", low=0.0)
    redundancy: float = param(0.5, "penalty on landmarks that say the same", low=0.0)
    decoding: str = param("least_squares", "how labels are combined from landmarks", choices=DECODINGS)
    outlier_threshold: float = param(
        0.7, "labels reproduced worse than this get their own regressor; 1: none", low=0.0, high=1.0
    )
    predictor: str = param("ridge", "kind of linear predictor", choices=("ridge", "svm"))
    gamma: float = param(1.0, "regularisation of ridge regression", low=1e-6)
    C: float = param(1.0, "weight of the errors of the support vector machines", low=1e-4, high=1e4)
    affinity_alpha: float = param(1.0, "price of what affinities leave unexplained", low=1e-3, advanced=True)
    decoding_alpha: float = param(3.0, "the same for l1 decoding", low=1e-3, advanced=True)
    solver: str = param(
        "square_root_lasso", "solver of the affinities", choices=("square_root_lasso", "admm"), advanced=True
    )
    ridge_solver: str = param("auto", "solver of ridge regression", choices=SOLVERS, advanced=True)
    tolerance: float = param(0.1, "relative residual of conjugate gradients", low=1e-12, high=0.5, advanced=True)
    fill: bool = param(
        True, "choose all landmarks even when a further one lowers the objective of the selection", advanced=True
    )
    weights: int | None = param(None, "largest weights kept a label; empty: as many as fit", low=1, advanced=True)
    one_vs_rest: bool = param(True, "also train what only the one-vs-rest row needs", advanced=True)
    device: str = param("auto", "where dense linear algebra runs", choices=DEVICES, advanced=True, at_prediction=True)

    title = "Landmark labels"
    paper = "Barezi et al., NAACL 2019"
    capabilities = Capabilities(exact_explanations=True, gpu=True, resumable=True)
    layout = stored(
        landmarks_=array("chosen", kind="i", below="labels"),
        gains_=array("gains"),
        outliers_=array("strays", kind="i", below="labels"),
        monotone_=optional(number),
        is_guaranteed_=optional(flag),
        decoder_=matrix("chosen", "labels"),
        outlier_decoder_=matrix("chosen", "labels"),
        residuals_=array("labels"),
        r2_=array("labels"),
        landmark_weights_=matrix("features+1", "chosen"),
        outlier_weights_=matrix("features+1", "strays"),
        rest_=array("others", kind="i", below="labels"),
        rest_weights_=matrix("features+1", "others"),
        convergence_=sometimes(history),
    )

    def _fit(self, train: Split) -> None:
        seen = np.flatnonzero(self.label_frequencies_)
        if len(seen) == 0:
            raise DataError("no training document carries a label, so there is nothing to learn")
        self._remark(train)
        # Support vector machines keep a checkpoint of their own, which is what takes time there.
        progress = Progress(self._checkpoint if self.predictor == "ridge" else None, train, self.get_params())
        try:
            affinity = self._affinity(train, progress)
            regressors = None
            if self.one_vs_rest or self.selection in selection.USES_SCORES:
                regressors = self._regressors(train, seen, progress)
            chosen = self._select(train, affinity, regressors)
            decoder = decode(train.Y, chosen.landmarks, self.decoding, self.decoding_alpha)
            strays = np.setdiff1d(outliers(decoder, self.outlier_threshold), chosen.landmarks)
            if regressors is None:
                regressors = self._regressors(train, np.union1d(chosen.landmarks, strays), progress)
        except Cancelled:
            progress.save()
            raise
        self._keep(chosen, decoder, strays, regressors, len(train))
        log.info(
            "%d landmarks, %d outlier labels with their own regressor, %d labels decoded, %d labels without documents",
            len(self.landmarks_),
            len(self.outliers_),
            self._n_decoded,
            train.n_labels - len(seen),
        )
        report("selecting landmarks", landmarks=len(self.landmarks_), outliers=len(self.outliers_))

    def _affinity(self, train: Split, progress: Progress) -> Combination | None:
        if self.selection not in selection.USES_AFFINITY:
            return None
        state = progress.state("affinity")
        if state is None:
            history = None
            if self.solver == "admm":
                affinity, history = admm_affinity(train.Y, self.affinity_alpha, device=self.device)
            else:
                affinity = self_affinity(train.Y, self.affinity_alpha, seed=self.seed)
            state = {"solution": vars(affinity), "convergence": None if history is None else vars(history)}
            progress.update("affinity", lambda: state)
        if state["convergence"] is not None:
            self.convergence_ = state["convergence"]
        return Combination(**{**state["solution"], "Z": sparse.csc_array(state["solution"]["Z"])})

    def _regressors(self, train: Split, labels: np.ndarray, progress: Progress) -> Regressors:
        keep = predictors.weights_kept(train.X.shape[1] + 1, len(labels), self.weights)
        if self.predictor == "svm":
            return predictors.train_svm(train, labels, C=self.C, keep=keep, seed=self.seed, checkpoint=self._checkpoint)
        return predictors.train_ridge(
            with_bias(train.X),
            train.Y,
            labels,
            strength=self.gamma,
            solver=self.ridge_solver,
            seed=self.seed,
            tolerance=self.tolerance,
            keep=keep,
            device=self.device,
            progress=progress,
        )

    def _select(self, train: Split, affinity: Combination | None, regressors: Regressors | None) -> selection.Selection:
        r2 = None if regressors is None else regressors.r2(self.label_frequencies_, len(train))
        return selection.choose(
            self.selection,
            self.landmarks,
            train.Y,
            affinity=affinity,
            r2=r2,
            score_weight=self.score_weight,
            redundancy=self.redundancy,
            fill=self.fill,
            seed=self.seed,
        )

    def _keep(
        self,
        chosen: selection.Selection,
        decoder: Combination,
        strays: np.ndarray,
        regressors: Regressors,
        n_documents: int,
    ) -> None:
        """Make the learned attributes."""
        self.landmarks_, self.gains_, self.outliers_ = chosen.landmarks, chosen.gains, strays
        self.monotone_ = chosen.monotone
        self.is_guaranteed_ = chosen.is_guaranteed
        is_stray = np.zeros(len(self.labels_))
        is_stray[strays] = 1.0
        # Apart, because predicting needs only the first and outliers are often the larger part; both (k, n_labels).
        self.decoder_ = drop_zeros(sparse.csr_array(decoder.Z @ sparse.diags_array(1.0 - is_stray)))
        self.outlier_decoder_ = drop_zeros(sparse.csr_array(decoder.Z @ sparse.diags_array(is_stray)))
        self.residuals_ = decoder.residuals  # (n_labels,)
        self.r2_ = regressors.r2(self.label_frequencies_, n_documents)  # (n_labels,)
        self.landmark_weights_ = regressors.of(self.landmarks_)  # (n_features + 1, k)
        self.outlier_weights_ = regressors.of(self.outliers_)  # (n_features + 1, n_outliers)
        rest = np.setdiff1d(regressors.labels, np.union1d(self.landmarks_, self.outliers_))
        self.rest_ = rest if self.one_vs_rest else rest[:0]
        self.rest_weights_ = regressors.of(self.rest_)  # only the one-vs-rest row needs these

    def _remark(self, train: Split) -> None:
        """Say in the log what is unusual about the data."""
        frequencies = self.label_frequencies_
        if (frequencies == 0).any():
            log.info("%d labels have no training document and are never predicted", int((frequencies == 0).sum()))
        marks = np.random.default_rng(0).random(len(train))
        columns = (sparse.csr_array(train.Y.T, dtype=np.float64) @ marks)[frequencies > 0]
        repeated = len(columns) - len(np.unique(columns.round(9)))
        if repeated:
            log.info("%d labels are carried by exactly the same documents as another one", repeated)
        if len(train) < self.landmarks:
            log.info("there are fewer documents (%d) than landmarks (%d)", len(train), self.landmarks)

    @property
    def _n_decoded(self) -> int:
        return int(np.count_nonzero(self.label_frequencies_)) - len(self.landmarks_) - len(self.outliers_)

    def _scorer(self) -> Scorer:
        return Scorer(
            self.landmark_weights_,
            self.decoder_,
            self.outlier_weights_,
            self.outliers_,
            self.label_frequencies_ > 0,
            self.device,
        )

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self._scorer().top_k(with_bias(X), k, among)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        if self.label_frequencies_[label] == 0:
            return Explanation.of([Part(BIAS, NOTHING, 0.0)])
        row = with_bias(x)
        terms = [self.features_.name(term) for term in row.indices[:-1].tolist()] + [BIAS]
        stray = np.flatnonzero(self.outliers_ == label)
        if len(stray):
            shares, sources = np.ones(1), [OWN]
            weights = self.outlier_weights_[row.indices][:, stray].toarray()  # (n_terms, 1)
        else:
            column = sparse.csc_array(self.decoder_[:, [label]])
            shares, sources = column.data, [self.labels_.names[s] for s in self.landmarks_[column.indices]]
            weights = self.landmark_weights_[row.indices][:, column.indices].toarray()  # (n_terms, n_sources)
        values = row.data[:, None].astype(np.float64) * weights * shares
        parts = [
            Part(
                terms[t],
                sources[s],
                float(values[t, s]),
                {"term_weight": float(weights[t, s]), "landmark_weight": float(shares[s])},
            )
            for t, s in zip(*np.nonzero(values), strict=True)
        ]
        return Explanation.of(parts)

    @property
    def combinations(self) -> sparse.csr_array:
        """Z: every label, also an outlier, as a combination of landmarks, (k, n_labels)."""
        return sparse.csr_array(self.decoder_ + self.outlier_decoder_)

    def label_embeddings(self) -> sparse.csr_array:
        """The combination of landmarks that each label is: the columns of Z."""
        return sparse.csr_array(self.combinations.T)

    def diagnostics(self, split: Split) -> dict[str, float]:
        """Count landmarks and outliers, say whether the greedy choice is guaranteed, and measure what the landmarks
        alone and full one-vs-rest reach on `split`.
        """
        seen = self.label_frequencies_ > 0
        counts = {
            "landmarks": len(self.landmarks_),
            "outliers": len(self.outliers_),
            "decoded_labels": self._n_decoded,
            "mean_residual": self.residuals_[seen].mean(),
        }
        if self.is_guaranteed_ is not None:
            counts["greedy_guarantee_holds"] = self.is_guaranteed_
        X = with_bias(split.X)
        alone = replace(
            self._scorer(), decoder=self.combinations, own=self.outlier_weights_[:, :0], own_labels=self.outliers_[:0]
        )
        rows = alone.measure(split, X, "landmarks_only")
        if self.one_vs_rest:
            rows |= self._every_label().measure(split, X, "one_vs_rest")
        return {name: float(value) for name, value in counts.items()} | rows

    def _every_label(self) -> Scorer:
        """All labels by their own regressors."""
        weights = (self.landmark_weights_, self.outlier_weights_, self.rest_weights_)
        own = sparse.csr_array(sparse.hstack(weights))
        labels = np.concatenate([self.landmarks_, self.outliers_, self.rest_])
        nothing = sparse.csr_array((0, len(self.labels_)))
        return replace(self._scorer(), direct=own[:, :0], decoder=nothing, own=own, own_labels=labels)
