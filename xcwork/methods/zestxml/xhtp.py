"""Extreme Hard Thresholding Pursuit (XHTP): which pairs of features matter, in closed form.

For a document feature c and a label feature d, let n(c, d) be the number of relevant (document, label) pairs that have
both, f_c and f_d the number of relevant pairs that have each, and N(c, d) the number of all pairs that have both, which
is (documents with c) * (labels with d). One Newton step from zero on the logistic loss gives, up to constants, the
weight n / N: of the pairs that have both features, the share that is relevant (theorem 1.1). What is ranked here is

    v(c, d) = n / (blend * (f_c + f_d - n) + (1 - blend) * N)

with a little of the Jaccard index of "has c" and "has d" blended in: pairs seen once have n / N = 1 and would fill
every row otherwise. The `plain` form is the theorem's, n / N on the features' real values. The theorem's own constants
are `smoothing`, its ε as a number of pairs (4 / λ) that is added to N, and `shift`, its δ, which is taken off every
weight and never changes the order within a row; algorithm 1 drops both.

Only the K best partners of each document feature and, with `columns`, the K best of each label feature are kept (their
union), and of these the ones with v >= epsilon. A common document feature is among the K best of very many rare label
features, where it means nothing (v is then about 1 / the number of its documents); without epsilon its row grows with
the number of labels, with it a row has at most (labels of a document) / epsilon identities.

Cost: one addition for every feature of every document times every label feature of its labels, twice (once for rows and
once for columns, which is the same loop with the sides exchanged). Memory: the result and one block of rows per thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import parallel_map
from xcwork.errors import DataError
from xcwork.kernels.bilinear import FeatureTotals, find_top_pairs
from xcwork.sparse import drop_zeros, gather_filled, keep_entries, replace_values, sort_entries, to_rows

BLOCK_BYTES = 2**25  # of results, for each block of rows
PartnerBlock = tuple[sparse.csr_array, sparse.csr_array]  # values v and counts n, one row per feature


@dataclass(frozen=True, eq=False)
class PairCounts:
    """What XHTP has counted of every kept pair of features."""

    voters: sparse.csr_array  # (n_features, n_label_features) float32: v
    counts: np.ndarray  # (nnz,) float32: n, of all pairs those that are relevant
    documents_with: np.ndarray  # (n_features,): how many documents have a feature (plain: the sum of its values)
    labels_with: np.ndarray  # (n_label_features,)

    def look_up(self, feature: int, label_feature: int) -> tuple[int, int] | None:
        """Return how many (document, label) pairs have both features, and how many of these are relevant, if kept."""
        start, stop = self.voters.indptr[feature : feature + 2]
        at = start + int(np.searchsorted(self.voters.indices[start:stop], label_feature))
        if at == stop or self.voters.indices[at] != label_feature:
            return None
        n_pairs = int(self.documents_with[feature] * self.labels_with[label_feature])
        return (n_pairs, int(self.counts[at])) if n_pairs > 0 else None


@dataclass(frozen=True, eq=False)
class PairStatistics(PairCounts):
    """The counts of a training, and what each document has contributed."""

    votes: sparse.csr_array  # (n_documents, n_label_features) float32: what each document adds to n


@dataclass(frozen=True, eq=False)
class CountedSides:
    """X and Y Z as XHTP counts them, each by document and by feature."""

    X: sparse.csr_array  # (n_documents, n_features)
    T: sparse.csr_array  # (n_documents, n_label_features): for each document the features of its labels, added up
    of_features: FeatureTotals
    of_label_features: FeatureTotals

    @classmethod
    def from_matrices(cls, X: sparse.csr_array, Y: sparse.csr_array, Z: sparse.csr_array, plain: bool) -> CountedSides:
        """Return the counts of presence, or with `plain` the sums of real values."""
        if plain and (X.data.min(initial=0) < 0 or Z.data.min(initial=0) < 0):
            raise DataError("the plain form of XHTP needs features that are not negative", remedy="set plain to false")
        kind = np.float64 if plain else np.int32
        X = convert_values(X, kind, plain)
        Z = convert_values(Z, kind, plain)
        Y = convert_values(Y, kind, False)
        T = sparse.csr_array(Y @ Z)
        per_document = np.asarray(Y.sum(axis=1), np.float64)  # (n_documents,)
        return cls(
            X,
            T,
            FeatureTotals(sum_columns(X), np.asarray(X.T.astype(np.float64) @ per_document)),
            FeatureTotals(sum_columns(Z), sum_columns(T)),
        )


def find_pairs(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    Z: sparse.csr_array,
    *,
    keep: int,
    blend: float,
    epsilon: float = 0.0,
    smoothing: float = 0.0,
    shift: float = 0.0,
    columns: bool = True,
    plain: bool = False,
    device: str | None = None,
) -> PairStatistics:
    """Return the pairs that XHTP keeps: by the numba kernel, or on `device` by the same sums in torch.

    Without `columns` a document feature has at most `keep` partners: the K-sparse rows of algorithm 1.
    """
    sides = CountedSides.from_matrices(X, Y, Z, plain)
    blend = 0.0 if plain else blend
    if device is None:
        find_best = find_partners
    else:
        from xcwork.methods.zestxml.xhtp_torch import find_partners_torch

        find_best = partial(find_partners_torch, device=device)
    of_rows = sides.X, sides.T, sides.of_features, sides.of_label_features
    voters, counts = map(sort_entries, stack_blocks(find_best(*of_rows, keep, blend, smoothing)))
    if columns:
        of_columns = sides.T, sides.X, sides.of_label_features, sides.of_features
        others = stack_blocks(find_best(*of_columns, keep, blend, smoothing))
        # A pair that both sides keep has the same value on both, so the maximum of the two matrices is their union.
        voters, counts = (
            sort_entries(sparse.csr_array(ours.maximum(sparse.csr_array(theirs.T))))
            for ours, theirs in zip((voters, counts), others, strict=True)
        )
    large = (voters.data >= epsilon) & (voters.data > shift)
    voters = keep_entries(voters, large)
    return PairStatistics(
        voters=replace_values(voters, voters.data - np.float32(shift)),
        counts=counts.data[large],
        documents_with=sides.of_features.occurrences,
        labels_with=sides.of_label_features.occurrences,
        votes=sides.T.astype(np.float32),
    )


def find_partners(
    a: sparse.csr_array,
    b: sparse.csr_array,
    totals_a: FeatureTotals,
    totals_b: FeatureTotals,
    keep: int,
    blend: float,
    smoothing: float = 0.0,
) -> list[PartnerBlock]:
    """Return the best partners (columns of b) of every column of a, in blocks: their values v and their counts n."""
    by_feature = to_rows(sparse.csr_array(a.T), None)
    by_document = to_rows(b, None)
    n_rows = a.shape[1]
    width = min(keep, b.shape[1])
    size = max(1, min(BLOCK_BYTES // (12 * width), -(-n_rows // 64)))

    def find_block(start: int) -> PartnerBlock:
        stop = min(start + size, n_rows)
        ids = np.zeros((stop - start, width), np.int32)
        values = np.zeros((stop - start, width), np.float32)
        counts = np.zeros((stop - start, width), np.float32)
        filled = find_top_pairs(
            start, stop, by_feature, by_document, totals_a, totals_b, blend, smoothing, ids, values, counts
        )
        return gather_filled(ids, values, filled, b.shape[1]), gather_filled(ids, counts, filled, b.shape[1])

    return parallel_map(find_block, range(0, n_rows, size), "counting pairs")


def stack_blocks(blocks: Sequence[PartnerBlock]) -> PartnerBlock:
    """Return one matrix of values and one of counts."""
    values, counts = zip(*blocks, strict=True)
    return sparse.csr_array(sparse.vstack(values)), sparse.csr_array(sparse.vstack(counts))


def convert_values(matrix: sparse.csr_array, kind: type, keep_values: bool) -> sparse.csr_array:
    """Return the matrix without explicit zeros, its values kept or replaced by ones."""
    matrix = drop_zeros(matrix)
    return replace_values(matrix, matrix.data.astype(kind) if keep_values else np.ones(matrix.nnz, kind))


def sum_columns(matrix: sparse.csr_array) -> np.ndarray:
    """Return the sum of every column, (n_columns,) float64."""
    return np.bincount(matrix.indices, weights=matrix.data, minlength=matrix.shape[1])
