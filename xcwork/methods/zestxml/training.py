"""The stages of ZestXML-tuned after XHTP: shortlist, shared pairs, own weights, calibration of unseen labels.

Every stage starts from the scores of the ones before it, so its weights only have to explain what is left. For this the
scores must be honest: XHTP has counted the very documents that are now learned from, so their own votes are taken out
of every weight first (v becomes v (n - own) / n). Without that, the pairs would look far better on training documents
than they are, and what comes after would lean on them.

Some documents validate: refinement stops by them, and they tell how margins translate into probabilities. Some labels
are hidden, as stand-ins for unseen ones (see `unseen`); documents that have one do not refine shared pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve_device_kind
from xcwork.compute.parallel import map_row_blocks
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.split import Split
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.kernels.bilinear_training import LabelledPairs
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.pair_svm import PairSVM, PairSvmSettings
from xcwork.methods.common.training_pairs import collect_training_pairs, find_pairs_without
from xcwork.methods.model import Params
from xcwork.methods.zestxml.borrow import find_borrowed_terms, find_typical_terms
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.refine import SharedProblem
from xcwork.methods.zestxml.refined_weights import RefinedWeights
from xcwork.methods.zestxml.scorer import DocumentVotes, PairScorer
from xcwork.methods.zestxml.shortlist import Shortlister, count_found, prepare_documents
from xcwork.methods.zestxml.unseen import (
    CalibrationSample,
    calibrate_unseen,
    choose_pseudo_unseen,
    fit_borrowing_share,
)
from xcwork.methods.zestxml.xhtp import PairStatistics, find_pairs
from xcwork.progress import report
from xcwork.sparse import keep_entries, to_rows

# More would not make the calibration any better.
MAX_HIDDEN_LABELS = 500
MAX_VALIDATION_DOCUMENTS = 10_000
PRIOR_SCORE_BY_LOSS = {"squared hinge": -1.0, "logistic": -3.0}  # the score of a label without any evidence


@dataclass(frozen=True, eq=False)
class Roles:
    """Who takes part in what."""

    hidden: np.ndarray  # ids of the labels that stand in for unseen ones
    has_hidden: np.ndarray  # (n_documents,) bool: which documents have such a label
    validates: np.ndarray  # (n_documents,) bool

    @classmethod
    def from_split(cls, train: Split, params: Params) -> Roles:
        """Draw the labels to hide and the documents to validate on."""
        hidden = choose_pseudo_unseen(train.label_frequencies, params.pseudo_unseen, params.seed)[:MAX_HIDDEN_LABELS]
        n_wanted = min(round(params.validation * len(train)), MAX_VALIDATION_DOCUMENTS, len(train) - 1)
        drawn = np.random.default_rng([params.seed, 2]).permutation(len(train))[:n_wanted]
        validates = np.zeros(len(train), bool)
        validates[keep_groups_whole(drawn, find_groups_sharing_labels(train))] = True
        return cls(hidden, np.asarray(train.Y[:, hidden].sum(axis=1)).ravel() > 0, validates)


def count_pairs(
    X: sparse.csr_array, Y: sparse.csr_array, label_features: LabelFeatures, roles: Roles, params: Params
) -> PairStatistics:
    """Return what XHTP counts; the terms of hidden labels do not vote, or these would not stand for unseen ones."""
    Z = label_features.Z
    if params.variant == "tuned":
        label = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
        Z = keep_entries(Z, ~np.isin(label, roles.hidden) | (Z.indices < len(label_features.identities)))
    device = resolve_device_kind(params.device)
    return find_pairs(
        X,
        Y,
        Z,
        keep=params.pairs,
        blend=params.blend,
        epsilon=params.epsilon,
        plain=params.plain,
        device=device,
    )


@dataclass(frozen=True, eq=False)
class Refinement:
    """One training of the variant `tuned`: the data in the form the stages need."""

    params: Params
    X: sparse.csr_array  # (n_documents, n_features), unit rows
    Y: sparse.csr_array  # (n_documents, n_labels)
    forbidden: np.ndarray | None  # (n, 2): pairs that are never predicted
    label_features: LabelFeatures
    roles: Roles
    progress: TrainingProgress

    def run(self, statistics: PairStatistics) -> RefinedWeights:
        """Go through all stages, starting from what XHTP has counted."""
        typical, borrowed = self._borrow_terms()
        # The XHTP weights of terms, which labels share, without those of identities; and who voted for them.
        is_term = statistics.voters.indices >= len(self.label_features.identities)
        shared = keep_entries(statistics.voters, is_term) * np.float32(self.params.trust)
        voted: DocumentVotes | None = DocumentVotes(statistics.counts[is_term], statistics.votes, self.params.plain)
        pairs = self._collect_pairs(statistics.voters)
        if self.params.epochs and shared.nnz:
            # Refined weights are no longer a share of votes, so there is nothing that could be taken out of them.
            shared = self._refine_shared(pairs, shared)
            voted = None
        own, bias = self._train_own(pairs, shared, voted)
        seen = self._sample_seen(pairs, shared, voted, own, bias)
        hidden, borrowing_share = self._sample_hidden(shared, voted, borrowed)
        factors = np.array([(1.0, self.params.match_weight)] * 2)
        factors, unseen_bias = calibrate_unseen(seen, hidden, factors, self._prior)
        is_seen = self.label_features.is_seen
        of_unseen = keep_entries(borrowed, ~np.repeat(is_seen, np.diff(borrowed.indptr)))
        return RefinedWeights(
            shared=shared,
            own=own,
            bias=np.where(is_seen, bias, unseen_bias).astype(np.float32),
            factors=factors,
            unseen_bias=unseen_bias,
            typical=typical,
            borrowed=of_unseen * np.float32(borrowing_share),
            borrowing_share=borrowing_share,
        )

    @property
    def _is_logistic(self) -> bool:
        return self.params.loss == "logistic"

    @property
    def _prior(self) -> float:
        return PRIOR_SCORE_BY_LOSS[self.params.loss]

    def _borrow_terms(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return typical documents and what unseen and hidden labels can borrow, both (n_labels, n_label_features)."""
        lending = np.flatnonzero(~self.roles.has_hidden & self.params.borrow)
        typical = find_typical_terms(self.X[lending], self.Y[lending], self.label_features.matches)
        borrowers = np.union1d(np.flatnonzero(~self.label_features.is_seen), self.roles.hidden)
        return typical, find_borrowed_terms(self.label_features.Z, borrowers, typical)

    def _collect_pairs(self, voters: sparse.csr_array) -> sparse.csr_array:
        """Return the pairs to learn from, (n_documents, n_labels); never all shortlists exist together."""
        identities = self.label_features.identities
        shortlister = Shortlister.from_votes(voters, self.label_features, identities, self.params)

        def collect_block(start: int, stop: int) -> tuple[sparse.csr_array, int]:
            shortlist = shortlister.find(prepare_documents(self.X[start:stop]), self.params.shortlist)
            Y = self.Y[start:stop]
            forbidden = self.forbidden
            if forbidden is not None:
                inside = (forbidden[:, 0] >= start) & (forbidden[:, 0] < stop)
                forbidden = forbidden[inside] - np.array([start, 0])
            pairs = collect_training_pairs(shortlist, Y, self.params.add_missed, forbidden)
            return pairs, count_found(shortlist, Y)

        blocks, found = zip(*map_row_blocks(collect_block, self.X.shape[0], "shortlisting"), strict=True)
        report("shortlisting", **{"shortlist recall": 100 * sum(found) / max(1, self.Y.nnz)})
        return sparse.csr_array(sparse.vstack(blocks))

    def _make_scorer(
        self,
        shared: sparse.csr_array,
        own: sparse.csr_array | None = None,
        bias: np.ndarray | float = 0.0,
        factors: tuple[float, float] | None = None,
        Z: sparse.csr_array | None = None,
    ) -> PairScorer:
        """Return a scorer that treats all labels as seen; without `factors`, matches count by their usual weight."""
        n_labels = self.Y.shape[1]
        return PairScorer.from_weights(
            shared,
            self.label_features.matches,
            self.label_features.Z if Z is None else Z,
            own=sparse.csr_array((self.X.shape[1], n_labels), dtype=np.float32) if own is None else own,
            bias=np.broadcast_to(np.asarray(bias, np.float32), n_labels),
            is_seen=np.ones(n_labels, bool),
            factors=np.array([factors or (1.0, self.params.match_weight)] * 2),
        )

    def _refine_shared(self, pairs: sparse.csr_array, start: sparse.csr_array) -> sparse.csr_array:
        """Return the weights of pairs that labels share, trained from `start` (n_features, n_label_features)."""
        visible = find_pairs_without(pairs, self.roles.hidden)
        nothing = sparse.csr_array(start.shape, dtype=np.float32)
        offsets = self._make_scorer(nothing, bias=self._prior).score_pairs(self.X, pairs, "matching")
        problem = SharedProblem(
            to_rows(self.X),
            to_rows(self.label_features.Z),
            self.label_features.Z.shape[1],
            LabelledPairs(to_rows(keep_entries(pairs, visible)), offsets[visible]),
            learn_from=np.flatnonzero(~self.roles.validates & ~self.roles.has_hidden),
            stop_by=np.flatnonzero(self.roles.validates),
            logistic=self._is_logistic,
            learning_rate=self.params.learning_rate,
            batch_size=self.params.batch_size,
            seed=self.params.seed,
        )
        return problem.refine(start, self.params.epochs, self.params.patience, self.progress)

    def _train_own(
        self, pairs: sparse.csr_array, shared: sparse.csr_array, voted: DocumentVotes | None
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Return own weights and the complete bias of each seen label, from the documents that do not validate."""
        pairs = keep_entries(pairs, np.repeat(~self.roles.validates, np.diff(pairs.indptr)))
        scorer = self._make_scorer(shared, bias=self._prior)
        offsets = scorer.score_pairs(self.X, pairs, "scoring shared pairs", voted)
        settings = PairSvmSettings(
            C=self.params.C,
            max_passes=self.params.max_passes,
            tolerance=self.params.tolerance,
            prune=self.params.prune,
            max_weights=self.params.max_weights,
            seed=self.params.seed,
            logistic=self._is_logistic,
        )
        machines = PairSVM(self.X, pairs, offsets, settings, self.params.device)
        own, bias = machines.solve(self.label_features.identities, self.progress, "own")
        return own, bias + np.float32(self._prior)

    def _sample_seen(
        self,
        pairs: sparse.csr_array,
        shared: sparse.csr_array,
        voted: DocumentVotes | None,
        own: sparse.csr_array,
        bias: np.ndarray,
    ) -> CalibrationSample:
        """Return the margins of the pairs of validation documents."""
        rows = np.flatnonzero(self.roles.validates)
        pairs = pairs[rows]
        scorer = self._make_scorer(shared, own, bias)
        margins = scorer.score_pairs(self.X[rows], pairs, "calibrating", voted and voted.take(rows))
        return CalibrationSample(margins[:, None], pairs.data > 0, np.ones(pairs.nnz))

    def _sample_hidden(
        self, shared: sparse.csr_array, voted: DocumentVotes | None, borrowed: sparse.csr_array
    ) -> tuple[CalibrationSample, float]:
        """Return the scores of all hidden labels and how much they borrow.

        They are scored for the documents that have one, and for validation documents as a sample of the others.
        """
        roles = self.roles
        hidden = roles.hidden
        having = np.flatnonzero(roles.has_hidden)[:MAX_VALIDATION_DOCUMENTS]
        others = np.flatnonzero(roles.validates & ~roles.has_hidden)
        rows = np.concatenate([having, others])
        n_documents = np.count_nonzero(~roles.has_hidden)
        stands_for = np.concatenate([np.ones(len(having)), np.full(len(others), n_documents / max(1, len(others)))])
        n_pairs = len(rows) * len(hidden)
        all_hidden = sparse.csr_array(
            (np.ones(n_pairs, np.int8), np.tile(hidden, len(rows)), np.arange(len(rows) + 1) * len(hidden)),
            shape=(len(rows), self.Y.shape[1]),
        )
        X = self.X[rows]
        voted = voted and voted.take(rows)
        relevant = self.Y[rows][:, hidden].toarray().ravel() > 0
        weights = np.repeat(stands_for, len(hidden))

        def sample(*features: tuple[sparse.csr_array, tuple[float, float]]) -> CalibrationSample:
            columns = [
                self._make_scorer(shared, factors=factors, Z=Z).score_pairs(X, all_hidden, "calibrating", voted)
                for Z, factors in features
            ]
            return CalibrationSample(np.column_stack(columns), relevant, weights)

        by_pairs = (1.0, 0.0)
        by_matches = (0.0, 1.0)
        Z = self.label_features.Z
        share = fit_borrowing_share(sample((Z, by_matches), (borrowed, by_matches)))
        Z = sparse.csr_array(Z + np.float32(share) * borrowed)
        return sample((Z, by_pairs), (Z, by_matches)), share
