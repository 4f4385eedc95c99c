"""Prediction: a shortlist of seen labels, one of unseen labels, and the exact score of both.

Seen labels are shortlisted by XHTP, which knows them by their identity. Unseen labels would lose that comparison, so
they have a shortlist of their own, ranked by the very score they will get. All candidates are then scored in one pass
and compete on one scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import map_row_blocks
from xcwork.core.topk import TopK
from xcwork.kernels.bilinear import BilinearDocuments
from xcwork.methods.model import Params
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.refined_weights import RefinedWeights
from xcwork.methods.zestxml.scorer import UNSEEN_ROW, PairScorer
from xcwork.methods.zestxml.shortlist import Shortlister, prepare_documents


@dataclass(frozen=True, eq=False)
class LabelRanker:
    """A trained model in the form that predictions need, possibly restricted to some labels."""

    shortlisters: list[tuple[Shortlister, int]]  # each with the number of labels it contributes
    scorer: PairScorer | None  # None: the shortlist's own score ranks

    @classmethod
    def from_voters(cls, voters: sparse.csr_array, label_features: LabelFeatures, params: Params) -> LabelRanker:
        """Rank by what XHTP counted alone: the variant `xhtp`."""
        labels = np.arange(label_features.Z.shape[0])
        return cls([(Shortlister.from_votes(voters, label_features, labels, params), params.shortlist)], None)

    @classmethod
    def from_weights(
        cls, voters: sparse.csr_array, label_features: LabelFeatures, refined: RefinedWeights, params: Params
    ) -> LabelRanker:
        """Rank by refined weights: the variant `tuned`."""
        is_seen = label_features.is_seen
        matches = label_features.matches
        Z = sparse.csr_array(label_features.Z + refined.borrowed)
        by_votes = Shortlister.from_votes(voters, label_features, np.flatnonzero(is_seen), params)
        pair_factor, match_factor = refined.factors[UNSEEN_ROW].astype(np.float32)
        pairs = refined.shared * pair_factor
        if not pair_factor:
            pairs = sparse.csr_array(refined.shared.shape, dtype=np.float32)
        by_score = Shortlister.from_weights(
            pairs, matches * match_factor, Z, np.flatnonzero(~is_seen), params.shortlister, params.overfetch
        )
        scorer = PairScorer.from_weights(
            refined.shared,
            matches,
            Z,
            own=refined.own,
            bias=refined.bias,
            is_seen=is_seen,
            factors=refined.factors,
        )
        return cls([(by_votes, params.shortlist), (by_score, params.unseen_shortlist)], scorer)

    def restrict_to(self, labels: np.ndarray) -> LabelRanker:
        """Return the same ranker with only those candidates that are in `labels`."""
        return replace(self, shortlisters=[(lister.restrict_to(labels), size) for lister, size in self.shortlisters])

    def rank(self, X: sparse.csr_array, k: int) -> TopK:
        """Return the k best labels of each document of X, (n_documents, n_features) with unit rows."""

        def rank_block(start: int, stop: int) -> TopK:
            documents = prepare_documents(X[start:stop])
            candidates = self._find_candidates(documents, k)
            return candidates[0].head(k) if self.scorer is None else self.scorer.rank(documents, candidates, k)

        return TopK.concatenate(map_row_blocks(rank_block, X.shape[0], "scoring"))

    def shortlist(self, X: sparse.csr_array) -> TopK:
        """Return all candidates of each document; their order means nothing."""

        def shortlist_block(start: int, stop: int) -> TopK:
            found = self._find_candidates(prepare_documents(X[start:stop]), 0)
            return TopK(np.hstack([part.ids for part in found]), np.hstack([part.scores for part in found]))

        return TopK.concatenate(map_row_blocks(shortlist_block, X.shape[0], "shortlisting"))

    def _find_candidates(self, documents: BilinearDocuments, at_least: int) -> list[TopK]:
        """Return what each shortlister contributes, at least so many labels each."""
        return [shortlister.find(documents, max(size, at_least)) for shortlister, size in self.shortlisters]
