"""Prediction: a shortlist of seen labels, one of unseen labels, and the exact score of both.

Seen labels are shortlisted by XHTP, which knows them by their identity. Unseen labels would lose that comparison, so
they have a shortlist of their own, ranked by the very score they will get. All candidates are then scored in one pass
and compete on one scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import by_blocks
from xcwork.core.topk import TopK
from xcwork.kernels.bilinear import Documents
from xcwork.methods.zestxml.scorer import UNSEEN, Scorer
from xcwork.methods.zestxml.shortlist import Shortlister, damped

if TYPE_CHECKING:
    from xcwork.methods.zestxml.method import ZestXML


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained model in the form that predictions need, possibly restricted to some labels."""

    shortlisters: list[tuple[Shortlister, int]]  # each with the number of labels it contributes
    scorer: Scorer | None  # None: the shortlist's own score ranks

    @classmethod
    def of(cls, model: ZestXML) -> Predictor:
        labels = np.arange(len(model.labels_))
        if model.variant == "xhtp":
            return cls([(_by_votes(model, labels), model.shortlist)], None)
        seen, Z = model.is_seen, sparse.csr_array(model.Z_ + model.borrowed_)
        shortlisters = [
            (_by_votes(model, labels[seen]), model.shortlist),
            (_by_score(model, Z, labels[~seen]), model.unseen_shortlist),
        ]
        scorer = Scorer.of(
            model.shared_,
            model.matches_,
            Z,
            own=model.own_,
            bias=model.bias_,
            is_seen=model.is_seen,
            factors=model.factors_,
        )
        return cls(shortlisters, scorer)

    def among(self, labels: np.ndarray) -> Predictor:
        """Return the same predictor, restricted to `labels`."""
        return replace(self, shortlisters=[(lister.among(labels), size) for lister, size in self.shortlisters])

    def predict(self, X: sparse.csr_array, k: int) -> TopK:
        """The k best labels of each document of X, (n_documents, n_features) with unit rows."""
        return TopK.concatenate(by_blocks(lambda a, b: self._block(damped(X[a:b]), k), X.shape[0], "scoring"))

    def shortlist(self, X: sparse.csr_array, size: int = 0) -> TopK:
        """All candidates of each document; their order means nothing."""

        def work(a: int, b: int) -> TopK:
            parts = self._candidates(damped(X[a:b]), size)
            return TopK(np.hstack([part.ids for part in parts]), np.hstack([part.scores for part in parts]))

        return TopK.concatenate(by_blocks(work, X.shape[0], "shortlisting"))

    def _block(self, documents: Documents, k: int) -> TopK:
        candidates = self._candidates(documents, k)
        return candidates[0].head(k) if self.scorer is None else self.scorer.best(documents, candidates, k)

    def _candidates(self, documents: Documents, at_least: int) -> list[TopK]:
        return [shortlister.best(documents, max(size, at_least)) for shortlister, size in self.shortlisters]


def _by_votes(model: ZestXML, labels: np.ndarray) -> Shortlister:
    matches = model.matches_ * np.float32(model.match_weight)
    return Shortlister.of(model.voters_, matches, model.Z_, labels, model.shortlister, model.overfetch)


def _by_score(model: ZestXML, Z: sparse.csr_array, labels: np.ndarray) -> Shortlister:
    by_pairs, by_matches = model.factors_[UNSEEN].astype(np.float32)
    pairs = model.shared_ * by_pairs if by_pairs else sparse.csr_array(model.shared_.shape, dtype=np.float32)
    return Shortlister.of(pairs, model.matches_ * by_matches, Z, labels, model.shortlister, model.overfetch)


def seen_shortlister(model: ZestXML) -> Shortlister:
    """The shortlister of seen labels, which training uses before there is anything else."""
    return _by_votes(model, model.identities_)
