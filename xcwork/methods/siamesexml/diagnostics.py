"""Numbers about a trained model that a ranking does not show: what the paper's theory says about this very model.

*Lemma 1*: if a classifier w_l is so close to its label's embedding that p(+|1) - p(+|E(z_l)·w_l) = ε_l, then using the
embedding instead moves no score by more than √(2 C ε_l), with C = exp(2d)/(c d) the Lipschitz constant of the
inverse of p. Both sides are measured: the bound, and the largest movement among sampled documents.

*Theorem 3* bounds the error by norms of the parameters; they are listed with the paper's convention ‖A‖_{p,q}: the
p-norm of every row, then the q-norm of those.

Cosines of relevant pairs and of each document's best irrelevant candidates show how well the two are told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.core.topk import MISSING
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.loss import Likelihood
from xcwork.methods.siamesexml.prediction import SiameseRanker
from xcwork.methods.siamesexml.scores import Member, look_up
from xcwork.sparse import enlarge

MAX_SAMPLED_DOCUMENTS = 500
MAX_SAMPLED_LABELS = 2000
MAX_LABELS_PER_PRODUCT = 20_000  # whose cosines with all sampled documents fit into memory
RIVALS_PER_DOCUMENT = 5  # irrelevant candidates of a document, by cosine
SEARCHED_NEIGHBOURS = 100  # neighbours in the recall of an approximate search


class CosineHistogram(NamedTuple):
    """Counts of cosines between `edges`: of relevant pairs, and of the best irrelevant candidates."""

    edges: np.ndarray  # (bins + 1,)
    positive: np.ndarray  # (bins,)
    negative: np.ndarray  # (bins,)


@dataclass(frozen=True, eq=False)
class ModelProbe:
    """Measures a model; what concerns encoders is about the first member."""

    ranker: SiameseRanker
    params: Params
    label_frequencies: np.ndarray  # (n_labels,)
    read_rows: Callable[[Split], sparse.csr_array] | None = None  # with a sentence encoder

    @property
    def _member(self) -> Member:
        return self.ranker.members[0]

    def measure(self, split: Split) -> dict[str, float]:
        """Return all diagnostics, by name; recalls and shares in percent."""
        sample = self._draw_sample(split)
        if len(sample) == 0:
            return {}
        return (
            self._measure_recalls(sample)
            | self._summarise_cosines(sample)
            | ({} if self.read_rows is not None else self._measure_lemma_one(sample) | self._compute_norms())
        )

    def count_cosines(self, split: Split, bins: int) -> CosineHistogram:
        """Return counts for a figure."""
        positive, negative = self._compute_cosines(self._draw_sample(split))
        edges = np.linspace(-1, 1, bins + 1)
        return CosineHistogram(edges, np.histogram(positive, edges)[0], np.histogram(negative, edges)[0])

    def _draw_sample(self, split: Split) -> Split:
        """Return some documents of a large split, or all of a small one."""
        if len(split) <= MAX_SAMPLED_DOCUMENTS:
            return split
        return split.take(
            np.sort(np.random.default_rng(self.params.seed).permutation(len(split))[:MAX_SAMPLED_DOCUMENTS])
        )

    def _read(self, sample: Split) -> sparse.csr_array:
        """Return the rows of documents that the ranker takes."""
        return sample.X if self.read_rows is None else self.read_rows(sample)

    def _widen_truth(self, split: Split) -> sparse.csr_array:
        """Return Y as wide as the label space has become."""
        return enlarge(split.Y, (len(split), len(self.label_frequencies)))

    def _measure_recalls(self, sample: Split) -> dict[str, float]:
        """Return how many relevant labels are candidates at all, and how much an approximate search misses."""
        X = self._read(sample)
        found = self.ranker.score(X, 1).ids
        hits = np.count_nonzero(look_up(self._widen_truth(sample), found))
        values = {"candidate recall": 100 * hits / max(1, sample.Y.nnz)}
        around = self._member.around
        f = self._member.encoder.encode(self.ranker.tokens.map_documents(X))
        for name, index in (("text", around.text_index), ("centroid", around.centroid_index)):
            if index.kind != "exact":
                values[f"recall@{SEARCHED_NEIGHBOURS} of the {name} search"] = 100 * index.measure_recall(
                    f, min(SEARCHED_NEIGHBOURS, len(index))
                )
        return values

    def _embed_documents(self, sample: Split) -> np.ndarray:
        """Return E of the sampled documents."""
        encoder = self._member.encoder
        return encoder.finish(encoder.encode(self.ranker.tokens.map_documents(self._read(sample))))

    def _compute_cosines(self, sample: Split) -> tuple[np.ndarray, np.ndarray]:
        """Return cosines of document and classifier: relevant pairs, and the best irrelevant candidates."""
        classifiers = self._member.classifiers
        x = self._embed_documents(sample)
        row = np.repeat(np.arange(len(sample)), np.diff(sample.Y.indptr))
        positive = np.einsum("id,id->i", x[row], classifiers[sample.Y.indices])
        ids = self.ranker.score(self._read(sample), 1).ids
        if len(classifiers) <= MAX_LABELS_PER_PRODUCT:
            rivals = np.take_along_axis(x @ classifiers.T, np.maximum(ids, 0), axis=1)
        else:
            rivals = np.stack([classifiers[np.maximum(i, 0)] @ v for i, v in zip(ids, x, strict=True)])
        is_own = look_up(self._widen_truth(sample), ids) > 0
        rivals = np.where(is_own | (ids == MISSING), -np.inf, rivals)
        best = -np.sort(-rivals, axis=1)[:, :RIVALS_PER_DOCUMENT]
        return positive, best[np.isfinite(best)]

    def _summarise_cosines(self, sample: Split) -> dict[str, float]:
        """Return how well relevant pairs are told from the best irrelevant ones."""
        positive, negative = self._compute_cosines(sample)
        if len(positive) == 0 or len(negative) == 0:
            return {}
        return {
            "cosine of relevant pairs, mean": float(positive.mean()),
            "cosine of relevant pairs, lowest tenth below": float(np.quantile(positive, 0.1)),
            "cosine of the best irrelevant, mean": float(negative.mean()),
            "cosine of the best irrelevant, highest tenth above": float(np.quantile(negative, 0.9)),
        }

    def _measure_lemma_one(self, sample: Split) -> dict[str, float]:
        """Return bound and measurement for labels with a classifier of their own."""
        Z = self.ranker.Z
        seen = np.flatnonzero((self.label_frequencies > 0) & (np.diff(Z.indptr) > 0))
        if len(seen) == 0 or self.params.classifier_epochs == 0:
            return {}
        labels = np.sort(np.random.default_rng(self.params.seed).permutation(seen)[:MAX_SAMPLED_LABELS])
        likelihood = Likelihood(self.params.c, self.params.d)
        encoder = self._member.encoder
        z = encoder.finish(encoder.encode(Z[labels])).astype(np.float64)
        w = self._member.classifiers[labels].astype(np.float64)
        cosine = np.clip((z * w).sum(axis=1), -1, 1)
        epsilon = likelihood.c * -np.expm1(likelihood.d * (cosine - 1))
        bound = np.sqrt(2 * likelihood.inverse_lipschitz * epsilon)
        moved = np.abs(self._embed_documents(sample) @ (w - z).T).max(axis=0)  # (n_labels,)
        return {
            "Lemma 1: bound on a score's movement, mean": float(bound.mean()),
            "Lemma 1: largest movement measured, mean": float(moved.mean()),
            "Lemma 1: labels within the bound": 100 * float((moved <= bound + 1e-5).mean()),
        }

    def _compute_norms(self) -> dict[str, float]:
        """Return the norms of theorem 3."""
        state = self._member.encoder.to_state()
        residual = state["residual"]
        R = residual["R"].astype(np.float64)
        R *= float(residual["radius"][0]) / np.linalg.norm(R, 2)  # the matrix that really acts
        size_E = np.abs(state["table"].T)  # the paper's E is (dimension, n_tokens)
        size_R = np.abs(R)
        return {
            "‖E‖₁,₁": float(size_E.sum()),
            "‖E‖∞,₁": float(size_E.max(axis=1).sum()),
            "‖R‖₁,₁": float(size_R.sum()),
            "‖R‖∞,₁": float(size_R.max(axis=1).sum()),
            "‖R‖σ": float(np.linalg.norm(R, 2)),
            "‖η‖₁,₁": float(self._member.eta_norms[0]),
            "‖η‖₁,∞": float(self._member.eta_norms[1]),
        }
