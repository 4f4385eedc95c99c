"""Prediction on an accelerator: the shortlists and scores of `prediction`, for blocks of documents at once.

All labels are scored, so a shortlist is exact whatever `shortlister` says. Weights and labels are copied to the device
once, with the first prediction; a block of documents goes there and its ranking comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.kernels.tensor_bilinear import TensorBilinear, TensorDocuments, TensorScorer
from xcwork.kernels.tensor_topk import find_top_k
from xcwork.methods.zestxml.prediction import LabelRanker
from xcwork.methods.zestxml.scorer import BlendScorer, PairScorer
from xcwork.progress import track_batches
from xcwork.search.terms import fetch_ranking


@dataclass(frozen=True, eq=False)
class TensorBlend:
    """The score of `scorer.BlendScorer` on a device."""

    margins: TensorScorer
    matches: TensorScorer
    alpha: float
    logistic: bool

    def score(self, documents: TensorDocuments) -> torch.Tensor:
        """Return the scores of all labels, (n_documents, n_labels)."""
        margins, matches = (part.score(documents, part.score_own(documents)) for part in (self.margins, self.matches))
        squashed = torch.sigmoid(margins) if self.logistic else torch.exp(-torch.square(torch.relu(1 - margins)))
        return self.alpha * squashed + (1 - self.alpha) * matches


def copy_scorer(scorer: PairScorer, device: torch.device) -> TensorScorer:
    """Copy the weights of a scorer to the device."""
    model = TensorBilinear.from_rows(scorer.weights, scorer.labels, scorer.n_label_features, device)
    return TensorScorer.from_terms(model, scorer.terms, device)


@dataclass(frozen=True, eq=False)
class TensorRanker:
    """A trained model on a device."""

    shortlisters: list[tuple[TensorBilinear, np.ndarray, int]]  # each with its candidates and how many it contributes
    scorer: TensorScorer | TensorBlend | None  # None: the shortlist's own score ranks
    listed: np.ndarray  # labels that own weights may bring up
    n_own: int  # how many of these
    device: torch.device

    @classmethod
    def from_ranker(cls, ranker: LabelRanker, device: torch.device) -> TensorRanker:
        """Copy everything that predictions need to the device."""
        shortlisters = []
        for lister, size in ranker.shortlisters:
            model = TensorBilinear.from_rows(lister.weights, lister.labels, lister.n_label_features, device)
            shortlisters.append((model, lister.candidates, size))
        scorer: TensorScorer | TensorBlend | None = None
        if isinstance(given := ranker.scorer, BlendScorer):
            margins, matches = copy_scorer(given.margins, device), copy_scorer(given.matches, device)
            scorer = TensorBlend(margins, matches, given.alpha, given.logistic)
        elif given is not None:
            scorer = copy_scorer(given, device)
        return cls(shortlisters, scorer, ranker.listed, ranker.n_own, device)

    def rank(self, X: sparse.csr_array, k: int, among: np.ndarray | None) -> TopK:
        """Return the k best labels of each document of X, (n_documents, n_features) with unit rows."""
        n_labels = self.shortlisters[0][0].labels.n_rows
        listers = []
        for model, candidates, size in self.shortlisters:
            ids = candidates if among is None else np.intersect1d(candidates, among)
            listers.append((model, self._mark(ids, n_labels), min(max(size, k), len(ids))))
        listed = self.listed if among is None else np.intersect1d(self.listed, among)
        may_come_up, n_own = self._mark(listed, n_labels), min(max(self.n_own, k), len(listed))
        n_at_once = self.shortlisters[0][0].count_documents_at_once()
        found = []
        for x in track_batches(X, n_at_once, "scoring"):
            documents = TensorDocuments.from_csr(x, self.device)
            shortlists = [model.shortlist(documents, allowed, size) for model, allowed, size in listers]
            if self.scorer is None:
                found.append(fetch_ranking(*shortlists[0]).head(k))
                continue
            lists = [labels for labels, _ in shortlists]
            n_shown = sum(size for _, _, size in listers)
            if isinstance(self.scorer, TensorBlend):
                scores = self.scorer.score(documents)
            else:
                own = self.scorer.score_own(documents)
                scores = self.scorer.score(documents, own)
                if n_own:
                    by_own = torch.where(may_come_up & (own != 0), self.scorer.bias + own, -torch.inf)
                    lists.append(find_top_k(by_own, n_own)[0])
                    n_shown += n_own
            is_listed = torch.zeros((x.shape[0], n_labels + 1), dtype=torch.bool, device=self.device)
            for labels in lists:
                is_listed.scatter_(1, torch.where(labels == MISSING, n_labels, labels), True)
            scores = torch.where(is_listed[:, :n_labels], scores, -torch.inf)
            found.append(fetch_ranking(*find_top_k(scores, min(k, n_shown))))
        return TopK.concatenate(found)

    def _mark(self, labels: np.ndarray, n_labels: int) -> torch.Tensor:
        """Return which labels are listed, on the device."""
        marks = np.zeros(n_labels, bool)
        marks[labels] = True
        return send_arrays(self.device, marks)[0]
