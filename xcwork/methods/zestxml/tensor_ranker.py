"""Prediction on an accelerator: the shortlists and scores of `prediction`, for blocks of documents at once.

All labels are scored, so a shortlist is exact whatever `shortlister` says. Weights and labels are copied to the device
once, with the first prediction; a block of documents goes there and its ranking comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.kernels.tensor_bilinear import TensorBilinear, TensorDocuments, TensorScorer
from xcwork.kernels.tensor_rows import send
from xcwork.kernels.tensor_topk import find_top_k
from xcwork.methods.zestxml.prediction import LabelRanker
from xcwork.progress import track_batches
from xcwork.search.terms import fetch_ranking


@dataclass(frozen=True, eq=False)
class TensorRanker:
    """A trained model on a device."""

    shortlisters: list[tuple[TensorBilinear, np.ndarray, int]]  # each with its candidates and how many it contributes
    scorer: TensorScorer | None  # None: the shortlist's own score ranks
    device: torch.device

    @classmethod
    def from_ranker(cls, ranker: LabelRanker, device: torch.device) -> TensorRanker:
        """Copy everything that predictions need to the device."""
        shortlisters = []
        for lister, size in ranker.shortlisters:
            model = TensorBilinear.from_rows(lister.weights, lister.labels, lister.n_label_features, device)
            shortlisters.append((model, lister.candidates, size))
        scorer = None
        if ranker.scorer is not None:
            given = ranker.scorer
            model = TensorBilinear.from_rows(given.weights, given.labels, given.n_label_features, device)
            scorer = TensorScorer.from_terms(model, given.terms, device)
        return cls(shortlisters, scorer, device)

    def rank(self, X: sparse.csr_array, k: int, among: np.ndarray | None) -> TopK:
        """Return the k best labels of each document of X, (n_documents, n_features) with unit rows."""
        n_labels = self.shortlisters[0][0].labels.n_rows
        listers = []
        for model, candidates, size in self.shortlisters:
            chosen = candidates if among is None else np.intersect1d(candidates, among)
            allowed = np.zeros(n_labels, bool)
            allowed[chosen] = True
            listers.append((model, send(allowed, self.device), min(max(size, k), len(chosen))))
        n_at_once = self.shortlisters[0][0].count_documents_at_once()
        found = []
        for x in track_batches(X, n_at_once, "scoring"):
            documents = TensorDocuments.from_csr(x, self.device)
            listed = [model.shortlist(documents, mask, size) for model, mask, size in listers]
            if self.scorer is None:
                found.append(fetch_ranking(*listed[0]).head(k))
                continue
            is_listed = torch.zeros((x.shape[0], n_labels + 1), dtype=torch.bool, device=self.device)
            for ids, _ in listed:
                is_listed.scatter_(1, torch.where(ids == MISSING, n_labels, ids), True)
            scores = torch.where(is_listed[:, :n_labels], self.scorer.score(documents), -torch.inf)
            n_shown = min(k, sum(size for _, _, size in listers))
            found.append(fetch_ranking(*find_top_k(scores, n_shown)))
        return TopK.concatenate(found)
