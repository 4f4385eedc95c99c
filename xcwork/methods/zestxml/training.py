"""The stages of ZestXML-tuned after XHTP: shortlist, shared pairs, own weights, calibration of unseen labels.

Every stage starts from the scores of the ones before it, so its weights only have to explain what is left. For this the
scores must be honest: XHTP has counted the very documents that are now learned from, so their own votes are taken out
of every weight first (v becomes v (n - own) / n). Without that, the pairs would look far better on training documents
than they are, and what comes after would lean on them.

Some documents are held out: refinement stops by them, and they tell how margins translate into probabilities. Some
labels are hidden, as stand-ins for unseen ones (see `unseen`); documents that carry one do not refine shared pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import by_blocks
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.split import Split
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.kernels.bilinear_training import Pairs
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.pair_svm import OwnProblem
from xcwork.methods.common.training_pairs import training_pairs, without_labels
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.refine import SharedProblem
from xcwork.methods.zestxml.scorer import Scorer, Voted
from xcwork.methods.zestxml.shortlist import Shortlister, damped, n_found
from xcwork.methods.zestxml.unseen import Sample, borrowing_share, calibrate, choose_hidden
from xcwork.progress import report
from xcwork.sparse import keep_entries, to_rows

if TYPE_CHECKING:
    from xcwork.methods.zestxml.method import ZestXML

MOST_HIDDEN, MOST_HELD_OUT = 500, 10_000  # more would not make the calibration any better
PRIOR = {"squared hinge": -1.0, "logistic": -3.0}  # the score of a label that nothing speaks for


@dataclass(frozen=True, eq=False)
class Learned:
    """What refinement adds to XHTP."""

    shared: sparse.csr_array  # (n_features, n_label_features)
    own: sparse.csr_array  # (n_features, n_labels)
    bias: np.ndarray  # (n_labels,)
    factors: np.ndarray  # (2, 2)
    unseen_bias: float
    share: float  # of what unseen labels borrow


@dataclass(frozen=True, eq=False)
class Roles:
    """Who takes part in what."""

    hidden: np.ndarray  # label ids
    held_out: np.ndarray  # (n_documents,) bool
    carries_hidden: np.ndarray  # (n_documents,) bool

    @classmethod
    def of(cls, train: Split, frequencies: np.ndarray, method: ZestXML) -> Roles:
        hidden = choose_hidden(frequencies, method.hidden, method.seed)[:MOST_HIDDEN]
        n_held_out = min(round(method.held_out * len(train)), MOST_HELD_OUT, len(train) - 1)
        drawn = np.random.default_rng([method.seed, 2]).permutation(len(train))[:n_held_out]
        held_out = np.zeros(len(train), bool)
        held_out[keep_groups_whole(drawn, find_groups_sharing_labels(train))] = True
        return cls(hidden, held_out, np.asarray(train.Y[:, hidden].sum(axis=1)).ravel() > 0)


@dataclass(frozen=True, eq=False)
class Tuning:
    """One training: the data in the form the stages need, and the method whose parameters they read."""

    method: ZestXML
    X: sparse.csr_array  # (n_documents, n_features), unit rows
    Y: sparse.csr_array  # (n_documents, n_labels)
    forbidden: np.ndarray | None  # (n, 2): pairs that are never predicted
    features: LabelFeatures
    borrowed: sparse.csr_array  # (n_labels, n_label_features): what hidden labels have besides, as unseen ones do
    roles: Roles
    progress: TrainingProgress

    def run(self, shortlister: Shortlister, start: sparse.csr_array, voted: Voted) -> Learned:
        """All stages; `start` (n_features, n_label_features) is where shared pairs begin, by the votes of `voted`."""
        pairs = self._pairs(shortlister)
        if self.method.epochs and start.nnz:
            # Refined weights are no longer a share of votes, so there is nothing that could be taken out of them.
            start, voted = self._refine(pairs, start), None
        held_out = pairs[np.flatnonzero(self.roles.held_out)]
        pairs = keep_entries(pairs, np.repeat(~self.roles.held_out, np.diff(pairs.indptr)))
        own, bias = self._own(pairs, start, voted)
        return self._calibrated(held_out, start, voted, own, bias)

    def _pairs(self, shortlister: Shortlister) -> sparse.csr_array:
        """The pairs to learn from, (n_documents, n_labels); the shortlists themselves never exist all at once."""

        def work(start: int, stop: int) -> tuple[sparse.csr_array, int]:
            shortlist, Y = shortlister.best(damped(self.X[start:stop]), self.method.shortlist), self.Y[start:stop]
            forbidden = self.forbidden
            if forbidden is not None:
                inside = (forbidden[:, 0] >= start) & (forbidden[:, 0] < stop)
                forbidden = forbidden[inside] - np.array([start, 0])
            return training_pairs(shortlist, Y, self.method.add_missed, forbidden), n_found(shortlist, Y)

        blocks, found = zip(*by_blocks(work, self.X.shape[0], "shortlisting"), strict=True)
        report("shortlisting", **{"shortlist recall": 100 * sum(found) / max(1, self.Y.nnz)})
        return sparse.csr_array(sparse.vstack(blocks))

    @property
    def _logistic(self) -> bool:
        return self.method.loss == "logistic"

    @property
    def _prior(self) -> float:
        return PRIOR[self.method.loss]

    def _scorer(
        self,
        shared: sparse.csr_array,
        own: sparse.csr_array | None = None,
        bias: np.ndarray | float = 0.0,
        factors: tuple[float, float] | None = None,
        Z: sparse.csr_array | None = None,
    ) -> Scorer:
        n_labels = self.Y.shape[1]
        return Scorer.of(
            shared,
            self.features.matches,
            self.features.Z if Z is None else Z,
            own=sparse.csr_array((self.X.shape[1], n_labels), dtype=np.float32) if own is None else own,
            bias=np.broadcast_to(np.asarray(bias, np.float32), n_labels),
            is_seen=np.ones(n_labels, bool),
            factors=np.array([factors or (1.0, self.method.match_weight)] * 2),
        )

    def _refine(self, pairs: sparse.csr_array, start: sparse.csr_array) -> sparse.csr_array:
        visible = without_labels(pairs, self.roles.hidden)
        nothing = sparse.csr_array(start.shape, dtype=np.float32)
        offsets = self._scorer(nothing, bias=self._prior).of_pairs(self.X, pairs, "matching")
        held_out = self.roles.held_out
        problem = SharedProblem(
            to_rows(self.X),
            to_rows(self.features.Z),
            self.features.Z.shape[1],
            Pairs(to_rows(keep_entries(pairs, visible)), offsets[visible]),
            learn_from=np.flatnonzero(~held_out & ~self.roles.carries_hidden),
            stop_by=np.flatnonzero(held_out),
            logistic=self._logistic,
            rate=self.method.rate,
            batch=self.method.batch,
            seed=self.method.seed,
        )
        return problem.refine(start, self.method.epochs, self.method.patience, self.progress)

    def _own(
        self, pairs: sparse.csr_array, shared: sparse.csr_array, voted: Voted | None
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Own weights and the complete bias of each seen label."""
        offsets = self._scorer(shared, bias=self._prior).of_pairs(self.X, pairs, "scoring shared pairs", voted)
        method = self.method
        problem = OwnProblem(
            self.X,
            pairs,
            offsets,
            self._logistic,
            C=method.C,
            passes=method.passes,
            tolerance=method.tolerance,
            smallest=method.prune,
            keep=method.own_weights,
            seed=method.seed,
        )
        own, bias = problem.solve(self.features.identities, self.progress, "own")
        return own, bias + np.float32(self._prior)

    def _calibrated(
        self,
        pairs: sparse.csr_array,
        shared: sparse.csr_array,
        voted: Voted | None,
        own: sparse.csr_array,
        bias: np.ndarray,
    ) -> Learned:
        """`pairs` are those of the held-out documents."""
        rows = np.flatnonzero(self.roles.held_out)
        margins = self._scorer(shared, own, bias).of_pairs(
            self.X[rows], pairs, "calibrating", voted and voted.take(rows)
        )
        seen = Sample(margins[:, None], pairs.data > 0, np.ones(pairs.nnz))
        factors = np.array([(1.0, self.method.match_weight)] * 2)
        hidden, share = self._hidden_sample(shared, voted)
        factors, unseen_bias = calibrate(seen, hidden, factors, self._prior)
        return Learned(shared, own, bias, factors, unseen_bias, share)

    def _hidden_sample(self, shared: sparse.csr_array, voted: Voted | None) -> tuple[Sample, float]:
        """All hidden labels for the documents that carry one, and for held-out documents as a sample of the others.

        The second result is how much they borrow.
        """
        roles, hidden = self.roles, self.roles.hidden
        carriers = np.flatnonzero(roles.carries_hidden)[:MOST_HELD_OUT]
        others = np.flatnonzero(roles.held_out & ~roles.carries_hidden)
        rows = np.concatenate([carriers, others])
        n_documents = np.count_nonzero(~roles.carries_hidden)
        stands_for = np.concatenate([np.ones(len(carriers)), np.full(len(others), n_documents / max(1, len(others)))])
        shape, n = (len(rows), self.Y.shape[1]), len(rows) * len(hidden)
        all_hidden = sparse.csr_array(
            (np.ones(n, np.int8), np.tile(hidden, len(rows)), np.arange(len(rows) + 1) * len(hidden)), shape=shape
        )
        X, voted = self.X[rows], voted and voted.take(rows)
        relevant, weights = self.Y[rows][:, hidden].toarray().ravel() > 0, np.repeat(stands_for, len(hidden))

        def sample(*features: tuple[sparse.csr_array, tuple[float, float]]) -> Sample:
            columns = [
                self._scorer(shared, factors=factors, Z=Z).of_pairs(X, all_hidden, "calibrating", voted)
                for Z, factors in features
            ]
            return Sample(np.column_stack(columns), relevant, weights)

        by_pairs, by_matches = (1.0, 0.0), (0.0, 1.0)
        share = borrowing_share(sample((self.features.Z, by_matches), (self.borrowed, by_matches)))
        Z = sparse.csr_array(self.features.Z + np.float32(share) * self.borrowed)
        return sample((Z, by_pairs), (Z, by_matches)), share
