"""Numbers about a trained model that a ranking does not show: what the paper's theory says about this very model.

*Lemma 1*: if a classifier w_l is so close to its label's embedding that p(+|1) - p(+|E(z_l)·w_l) = ε_l, then using the
embedding in its place moves no score by more than √(2 C ε_l), with C = exp(2d)/(c d) the Lipschitz constant of the
inverse of p. Both sides are measured: the bound, and the largest movement among sampled documents.

*Theorem 3* bounds the error by norms of the parameters; they are listed with the paper's convention ‖A‖_{p,q}: the
p-norm of every row, then the q-norm of those.

Cosines of relevant pairs and of each document's best irrelevant candidates show how well the two are told apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.methods.siamesexml.likelihood import Likelihood
from xcwork.methods.siamesexml.scores import lookup
from xcwork.sparse import enlarge

if TYPE_CHECKING:
    from xcwork.methods.siamesexml.method import SiameseXML

DOCUMENTS, LABELS = 500, 2000  # sampled at most
RIVALS = 5  # irrelevant candidates of a document, by cosine
SEARCHED = 100  # neighbours in the recall of an approximate search


class Histogram(NamedTuple):
    """Counts of cosines between `edges`: of relevant pairs, and of the best irrelevant candidates."""

    edges: np.ndarray  # (bins + 1,)
    positive: np.ndarray  # (bins,)
    negative: np.ndarray  # (bins,)


def measurements(method: SiameseXML, split: Split) -> dict[str, float]:
    """All diagnostics, by name; recalls and shares in percent."""
    sample = _sample(split, method.seed)
    if len(sample) == 0:
        return {}
    return _recalls(method, sample) | _cosine_summary(method, sample) | _lemma_one(method, sample) | norms(method)


def cosine_histogram(method: SiameseXML, split: Split, bins: int) -> Histogram:
    """Counts for a figure."""
    positive, negative = _cosines(method, _sample(split, method.seed))
    edges = np.linspace(-1, 1, bins + 1)
    return Histogram(edges, *(np.histogram(values, edges)[0] for values in (positive, negative)))


def norms(method: SiameseXML) -> dict[str, float]:
    """The norms of theorem 3 for the first member."""
    member = method.members_[0]
    E, residual = member["encoder"]["table"], member["encoder"]["residual"]
    R = residual["R"].astype(np.float64)
    R *= float(residual["radius"][0]) / np.linalg.norm(R, 2)  # the matrix that really acts
    size_E, size_R = np.abs(E.T), np.abs(R)  # the paper's E is (dimension, n_tokens)
    return {
        "‖E‖₁,₁": float(size_E.sum()),
        "‖E‖∞,₁": float(size_E.max(axis=1).sum()),
        "‖R‖₁,₁": float(size_R.sum()),
        "‖R‖∞,₁": float(size_R.max(axis=1).sum()),
        "‖R‖σ": float(np.linalg.norm(R, 2)),
        "‖η‖₁,₁": float(member["eta_norms"][0]),
        "‖η‖₁,∞": float(member["eta_norms"][1]),
    }


def _sample(split: Split, seed: int) -> Split:
    if len(split) <= DOCUMENTS:
        return split
    return split.take(np.sort(np.random.default_rng(seed).permutation(len(split))[:DOCUMENTS]))


def _recalls(method: SiameseXML, sample: Split) -> dict[str, float]:
    """How many relevant labels are candidates at all, and how much an approximate search misses."""
    found = method.runtime.scored(sample.X, 1).ids
    hits = np.count_nonzero(lookup(_truth(method, sample), found))
    values = {"candidate recall": 100 * hits / max(1, sample.Y.nnz)}
    member = method.runtime.members[0]
    f = member.encoder.encode(method.tokens.of_documents(sample.X))
    for name, index in (("text", member.around.text_index), ("centroid", member.around.centroid_index)):
        if index.kind != "exact":
            values[f"recall@{SEARCHED} of the {name} search"] = 100 * index.recall(f, min(SEARCHED, len(index)))
    return values


def _truth(method: SiameseXML, split: Split) -> sparse.csr_array:
    """Y as wide as the label space has become."""
    return enlarge(split.Y, (len(split), len(method.labels_)))


def _cosines(method: SiameseXML, sample: Split) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of document and classifier: relevant pairs, and the best irrelevant candidates."""
    member = method.runtime.members[0]
    x = member.encoder.finish(member.encoder.encode(method.tokens.of_documents(sample.X)))
    row = np.repeat(np.arange(len(sample)), np.diff(sample.Y.indptr))
    positive = np.einsum("id,id->i", x[row], member.classifiers[sample.Y.indices])
    ids = method.runtime.scored(sample.X, 1).ids
    all_cosines = x @ member.classifiers.T if len(method.labels_) <= LABELS * 10 else None
    if all_cosines is not None:
        rivals = np.take_along_axis(all_cosines, np.maximum(ids, 0), axis=1)
    else:
        rivals = np.stack([member.classifiers[np.maximum(i, 0)] @ v for i, v in zip(ids, x, strict=True)])
    is_own = lookup(_truth(method, sample), ids) > 0
    rivals = np.where(is_own | (ids == MISSING), -np.inf, rivals)
    best = -np.sort(-rivals, axis=1)[:, :RIVALS]
    return positive, best[np.isfinite(best)]


def _cosine_summary(method: SiameseXML, sample: Split) -> dict[str, float]:
    positive, negative = _cosines(method, sample)
    if len(positive) == 0 or len(negative) == 0:
        return {}
    return {
        "cosine of relevant pairs, mean": float(positive.mean()),
        "cosine of relevant pairs, lowest tenth below": float(np.quantile(positive, 0.1)),
        "cosine of the best irrelevant, mean": float(negative.mean()),
        "cosine of the best irrelevant, highest tenth above": float(np.quantile(negative, 0.9)),
    }


def _lemma_one(method: SiameseXML, sample: Split) -> dict[str, float]:
    """Bound and measurement for labels with a classifier of their own."""
    member, likelihood = method.runtime.members[0], Likelihood(method.c, method.d)
    seen = np.flatnonzero((method.label_frequencies_ > 0) & (np.diff(method.Z_.indptr) > 0))
    if len(seen) == 0 or method.classifier_epochs == 0:
        return {}
    labels = np.sort(np.random.default_rng(method.seed).permutation(seen)[:LABELS])
    z = member.encoder.finish(member.encoder.encode(method.Z_[labels])).astype(np.float64)
    w = member.classifiers[labels].astype(np.float64)
    cosine = np.clip((z * w).sum(axis=1), -1, 1)
    epsilon = likelihood.c * -np.expm1(likelihood.d * (cosine - 1))
    bound = np.sqrt(2 * likelihood.inverse_lipschitz * epsilon)
    x = member.encoder.finish(member.encoder.encode(method.tokens.of_documents(sample.X)))
    moved = np.abs(x @ (w - z).T).max(axis=0)  # (n_labels,)
    return {
        "Lemma 1: bound on a score's movement, mean": float(bound.mean()),
        "Lemma 1: largest movement measured, mean": float(moved.mean()),
        "Lemma 1: labels within the bound": 100 * float((moved <= bound + 1e-5).mean()),
    }
