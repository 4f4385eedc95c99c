"""A sparse bilinear model on a device: shortlists and scores of all labels, for blocks of documents.

What `xcwork.kernels.bilinear` does for a document at a time. A document is projected onto label features, p = Wᵀx, and
all labels are scored by p · z in one product; a shortlist is therefore always exact here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy import sparse

from xcwork.compute.transfer import send_arrays
from xcwork.kernels.bilinear import BilinearWeights, TermClassifiers
from xcwork.kernels.tensor_rows import MAX_DENSE_NUMBERS, TensorRows, multiply_sparse
from xcwork.kernels.tensor_topk import find_top_k
from xcwork.sparse import Rows


@dataclass(frozen=True, eq=False)
class TensorBilinear:
    """Weights of pairs and matches, and the features of all labels."""

    pairs: TensorRows  # (n_features, n_label_features)
    matches: TensorRows  # the same shape
    labels: TensorRows  # (n_labels, n_label_features)
    is_positive: bool  # no weight and no label feature is negative

    @classmethod
    def from_rows(
        cls, weights: BilinearWeights, labels: Rows, n_label_features: int, device: torch.device
    ) -> TensorBilinear:
        """Copy weights and label features to the device."""
        is_positive = all((part.data >= 0).all() for part in (weights.pairs, weights.matches, labels))
        pairs, matches, rows = (
            to_tensor_rows(part, n_label_features, device) for part in (weights.pairs, weights.matches, labels)
        )
        return cls(pairs, matches, rows, is_positive)

    def project_pairs(self, documents: TensorDocuments) -> torch.Tensor:
        """Return Wᵀx through learned pairs, (n_documents, n_label_features)."""
        return multiply_rows(documents.rows, documents.indices, self.pairs)

    def project_matches(self, documents: TensorDocuments) -> torch.Tensor:
        """Return Wᵀx through terms in common, (n_documents, n_label_features)."""
        return multiply_rows(documents.damped, documents.indices, self.matches)

    def score_labels(self, projected: torch.Tensor) -> torch.Tensor:
        """Return p · z of all labels, (n_documents, n_labels)."""
        return (self.labels @ projected.T.contiguous()).T

    def shortlist(
        self, documents: TensorDocuments, candidates: torch.Tensor, size: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the best labels of each document, of those that meet it and are `candidates` (n_labels,) bool.

        Ids (n_documents, size), -1 for none, with their scores.
        """
        projected = self.project_pairs(documents) + self.project_matches(documents)
        scores = self.score_labels(projected)
        if self.is_positive and documents.is_positive:
            meets = scores > 0
        else:
            meets = (self.pattern @ (projected != 0).to(torch.float32).T.contiguous()).T > 0
        return find_top_k(torch.where(meets & candidates, scores, -torch.inf), size)

    @cached_property
    def pattern(self) -> TensorRows:
        """The label features with ones for values."""
        z = self.labels
        return TensorRows((z.values != 0).to(torch.float32), z.columns, z.starts, z.n_columns)

    def count_documents_at_once(self) -> int:
        """Return for how many documents the tensors of a search fit."""
        return max(1, MAX_DENSE_NUMBERS // (4 * self.labels.n_columns + 6 * self.labels.n_rows))


@dataclass(frozen=True, eq=False)
class TensorDocuments:
    """Documents twice: as they are, for learned pairs, and damped, for terms that document and label share."""

    rows: TensorRows
    damped: TensorRows
    indices: np.ndarray  # (nnz,), on the host
    is_positive: bool

    @classmethod
    def from_csr(cls, X: sparse.csr_array, device: torch.device) -> TensorDocuments:
        rows = TensorRows.from_csr(X, device)
        damped = TensorRows(rows.values.clamp(min=0).sqrt(), rows.columns, rows.starts, rows.n_columns)
        return cls(rows, damped, X.indices, bool((X.data >= 0).all()))


@dataclass(frozen=True, eq=False)
class TensorScorer:
    """The score of a pair: bias + factors · (pairs, matches) + own weights."""

    model: TensorBilinear
    own: TensorRows  # (n_features, n_labels)
    bias: torch.Tensor  # (n_labels,)
    factors: torch.Tensor  # (n_labels, 2)

    @classmethod
    def from_terms(cls, model: TensorBilinear, terms: TermClassifiers, device: torch.device) -> TensorScorer:
        """Copy what labels have to themselves to the device."""
        factors = terms.factors[terms.kind]
        own = to_tensor_rows(terms.own, len(terms.bias), device)
        return cls(model, own, *send_arrays(device, terms.bias, factors))

    def score_own(self, documents: TensorDocuments) -> torch.Tensor:
        """Return the part of own weights alone, (n_documents, n_labels)."""
        return multiply_rows(documents.rows, documents.indices, self.own)

    def score(self, documents: TensorDocuments, own: torch.Tensor) -> torch.Tensor:
        """Return the scores of all labels, (n_documents, n_labels), where `own` is what `score_own` returned."""
        by_pairs = self.model.score_labels(self.model.project_pairs(documents))
        by_matches = self.model.score_labels(self.model.project_matches(documents))
        return self.bias + self.factors[:, 0] * by_pairs + self.factors[:, 1] * by_matches + own


def to_tensor_rows(rows: Rows, n_columns: int, device: torch.device) -> TensorRows:
    """Copy rows of a kernel to the device."""
    return TensorRows.from_csr(sparse.csr_array(tuple(rows), shape=(len(rows.indptr) - 1, n_columns)), device)


def multiply_rows(rows: TensorRows, indices: np.ndarray, terms: TensorRows) -> torch.Tensor:
    """Return rows @ terms, dense; `indices` are the columns of `rows` on the host."""
    assert terms.lengths is not None
    total = torch.zeros((rows.n_rows, terms.n_columns), device=rows.device)
    multiply_sparse(rows, terms.lengths[indices], terms, total)
    return total
