"""Prediction: a shortlist of seen labels, one of unseen labels, and the exact score of both.

Seen labels are shortlisted by XHTP, which knows them by their identity, and by their own weights. Unseen labels would
lose that comparison, so they have a shortlist of their own, ranked by the very score they will get. All candidates are
then scored in one pass and compete on one scale. With `refined=pairs` there is one shortlist for all labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import map_row_blocks
from xcwork.core.topk import TopK
from xcwork.methods.model import Params
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.refined_weights import RefinedWeights
from xcwork.methods.zestxml.scorer import SEEN_ROW, UNSEEN_ROW, BlendScorer, PairScorer
from xcwork.methods.zestxml.shortlist import Shortlister, prepare_documents
from xcwork.sparse import fill_with_ones


@dataclass(frozen=True, eq=False)
class LabelRanker:
    """A trained model in the form that predictions need, possibly restricted to some labels."""

    shortlisters: list[tuple[Shortlister, int]]  # each with the number of labels it contributes
    scorer: PairScorer | BlendScorer | None  # None: the shortlist's own score ranks
    listed: np.ndarray  # labels that own weights may bring up, ascending
    n_own: int  # how many of these

    @classmethod
    def from_voters(
        cls,
        voters: sparse.csr_array,
        label_features: LabelFeatures,
        params: Params,
        scorer: PairScorer | BlendScorer | None = None,
    ) -> LabelRanker:
        """List labels by what XHTP counted, and rank them by it too if there is no scorer: the variant `xhtp`."""
        labels = np.arange(label_features.Z.shape[0])
        by_votes = Shortlister.from_votes(voters, label_features, labels, params)
        return cls([(by_votes, params.shortlist)], scorer, labels[:0], 0)

    @classmethod
    def from_weights(
        cls, voters: sparse.csr_array, label_features: LabelFeatures, refined: RefinedWeights, params: Params
    ) -> LabelRanker:
        """Rank by refined weights: the variant `tuned`."""
        is_seen = label_features.is_seen
        matches = label_features.matches
        Z = sparse.csr_array(label_features.Z + refined.borrowed)
        scorer = PairScorer.from_weights(
            refined.shared,
            matches,
            Z,
            own=refined.own,
            bias=refined.bias,
            is_seen=is_seen,
            factors=refined.factors,
        )
        if params.refined == "pairs":
            same = scorer.replace_pairs(fill_with_ones(matches))
            blend = BlendScorer(scorer, same, params.alpha, params.loss == "logistic")
            return cls.from_voters(voters, label_features, params, blend)
        by_votes = Shortlister.from_votes(
            voters, label_features, np.flatnonzero(is_seen), params, float(refined.factors[SEEN_ROW, 1])
        )
        pair_factor, match_factor = refined.factors[UNSEEN_ROW].astype(np.float32)
        pairs = refined.shared * pair_factor
        if not pair_factor:
            pairs = sparse.csr_array(refined.shared.shape, dtype=np.float32)
        by_score = Shortlister.from_weights(
            pairs, matches * match_factor, Z, np.flatnonzero(~is_seen), params.shortlister, params.overfetch
        )
        listers = [(by_votes, params.shortlist), (by_score, params.unseen_shortlist)]
        return cls(listers, scorer, np.flatnonzero(is_seen), params.own_shortlist)

    def restrict_to(self, labels: np.ndarray) -> LabelRanker:
        """Return the same ranker with only those candidates that are in `labels`."""
        listers = [(lister.restrict_to(labels), size) for lister, size in self.shortlisters]
        return replace(self, shortlisters=listers, listed=np.intersect1d(self.listed, labels))

    def rank(self, X: sparse.csr_array, k: int) -> TopK:
        """Return the k best labels of each document of X, (n_documents, n_features) with unit rows."""
        return self._rank_blocks(X, k, at_least=k, phase="scoring")

    def shortlist(self, X: sparse.csr_array) -> TopK:
        """Return all candidates of each document, best first."""
        n_candidates = sum(size for _, size in self.shortlisters) + self.n_own
        return self._rank_blocks(X, n_candidates, at_least=0, phase="shortlisting")

    def _rank_blocks(self, X: sparse.csr_array, k: int, at_least: int, phase: str) -> TopK:
        """Return the k best candidates, where every shortlist contributes at least so many labels."""

        def rank_block(start: int, stop: int) -> TopK:
            documents = prepare_documents(X[start:stop])
            lists = [lister.find(documents, max(size, at_least)) for lister, size in self.shortlisters]
            if self.scorer is None:
                return lists[0].head(k)
            if isinstance(self.scorer, BlendScorer):
                return self.scorer.rank(documents, lists, k)
            return self.scorer.rank(documents, lists, k, self.listed, max(self.n_own, at_least))

        return TopK.concatenate(map_row_blocks(rank_block, X.shape[0], phase))
