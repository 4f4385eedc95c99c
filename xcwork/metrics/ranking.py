"""Ranking metrics, all computed from one thing: the rank at which each true label was listed.

`place_labels` looks up every listed label once. What follows is a ratio of two sums over documents,

    metric = 100 * sum_i numerator_i / sum_i denominator_i

    P@k             hits_i / k                    over  1
    nDCG@k          DCG_i / ideal_i               over  1
    PSP@k           sum of q over the hits        over  the largest such sum any k labels could reach
    PSnDCG@k        PSDCG_i / ideal_i             over  bestPSDCG_i / ideal_i
    recall_macro@k  hits_i / |y_i|                over  1
    recall_micro@k  hits_i                        over  |y_i|
    hit@k           1 if any hit                  over  1

with DCG_i = sum over hits of 1 / log2(rank + 1), ideal_i the same sum over ranks 1 … min(k, |y_i|), and q the inverse
propensity of a label. Because of that form the same per-document arrays serve the table, the error pages and the
bootstrap. `coverage@k` and `macro_F1@k` alone are counted over labels: `coverage@k` are those found at least once, of
all true ones; `macro_F1@k` is the mean of their F1, in which a rare label weighs as much as any other.
`micro_F1@k` is the F1 of all predictions together.

Rules: a missing slot is wrong; P@k divides by k, never by the number of labels returned; a document without true
labels counts as 0 wherever the denominator is 1. PSP is a ratio of sums, so it cannot exceed 100; PSnDCG is pyxclib's
form. Cost: the lookup, O(n_documents * k), then O(true labels) per metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from xcwork.core.propensity import Propensity, compute_inverse_propensities
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import make_canonical

KS = (1, 3, 5)
HEADLINE_METRICS = tuple(f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in KS)
ABSENT = np.iinfo(np.int32).max  # the rank of a true label that is not in the list: below every real one

DEFINITIONS = {
    "P@k": "correct labels among the first k, divided by k, averaged over all documents",
    "nDCG@k": "as P@k, but a hit counts more the higher it stands; divided by the best attainable for the document",
    "PSP@k": "as P@k, but a hit counts by its inverse propensity, so that rare labels weigh more; divided by the best "
    "attainable over all documents together, hence between 0 and 100",
    "PSnDCG@k": "nDCG@k with inverse propensities as gains, normalised as in pyxclib",
    "recall_macro@k": "share of a document's true labels among its first k, averaged over all documents",
    "recall_micro@k": "share of all true labels that stand among the first k of their document",
    "hit@k": "share of documents with at least one correct label among the first k",
    "coverage@k": "share of the true labels that are correctly predicted among the first k at least once",
    "macro_F1@k": "F1 of each true label (of its predictions among the first k), averaged over these labels",
    "micro_F1@k": "F1 of all predictions among the first k together",
}


class Ratio(NamedTuple):
    """A metric before it is summed up: one numerator and one denominator per document."""

    numerator: np.ndarray  # (n_documents,)
    denominator: np.ndarray  # (n_documents,)

    def compute_percent(self) -> float:
        """Return the ratio of the two sums, in percent; 0 where there is nothing to divide by."""
        total = float(self.denominator.sum())
        return 100.0 * float(self.numerator.sum()) / total if total > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Placement:
    """The rank of every true label in the list of its document."""

    truth: sparse.csr_array  # (n_documents, n_labels), ids ascending within a row, no explicit zeros
    ranks: np.ndarray  # (nnz of truth,) int32, 1 is the top, ABSENT is not in the list
    k: int
    listed: np.ndarray  # (n_documents, k) the predicted labels, MISSING where the list is shorter

    @property
    def n_documents(self) -> int:
        return self.truth.shape[0]

    @cached_property
    def n_true(self) -> np.ndarray:
        """How many true labels each document has, (n_documents,)."""
        return np.diff(self.truth.indptr)

    @cached_property
    def documents(self) -> np.ndarray:
        """The document of every true label, (nnz,)."""
        return np.repeat(np.arange(self.n_documents), self.n_true)

    def count_hits(self, k: int) -> np.ndarray:
        """Return how many of each document's first k labels are correct, (n_documents,)."""
        return np.bincount(self.documents[self.ranks <= k], minlength=self.n_documents)

    def mark_hits(self) -> np.ndarray:
        """Return which slots are correct, (n_documents, k) bool."""
        matrix = np.zeros((self.n_documents, self.k), dtype=bool)
        found = self.ranks <= self.k
        matrix[self.documents[found], self.ranks[found] - 1] = True
        return matrix


def place_labels(topk: TopK, truth: sparse.sparray) -> Placement:
    """Find every true label in the list of its document. A label listed twice counts once, at its better rank."""
    from xcwork.kernels.hits import rank_positives  # numba loads here, not with the package

    if len(topk) != truth.shape[0]:
        raise DataError(
            f"there are predictions for {len(topk)} documents, but true labels of {truth.shape[0]} documents",
            remedy="evaluate the predictions on the documents they were made for",
        )
    truth = make_canonical(truth)
    ranks = np.full(truth.nnz, ABSENT, dtype=np.int32)
    rank_positives(
        np.ascontiguousarray(topk.ids, dtype=np.int32),
        truth.indices.astype(np.int32, copy=False),
        truth.indptr.astype(np.int64, copy=False),
        ranks,
    )
    return Placement(truth, ranks, topk.k, topk.ids)


def compute_document_ratios(
    placement: Placement, inverse_propensity: np.ndarray, ks: Sequence[int] = KS
) -> dict[str, Ratio]:
    """Return numerators and denominators of every metric that is a ratio of sums, for every k, by key (`P@1`, …)."""
    gains = _compute_gains(placement, inverse_propensity)
    ratios = [_compute_ratios(placement, gains, k) for k in _check_ks(ks)]
    return {key: ratio for at_k in ratios for key, ratio in at_k.items()}


class _Gains(NamedTuple):
    """What every true label is worth, and what it would be worth in the best possible list; all (nnz,)."""

    q: np.ndarray  # inverse propensity
    discount: np.ndarray  # 1 / log2(rank + 1)
    best_q: np.ndarray  # the q of each document in falling order
    best_rank: np.ndarray  # 1, 2, … within each document
    best_discount: np.ndarray


def _compute_gains(placement: Placement, inverse_propensity: np.ndarray) -> _Gains:
    labels, documents = placement.truth.indices, placement.documents
    order = np.argsort(-inverse_propensity, kind="stable")  # (n_labels,), rarest first
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    # Document and position in one number: sorting those is many times faster than sorting by two keys.
    best = np.sort(documents * len(order) + position[labels]) % max(len(order), 1)
    best_rank = np.arange(1, len(labels) + 1) - placement.truth.indptr[documents]
    return _Gains(
        q=inverse_propensity[labels],
        discount=1.0 / np.log2(placement.ranks + 1.0),
        best_q=inverse_propensity[order[best]],
        best_rank=best_rank,
        best_discount=1.0 / np.log2(best_rank + 1.0),
    )


def _compute_ratios(placement: Placement, gains: _Gains, k: int) -> dict[str, Ratio]:
    n_documents, n_true = placement.n_documents, placement.n_true
    found = np.flatnonzero(placement.ranks <= k)
    reachable = np.flatnonzero(gains.best_rank <= k)

    def sum_products(chosen: np.ndarray, *factors: np.ndarray) -> np.ndarray:
        """Return per document the sum over the chosen true labels of the product of the factors."""
        values = np.prod([factor[chosen] for factor in factors], axis=0)
        return np.bincount(placement.documents[chosen], weights=values, minlength=n_documents)

    attainable = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, k + 2)))])
    ideal = attainable[np.minimum(n_true, k)]  # (n_documents,)
    # Where there is nothing to find the numerator is 0 too, so any positive divisor gives the 0 that the rules ask for.
    ideal[n_true == 0] = 1.0
    best_psdcg = sum_products(reachable, gains.best_q, gains.best_discount)
    one, hits = np.ones(n_documents), placement.count_hits(k)
    return {
        f"P@{k}": Ratio(hits / k, one),
        f"nDCG@{k}": Ratio(sum_products(found, gains.discount) / ideal, one),
        f"PSP@{k}": Ratio(sum_products(found, gains.q), sum_products(reachable, gains.best_q)),
        f"PSnDCG@{k}": Ratio(sum_products(found, gains.q, gains.discount) / ideal, best_psdcg / ideal),
        f"recall_macro@{k}": Ratio(hits / np.maximum(n_true, 1), one),
        f"recall_micro@{k}": Ratio(hits, n_true),
        f"hit@{k}": Ratio((hits > 0).astype(np.float64), one),
    }


def compute_highest_precision(n_true: np.ndarray, k: int) -> float:
    """Return the P@k in percent of a perfect list, which is below 100 where documents have fewer than k labels."""
    return 100.0 * float(np.minimum(n_true, k).sum()) / (k * max(len(n_true), 1))


def compute_coverage(placement: Placement, k: int) -> float:
    """Return the percentage of the true labels that are found at least once among the first k."""
    # Marking beats np.unique by far, and one byte per label is little beside a model.
    occurring, found = np.zeros((2, placement.truth.shape[1]), dtype=bool)
    occurring[placement.truth.indices] = True
    found[placement.truth.indices[placement.ranks <= k]] = True
    return 100.0 * int(found.sum()) / max(int(occurring.sum()), 1)


def compute_f1(placement: Placement, k: int) -> dict[str, float]:
    """Return macro and micro F1 of the first k labels, in percent."""
    n_labels = placement.truth.shape[1]
    listed = placement.listed[:, :k]
    n_listed = int((listed != MISSING).sum())
    predicted = np.bincount(listed[(listed != MISSING) & (listed < n_labels)], minlength=n_labels)
    occurring = np.bincount(placement.truth.indices, minlength=n_labels)
    hits = np.bincount(placement.truth.indices[placement.ranks <= k], minlength=n_labels)
    of_label = 2.0 * hits / np.maximum(predicted + occurring, 1)
    return {
        f"macro_F1@{k}": 100.0 * float(of_label[occurring > 0].sum()) / max(int((occurring > 0).sum()), 1),
        f"micro_F1@{k}": 200.0 * int(hits.sum()) / max(n_listed + placement.truth.nnz, 1),
    }


def evaluate_placement(
    placement: Placement, inverse_propensity: np.ndarray, ks: Sequence[int] = KS
) -> dict[str, float]:
    """Return every metric for every k, in percent."""
    ratios = compute_document_ratios(placement, inverse_propensity, ks)
    summed = {key: ratio.compute_percent() for key, ratio in ratios.items()}
    summed |= {f"coverage@{k}": compute_coverage(placement, k) for k in ks}
    return summed | {name: value for k in ks for name, value in compute_f1(placement, k).items()}


def evaluate_topk(
    topk: TopK,
    truth_Y: sparse.sparray,
    *,
    frequencies: np.ndarray,
    n_train: int,
    propensity: Propensity,
    ks: Sequence[int] = KS,
) -> dict[str, float]:
    """Return every metric for every k, in percent, of ready-made predictions.

    `frequencies` (n_labels,) and `n_train` describe the *training* split: they, with `propensity`, decide what a rare
    label is.
    """
    return evaluate_placement(
        place_labels(topk, truth_Y), compute_inverse_propensities(frequencies, n_train, propensity), ks
    )


def compute_curves(placement: Placement) -> dict[str, list[float]]:
    """Return P, hit and both recalls for every k from 1 to the length of the list, in percent.

    The end of the recall curves is the ceiling of anything that only re-orders the list.
    """
    n, ks = max(placement.n_documents, 1), np.arange(1, placement.k + 1)
    found = placement.ranks <= placement.k
    rank, documents = placement.ranks[found], placement.documents[found]
    first = np.full(placement.n_documents, ABSENT, dtype=np.int32)
    np.minimum.at(first, documents, rank)

    def count_up_to(ranks: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        return np.cumsum(np.bincount(ranks, weights=weights, minlength=placement.k + 1)[1:])

    hits = count_up_to(rank)
    columns = {
        "P": hits / (ks * n),
        "recall_macro": count_up_to(rank, 1.0 / placement.n_true[documents]) / n,
        "recall_micro": hits / max(placement.truth.nnz, 1),
        "hit": count_up_to(first[first <= placement.k]) / n,
    }
    return {"k": ks.tolist()} | {name: (100.0 * values).tolist() for name, values in columns.items()}


def _check_ks(ks: Sequence[int]) -> Sequence[int]:
    if not ks or min(ks) < 1:
        raise ConfigError(f"the k of a metric must be at least 1, got {list(ks)}")
    return ks
