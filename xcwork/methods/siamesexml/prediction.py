"""Prediction: candidates from the searches of all members, their scores, and the best by the weighted sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.methods.siamesexml.scores import LabelWeights, Member, ScoredCandidates, score_candidates
from xcwork.methods.siamesexml.token_map import TokenMap
from xcwork.methods.siamesexml.word_classifiers import WordClassifiers
from xcwork.search import top_k_rows


@dataclass(frozen=True, eq=False)
class SiameseRanker:
    """A trained model at work: encoders, searches and weights made from the learned arrays."""

    tokens: TokenMap
    members: list[Member]
    Z: sparse.csr_array  # (n_labels, n_tokens)
    words: WordClassifiers
    weights: LabelWeights
    shortlist: int  # candidates from each search
    neighbours: int  # training documents that vote

    def score(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> ScoredCandidates:
        """Return candidates of the rows of `X` (n, n_features), enough for the k best, and their scores."""
        return score_candidates(
            self.members,
            self.tokens.map_documents(X),
            self.Z,
            self.words,
            size=max(self.shortlist, k),
            neighbours=self.neighbours,
            among=among,
            needs=self.weights.needs,
        )

    def rank(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """Return the k best labels of every row of `X` (n, n_features)."""
        scored = self.score(X, k, among)
        best = top_k_rows(scored.add_up(self.weights), k)
        ids = np.take_along_axis(scored.ids, np.maximum(best.ids, 0), axis=1)
        return TopK(np.where(best.ids == MISSING, MISSING, ids).astype(np.int32), best.scores)
