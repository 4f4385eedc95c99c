"""ZestXML: a sparse bilinear model that predicts labels it has never seen and can say exactly why.

A document x and a label l, described by terms z_l, meet in pairs of a document feature and a label feature:

    s(x, l) = bias_l + Σ x_c W_cd z_ld + m Σ √x_c idf_c z_lc + Σ x_c V_lc
                       learned pairs      terms in common       memorised for this label

Training has two steps. XHTP finds, in closed form, the few pairs (c, d) for which "the document has c and the label
has d" makes relevance probable (`xhtp`); ranking by them alone is the variant `xhtp`. Refinement then learns weights
against the labels that XHTP itself puts on a document's shortlist (`refine` for pairs that labels share, `own` for
what is memorised of each seen label): the variant `tuned`. A label seen in training has an identity of its own
besides its terms; a label that was never seen has only its terms, which is enough to predict it, and new labels can
join at any time.

The score is a sum over pairs, so the parts of an explanation are the terms of that sum: exact, not an approximation.

Cost: XHTP one addition for each (document feature, label feature of a relevant label); refinement
O(passes * documents * shortlist * features of a document); prediction O(features * K + candidates * terms of a label) a
document. Memory: the data, K numbers for each feature, and the shortlists.

Differences from the paper:

- Own weights are not restricted to K voters but solved for all features and pruned by size; refinement starts from
  prior and exact matches rather than from nothing.
- Exact matches count by √x and idf, and enter as one more sum of pairs instead of through
  0.9 exp(-max(0, 1 - m)²) + 0.1 match, so that the score that ranks is the score that is explained.
- Unseen labels borrow terms from the documents of seen labels with a similar text (`borrow`).
- Unseen labels have a shortlist of their own and a scale of their own, calibrated on labels hidden from training
  (`unseen`); in the reference program more than half of them are lost in the shortlist.

Reference: Gupta, Bohra, Prabhu, Purohit and Varma, Generalized zero-shot extreme multi-label learning, KDD 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from xcwork.compute.device import CHOICES, resolve_kind
from xcwork.core.split import Split
from xcwork.errors import Cancelled, DataError
from xcwork.methods.base import Capabilities, Explanation, Method, TopK, param
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP
from xcwork.methods.layout import Check, Misfit, array, matrix, number
from xcwork.methods.zestxml.borrow import borrowed_terms, typical_terms
from xcwork.methods.zestxml.explanation import explain, pairs_of
from xcwork.methods.zestxml.label_features import LabelFeatures, inverse_document_frequencies
from xcwork.methods.zestxml.prediction import Predictor, seen_shortlister
from xcwork.methods.zestxml.scorer import Voted
from xcwork.methods.zestxml.shortlist import recall
from xcwork.methods.zestxml.training import Roles, Tuning
from xcwork.methods.zestxml.xhtp import find_pairs
from xcwork.sparse import enlarge, keep_entries, normalise_rows


@dataclass(kw_only=True, eq=False)
class ZestXML(Method):
    """Sparse bilinear zero-shot model with exact explanations."""

    variant: str = param("tuned", "refine the weights, or stop after the closed form", choices=("tuned", "xhtp"))
    pairs: int = param(40, "partners kept for each document feature and each label feature", low=1)
    shortlist: int = param(300, "seen labels scored exactly for each document", low=1)
    unseen_shortlist: int = param(50, "unseen labels scored exactly for each document", low=0)
    C: float = param(1.0, "weight of the errors against the size of own weights", low=1e-4, high=1e4)
    loss: str = param("squared hinge", "loss of the refinement", choices=("squared hinge", "logistic"))
    epochs: int = param(0, "most passes over the documents to refine shared pairs", low=0)
    match_weight: float = param(0.3, "weight of terms that document and label have in common", low=0.0)
    parent_weight: float = param(0.5, "part of the broader labels' terms in a label's own, where known", low=0.0)
    borrow: bool = param(True, "unseen labels borrow terms from the documents of labels with a similar text")
    prune: float = param(0.03, "own weights smaller than this are dropped", low=0.0)
    blend: float = param(0.02, "part of the Jaccard index in the value of a pair", low=0.0, high=1.0, advanced=True)
    plain: bool = param(False, "XHTP as in the theorem: real values, no Jaccard part", advanced=True)
    identity_weight: float = param(1.0, "value of a seen label's identity in XHTP", low=0.0, advanced=True)
    trust: float = param(0.3, "factor with which the XHTP weights of shared pairs count", low=0.0, advanced=True)
    shortlister: str = param(
        "auto", "visit all labels or only promising ones", choices=("auto", "exact", "lazy"), advanced=True
    )
    overfetch: int = param(10, "labels the lazy shortlister fetches for each one it keeps", low=1, advanced=True)
    epsilon: float = param(0.001, "pairs of a smaller value are dropped", low=0.0, high=1.0, advanced=True)
    add_missed: bool = param(True, "learn from relevant labels that the shortlist missed", advanced=True)
    passes: int = param(16, "most passes over the pairs of a label for its own weights", low=1, advanced=True)
    tolerance: float = param(0.02, "largest change of a pair at which a label is solved", low=1e-6, advanced=True)
    own_weights: int = param(30_000, "most own weights of a label", low=1, advanced=True)
    rate: float = param(0.05, "step size of the refinement of shared pairs", low=1e-6, advanced=True)
    batch: int = param(256, "documents in a step of the refinement of shared pairs", low=1, advanced=True)
    patience: int = param(1, PATIENCE_HELP, low=1, advanced=True)
    held_out: float = param(
        0.02, "share of the documents kept for stopping and calibration", low=0.0, high=0.5, advanced=True
    )
    hidden: float = param(0.04, "share of the labels that stand in for unseen ones", low=0.0, high=0.5, advanced=True)
    device: str = param("auto", "where XHTP counts", choices=CHOICES, advanced=True)

    title = "ZestXML"
    paper = "Gupta et al., Generalized zero-shot extreme multi-label learning, KDD 2021"
    capabilities = Capabilities(
        zero_shot=True, exact_explanations=True, gpu=True, resumable=True, needs_label_text=True
    )

    @property
    def layout(self) -> dict[str, Check]:  # type: ignore[override]
        """`columns` are identities, then terms of labels."""
        pairs = {
            "idf_": array("features"),
            "Z_": matrix("labels", "columns"),
            "matches_": matrix("features", "columns"),
            "identities_": array("identities", kind="i", below="labels"),
            "terms_": array("terms", kind="i", below="label_features"),
            "voters_": matrix("features", "columns"),
            "voter_counts_": array("votes"),
            "documents_with_": array("features"),
            "labels_with_": array("columns"),
        }
        if self.variant == "xhtp":
            return pairs
        return pairs | {
            "typical_": matrix("labels", "columns"),
            "shared_": matrix("features", "columns"),
            "own_": matrix("features", "labels"),
            "factors_": array(2, 2),
            "unseen_bias_": number,
            "share_": number,
            "borrowed_": matrix("labels", "columns"),
            "bias_": array("labels"),
        }

    def _check_learned(self) -> None:
        if self.Z_.shape[1] != len(self.identities_) + len(self.terms_):
            raise Misfit("identities_ and terms_ are not the columns of Z_")
        if not self.plain:
            counts = (self.documents_with_, self.labels_with_, self.voter_counts_)
            if not all(np.isfinite(part).all() for part in counts) or len(self.voter_counts_) != self.voters_.nnz:
                raise Misfit("what was counted of its pairs does not fit them")

    def _fit(self, train: Split) -> None:
        if not self.label_frequencies_.any():
            raise DataError("no training document carries a label, so there is nothing to learn")
        X, Y = normalise_rows(train.X), train.Y
        self.idf_ = inverse_document_frequencies(X)
        features = LabelFeatures.of(
            train.labels,
            train.features,
            self.label_frequencies_,
            self.idf_,
            identity_weight=self.identity_weight,
            parent_weight=self.parent_weight,
        )
        self._set_label_features(features)
        roles = Roles.of(train, self.label_frequencies_, self)
        votes = self._count_pairs(X, Y, roles)
        if self.variant == "xhtp":
            return
        progress = TrainingProgress(self._checkpoint, train, self.get_params())
        borrowed = self._borrow(X, Y, roles)
        tuning = Tuning(self, X, Y, train.filter_pairs, features, borrowed, roles, progress)
        try:
            learned = tuning.run(seen_shortlister(self), *self._shared_start(votes))
        except Cancelled:
            progress.save()
            raise
        self.shared_, self.own_, self.factors_ = learned.shared, learned.own, learned.factors
        self.unseen_bias_, self.share_ = learned.unseen_bias, learned.share
        borrowed = keep_entries(borrowed, ~np.repeat(self.is_seen, np.diff(borrowed.indptr)))
        self.borrowed_ = borrowed * np.float32(self.share_)
        self.bias_ = np.where(self.is_seen, learned.bias, learned.unseen_bias).astype(np.float32)

    def _set_label_features(self, features: LabelFeatures) -> None:
        self.Z_, self.matches_ = features.Z, features.matches
        self.identities_, self.terms_ = features.identities, features.terms
        self._predictor = None

    def _label_features(self) -> LabelFeatures:
        return LabelFeatures(self.Z_, self.identities_, self.terms_, self.matches_)

    def _count_pairs(self, X: sparse.csr_array, Y: sparse.csr_array, roles: Roles) -> sparse.csr_array:
        """Learn the voters; returns each document's own votes, (n_documents, n_label_features)."""
        Z = self.Z_
        if self.variant == "tuned":  # a hidden label's terms must not vote, or it would not stand for an unseen one
            label = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
            Z = keep_entries(Z, ~np.isin(label, roles.hidden) | (Z.indices < len(self.identities_)))
        device = resolve_kind(self.device) if self.device != "cpu" else "cpu"
        found = find_pairs(
            X, Y, Z, keep=self.pairs, blend=self.blend, epsilon=self.epsilon, plain=self.plain, device=device
        )
        self.voters_, self.voter_counts_ = found.voters, found.counts
        self.documents_with_, self.labels_with_ = found.documents_with, found.labels_with
        return found.votes

    def _borrow(self, X: sparse.csr_array, Y: sparse.csr_array, roles: Roles) -> sparse.csr_array:
        """What unseen and hidden labels can borrow, (n_labels, n_label_features)."""
        lending = np.flatnonzero(~roles.carries_hidden & self.borrow)
        self.typical_ = typical_terms(X[lending], Y[lending], self.matches_)
        borrowers = np.union1d(np.flatnonzero(~self.is_seen), roles.hidden)
        return borrowed_terms(self.Z_, borrowers, self.typical_)

    def _shared_start(self, votes: sparse.csr_array) -> tuple[sparse.csr_array, Voted]:
        """The XHTP weights of terms, which labels share, without those of identities; and who voted for them."""
        is_term = self.voters_.indices >= len(self.identities_)
        weights = keep_entries(self.voters_, is_term) * np.float32(self.trust)
        return weights, Voted(self.voter_counts_[is_term], votes, self.plain)

    @property
    def is_seen(self) -> np.ndarray:
        """Which labels have an identity, that is at least one training document, (n_labels,) bool."""
        self._check_fitted()
        is_seen = np.zeros(len(self.labels_), bool)
        is_seen[self.identities_] = True
        return is_seen

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        predictor = self._predictor = self._predictor or Predictor.of(self)
        if among is not None:
            predictor = predictor.among(among)
        return predictor.predict(normalise_rows(X), k)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return explain(self, normalise_rows(x), label)

    def _add_labels(self, Z: sparse.csr_array) -> None:
        self._set_label_features(self._label_features().extended(Z, self.labels_.features, self.features_, self.idf_))
        self.voters_ = enlarge(self.voters_, (self.voters_.shape[0], self.Z_.shape[1]))
        self.labels_with_ = np.pad(self.labels_with_, (0, self.Z_.shape[1] - len(self.labels_with_)))
        if self.variant == "tuned":
            self.shared_ = enlarge(self.shared_, (self.shared_.shape[0], self.Z_.shape[1]))
            self.own_ = enlarge(self.own_, (self.own_.shape[0], len(self.labels_)))
            self.typical_, self.borrowed_ = (enlarge(part, self.Z_.shape) for part in (self.typical_, self.borrowed_))
            new = np.arange(len(self.labels_) - Z.shape[0], len(self.labels_))
            self.borrowed_ += borrowed_terms(self.Z_, new, self.typical_) * np.float32(self.share_)
            self.bias_ = np.append(self.bias_, np.full(Z.shape[0], self.unseen_bias_, np.float32))

    def label_embeddings(self) -> sparse.csr_array:
        """Own weights where there are some, else the label's terms: labels that mean the same lie close together."""
        if self.variant == "xhtp":
            return normalise_rows(self.Z_)
        by_text = sparse.csr_array((self.Z_ + self.borrowed_) @ self.matches_.T)  # (n_labels, n_features)
        return normalise_rows(self.own_.T + keep_entries(by_text, ~np.repeat(self.is_seen, np.diff(by_text.indptr))))

    def diagnostics(self, split: Split) -> dict[str, float]:
        """The recall of the shortlist in percent, the ceiling of P@k; and how many labels have no known term."""
        predictor = Predictor.of(self)
        shortlist = predictor.shortlist(normalise_rows(split.X))
        seen = self.is_seen
        values = {
            "shortlist recall": recall(shortlist, split.Y),
            "shortlist recall, seen labels": recall(shortlist, split.Y, seen),
            "shortlist recall, unseen labels": recall(shortlist, split.Y, ~seen),
            "labels without a known term": float(np.count_nonzero(self._label_features().is_mute)),
        }
        return {name: value for name, value in values.items() if not np.isnan(value)}

    def pairs_of(
        self, *, document_term: str | None = None, label_term: str | None = None, k: int = 20
    ) -> list[dict[str, Any]]:
        """The strongest pairs of one document term or of one label term: what the model knows about it."""
        self._check_fitted()
        return pairs_of(self, document_term, label_term, k)

    _predictor: ClassVar[Predictor | None] = None
