"""How strongly predictions speak against an annotation: for labels that are missing and for labels that are wrong.

Predictions must come from a model that did not learn from the documents: those of the test split, or out-of-fold ones.
Let p be the probability of a label for a document, and 0 where it is not listed.

*Missing.* Of the predictions that are no annotated labels, those come first that are most likely right:

    logit p + 0.3 logit u + a_label + a_document / 2

u is the share of all predictions with a lower score, which separates what a calibration rounds to the same p. The two
a say whether predictions of this label, and for this document, are right more often than their p: one Newton step of a
logistic regression with an offset per label (per document) and a prior of `PRIOR_WEIGHT`, the pair itself left out.

*Wrong.* An annotated label with a low p is suspicious if such labels are found elsewhere; a label that is never found
says nothing, and neither does a document of which nothing is found. So the chance m that a *right* label is overlooked
is estimated from its surroundings, with a logistic regression over all annotated pairs on the mean p of the label in
its other documents, the mean p of the document's other labels, and how many of each there are. Suspicion is

    -log m - log(p + 0.003)

The constants were chosen on errors planted into 15,000 training documents of EURLEX57K. `benchmarks/review.py` measures
them on the same training split, these documents included, with other planted errors.

Cost: O(n_documents * 10 + annotated pairs), and two sorts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logit

from xcwork.analysis.errors import estimate_confidence, is_filter_pair
from xcwork.core.split import Split
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import DataError
from xcwork.metrics.ranking import Placement, place_labels

DEPTH = 10  # predictions per document that are looked at
PRIOR_WEIGHT = 3.0  # of "as right as its probability says", in units of p (1 - p)
PRIOR_PAIRS = 2.0  # imaginary pairs of average probability, so that few pairs say little
MIN_PROBABILITY = 0.001
SCORE_WEIGHT = 0.3
DOCUMENT_WEIGHT = 0.5
OVERLOOKED = 0.05  # an annotated label with a lower probability counts as overlooked
MAX_WRONG_PROBABILITY = 0.2  # an annotated label with a higher one is not suspicious
FLOOR = 0.003  # keeps labels that are not listed comparable with those that are listed far down
MAX_REGRESSION_PAIRS = 200_000  # that the regression is fitted to


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Pairs of document and label, and how strong the evidence is that their annotation is wrong."""

    documents: np.ndarray  # (n,) rows
    labels: np.ndarray  # (n,) ids
    ranks: np.ndarray  # (n,) from 1; 0: not listed
    probabilities: np.ndarray  # (n,)
    strengths: np.ndarray  # (n,) log-odds up to a constant; larger is stronger

    def __len__(self) -> int:
        return len(self.documents)

    def take_strongest(self, limit: int) -> PairEvidence:
        """Return the `limit` strongest pairs, the strongest first; ties go by document, then label."""
        if limit < len(self):
            # A full sort of millions of pairs is slow, so what cannot be among the first is left out before it.
            least = np.partition(self.strengths, len(self) - limit)[len(self) - limit]
            rows = np.flatnonzero(self.strengths >= least)
        else:
            rows = np.arange(len(self))
        order = rows[np.lexsort((self.labels[rows], self.documents[rows], -self.strengths[rows]))][:limit]
        return self.take(order)

    def take(self, rows: np.ndarray) -> PairEvidence:
        """Return the pairs at `rows`."""
        return PairEvidence(
            self.documents[rows], self.labels[rows], self.ranks[rows], self.probabilities[rows], self.strengths[rows]
        )


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """Predictions for one split beside its annotation."""

    topk: TopK
    split: Split
    probabilities: np.ndarray  # (n_documents, k)

    @classmethod
    def from_predictions(cls, topk: TopK, split: Split, probabilities: np.ndarray | None = None) -> LabelEvidence:
        """Return the evidence in `topk`; without calibrated `probabilities`, from the shares of right predictions."""
        if len(topk) != len(split):
            raise DataError(
                f"there are predictions for {len(topk)} documents, but the split has {len(split)}",
                remedy="use the predictions for these documents",
            )
        if probabilities is None:
            probabilities = _estimate_probabilities(topk, split)
        if probabilities.shape != topk.ids.shape or not np.isfinite(probabilities).all():
            raise DataError("the probabilities do not fit the predictions", remedy="calibrate the run again")
        # Labels that were added to the model after training have no annotation to be wrong.
        is_known = (topk.ids != MISSING) & (topk.ids < split.n_labels)
        return cls(topk, split, np.where(is_known, probabilities, 0.0))

    @cached_property
    def placement(self) -> Placement:
        """Where the annotated labels stand."""
        return place_labels(self.topk, self.split.Y)

    @cached_property
    def is_known(self) -> np.ndarray:
        """Which of the first `DEPTH` slots hold a label of the dataset that may be predicted, bool."""
        ids = self.topk.ids[:, :DEPTH]
        is_known = (ids != MISSING) & (ids < self.split.n_labels)
        documents, slots = np.nonzero(is_known)
        n_labels, pairs = self.split.n_labels, self.split.filter_pairs
        is_known[documents, slots] = ~is_filter_pair(documents, ids[documents, slots], pairs, n_labels)
        return is_known

    @cached_property
    def annotated_probabilities(self) -> np.ndarray:
        """The probability of every annotated label, 0 where it is not listed, (nnz,)."""
        found = np.zeros(len(self.placement.ranks))
        listed = np.flatnonzero(self.placement.ranks <= self.topk.k)
        found[listed] = self.probabilities[self.placement.documents[listed], self.placement.ranks[listed] - 1]
        return found

    def find_missing(self, *, min_probability: float = 0.0) -> PairEvidence:
        """Return the predictions near the top that are not annotated."""
        documents, slots = np.nonzero(self.is_known)
        labels, p = self.topk.ids[documents, slots], self.probabilities[documents, slots].astype(np.float64)
        is_right = self.placement.mark_hits()[documents, slots]
        scores = self.topk.scores[documents, slots]
        lower = np.searchsorted(np.sort(scores), scores, side="left")
        strengths = (
            logit(np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY))
            + SCORE_WEIGHT * logit((lower + 1.0) / (len(scores) + 1.0 + 1e-9))
            + _estimate_offsets(labels, is_right, p)
            + DOCUMENT_WEIGHT * _estimate_offsets(documents, is_right, p)
        )
        wanted = np.flatnonzero(~is_right & (p >= min_probability))
        return PairEvidence(documents, labels, slots + 1, p, strengths).take(wanted)

    def find_wrong(self, *, min_found: int = 0) -> PairEvidence:
        """Return the annotated labels that the predictions do not confirm.

        With `min_found` only labels that predictions find in at least so many other documents.
        """
        placement, p = self.placement, self.annotated_probabilities
        ranks = np.where(placement.ranks <= self.topk.k, placement.ranks, 0)
        strengths = -np.log(self.estimate_overlooked()) - np.log(p + FLOOR)
        found_elsewhere = self.count_found()[1][placement.truth.indices] - (p >= OVERLOOKED)
        wanted = np.flatnonzero((p < MAX_WRONG_PROBABILITY) & (found_elsewhere >= min_found))
        return PairEvidence(placement.documents, placement.truth.indices, ranks, p, strengths).take(wanted)

    def estimate_overlooked(self) -> np.ndarray:
        """Return the chance that predictions overlook an annotated label that is right, for every one, (nnz,)."""
        from sklearn.linear_model import LogisticRegression

        placement, p = self.placement, self.annotated_probabilities
        is_overlooked = p < OVERLOOKED
        if len(p) == 0 or is_overlooked.all() or not is_overlooked.any():
            return np.full(len(p), np.clip(is_overlooked.mean() if len(p) else 0.5, FLOOR, 1 - FLOOR))
        label_mean, n_of_label = _average_others(placement.truth.indices, p)
        document_mean, n_of_document = _average_others(placement.documents, p)
        columns = [logit(label_mean), logit(document_mean), np.log(n_of_label), np.log(n_of_document)]
        X = np.column_stack(columns)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        X = np.column_stack([X, X**2, X[:, 0] * X[:, 1]])
        every = -(-len(p) // MAX_REGRESSION_PAIRS)
        rows = slice(None, None, every if len(np.unique(is_overlooked[::every])) == 2 else None)
        fitted = LogisticRegression(max_iter=300).fit(X[rows], is_overlooked[rows])
        return np.clip(fitted.predict_proba(X)[:, 1], FLOOR, 1 - FLOOR)

    def count_found(self) -> tuple[np.ndarray, np.ndarray]:
        """Return in how many documents each label is annotated, and in how many of these it is not overlooked."""
        labels = self.placement.truth.indices
        is_found = self.annotated_probabilities >= OVERLOOKED
        n_labels = self.split.n_labels
        return np.bincount(labels, minlength=n_labels), np.bincount(labels[is_found], minlength=n_labels)


def _estimate_probabilities(topk: TopK, split: Split) -> np.ndarray:
    """Return the share of right predictions among those with a similar score, (n_documents, k)."""
    head = topk.head(min(DEPTH, topk.k))
    correct = place_labels(head, split.Y).mark_hits()
    found = np.zeros(topk.ids.shape, np.float32)
    listed = topk.ids != MISSING
    found[listed] = estimate_confidence(head, correct, topk.scores[listed])
    return found


def _estimate_offsets(owners: np.ndarray, is_right: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return for each prediction how much more often the others of its owner are right than their p, in logits."""
    residuals, weights = is_right - p, p * (1.0 - p)
    size = int(owners.max(initial=-1)) + 1
    others = np.bincount(owners, residuals, size)[owners] - residuals
    return others / (np.bincount(owners, weights, size)[owners] - weights + PRIOR_WEIGHT)


def _average_others(owners: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean p of the other pairs of each pair's owner, drawn to the mean of all, and their number."""
    size = int(owners.max(initial=-1)) + 1
    counts = np.bincount(owners, minlength=size)[owners]
    others = np.bincount(owners, p, size)[owners] - p
    mean = (others + PRIOR_PAIRS * p.mean()) / (counts - 1 + PRIOR_PAIRS)
    return np.clip(mean, 0.01, 0.99), counts
