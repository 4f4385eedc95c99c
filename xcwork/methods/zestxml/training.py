"""The stages of ZestXML-tuned after XHTP: shortlist, shared pairs, own weights, calibration of unseen labels.

How much terms in common say about seen labels is measured before anything is learned (see `match_weight`).

Every stage starts from the scores of the ones before it, so its weights only have to explain what is left. For this the
scores must be honest: XHTP has counted the very documents that are now learned from, so their own votes are taken out
of every weight first (v becomes v (n - own) / n). Without that, the pairs would look far better on training documents
than they are, and what comes after would lean on them.

Some documents validate: refinement stops by them, and they tell how margins translate into probabilities. Labels with
one document stand in for unseen ones (see `unseen`). With few documents many have to validate, so labels that these
would teach something are solved again with all documents once the calibration is done.

`refined=pairs` is the paper's own second step instead: one problem over all pairs of the support (see `refine`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import map_row_blocks
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.split import Split, take_pairs
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.kernels.bilinear_training import LabelledPairs
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.pair_svm import PairSVM, PairSvmSettings
from xcwork.methods.common.sparse_torch import find_accelerator
from xcwork.methods.common.training_pairs import collect_training_pairs
from xcwork.methods.model import Params
from xcwork.methods.zestxml.label_features import LabelFeatures
from xcwork.methods.zestxml.match_weight import SAMPLED_DOCUMENTS, fit_match_weight
from xcwork.methods.zestxml.refine import SharedProblem
from xcwork.methods.zestxml.refined_weights import RefinedWeights
from xcwork.methods.zestxml.scorer import DocumentVotes, PairScorer
from xcwork.methods.zestxml.shortlist import Shortlister, count_found, join_shortlists, prepare_documents
from xcwork.methods.zestxml.stand_ins import StandIns
from xcwork.methods.zestxml.unseen import CalibrationSample, calibrate_unseen, choose_stand_ins, fit_borrowing_share
from xcwork.methods.zestxml.xhtp import PairStatistics, find_pairs
from xcwork.progress import report
from xcwork.sparse import keep_entries, replace_values, to_rows

MAX_VALIDATION_DOCUMENTS = 10_000  # more would not make the calibration any better
MIN_VALIDATION_DOCUMENTS = 400  # where there are unseen labels to calibrate
MAX_VALIDATION_SHARE = 0.1  # even where that is fewer than the minimum
PRIOR_SCORE_BY_LOSS = {"squared hinge": -1.0, "logistic": -3.0}  # the score of a label without any evidence


@dataclass(frozen=True, eq=False)
class Roles:
    """Who takes part in what."""

    stand_ins: np.ndarray  # ids of the labels that stand in for unseen ones, ascending
    validates: np.ndarray  # (n_documents,) bool
    learns_later: bool  # whether validation documents teach something when the calibration is done

    @classmethod
    def from_split(cls, train: Split, params: Params) -> Roles:
        """Choose the labels that stand in for unseen ones and draw the documents to validate on."""
        n_usual = round(params.validation * len(train))
        n_wanted = min(n_usual, MAX_VALIDATION_DOCUMENTS, len(train) - 1)
        if n_usual and params.refined == "own" and (train.label_frequencies == 0).any():
            n_wanted = max(n_wanted, min(MIN_VALIDATION_DOCUMENTS, int(MAX_VALIDATION_SHARE * len(train))))
        drawn = np.random.default_rng([params.seed, 2]).permutation(len(train))[:n_wanted]
        validates = np.zeros(len(train), bool)
        validates[keep_groups_whole(drawn, find_groups_sharing_labels(train))] = True
        return cls(choose_stand_ins(train.label_frequencies), validates, n_wanted > n_usual)


def count_pairs(X: sparse.csr_array, Y: sparse.csr_array, Z: sparse.csr_array, params: Params) -> PairStatistics:
    """Return what XHTP counts."""
    accelerator = find_accelerator(params.device)
    return find_pairs(
        X,
        Y,
        Z,
        keep=params.pairs,
        blend=params.blend,
        epsilon=params.epsilon,
        smoothing=params.smoothing,
        shift=params.shift,
        columns=params.columns,
        plain=params.plain,
        device=None if accelerator is None else accelerator.type,
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
        if self.params.refined == "pairs":
            pairs = self._collect_pairs([self._list_by_votes(statistics.voters, self.params.match_weight)])
            start = replace_values(statistics.voters, np.zeros(statistics.voters.nnz, np.float32))
            shared, level = self._refine_shared(pairs, start, np.zeros(pairs.nnz, np.float32), l2=True)
            return RefinedWeights.from_pairs(shared, level, self.Y.shape[1])
        # The XHTP weights of terms, which labels share, without those of identities; and who voted for them.
        is_term = statistics.voters.indices >= len(self.label_features.identities)
        shared = keep_entries(statistics.voters, is_term) * np.float32(self.params.trust)
        voted: DocumentVotes | None = DocumentVotes(statistics.counts[is_term], statistics.votes, self.params.plain)
        pairs, match_weight = self._collect_own_pairs(statistics.voters, shared, voted)
        as_seen = 1.0, match_weight
        if self.params.epochs and shared.nnz:
            # Refined weights are no longer a share of votes, so there is nothing that could be taken out of them.
            nothing = sparse.csr_array(shared.shape, dtype=np.float32)
            offsets = self._make_scorer(nothing, as_seen, bias=self._prior).score_pairs(self.X, pairs, "matching")
            shared, _ = self._refine_shared(pairs, shared, offsets, l2=False)
            voted = None
        validates = self.roles.validates
        identities = self.label_features.identities
        own, bias = self._train_own(
            pairs, ~validates, identities, self._make_scorer(shared, as_seen, bias=self._prior), voted, "own"
        )
        seen = self._sample_seen(pairs, self._make_scorer(shared, as_seen, own, bias), voted)
        stand_ins = StandIns.from_training(
            self.X, self.Y, self.forbidden, self.label_features, self.roles.stand_ins, validates, self.params
        )
        typical, borrowed, unseen, share = self._sample_unseen(stand_ins, statistics.voters, shared, voted)
        # Where nothing says how far unseen labels can be trusted, matches count as usual, whatever seen labels learned.
        factors = np.array([as_seen, (1.0, self.params.match_weight)])
        factors, unseen_bias = calibrate_unseen(seen, unseen, factors, self._prior)
        if self.roles.learns_later:
            again = np.unique(self.Y[validates].indices)
            everyone = np.ones(len(validates), bool)
            more, more_bias = self._train_own(
                pairs, everyone, again, self._make_scorer(shared, as_seen, bias=self._prior), voted, "own again"
            )
            kept = np.setdiff1d(identities, again)
            own = sparse.csr_array(keep_columns(own, kept) + more)
            bias[again] = more_bias[again]
        is_seen = self.label_features.is_seen
        return RefinedWeights(
            shared=shared,
            own=own,
            bias=np.where(is_seen, bias, unseen_bias).astype(np.float32),
            factors=factors,
            unseen_bias=unseen_bias,
            typical=typical,
            borrowed=borrowed * np.float32(share),
            borrowing_share=share,
        )

    @property
    def _is_logistic(self) -> bool:
        return self.params.loss == "logistic"

    @property
    def _prior(self) -> float:
        return PRIOR_SCORE_BY_LOSS[self.params.loss]

    def _collect_own_pairs(
        self, voters: sparse.csr_array, shared: sparse.csr_array, voted: DocumentVotes | None
    ) -> tuple[sparse.csr_array, float]:
        """Return the pairs to learn own weights from, and how much matches count for labels seen in training."""
        others: list[tuple[Shortlister, int]] = []
        if size := self.params.nearest_shortlist:
            others.append((Shortlister.from_documents(self.X, self.Y, self.label_features.identities), size))
        usual = self.params.match_weight
        n_documents = self.X.shape[0]
        rows = np.unique(np.linspace(0, n_documents - 1, min(n_documents, SAMPLED_DOCUMENTS)).astype(np.int64))
        forbidden = None if self.forbidden is None else take_pairs(self.forbidden, rows, n_documents)
        sample = replace(self, X=self.X[rows], Y=self.Y[rows], forbidden=forbidden)
        pairs = sample._collect_pairs([self._list_by_votes(voters, usual), *others])
        scores = [
            self._make_scorer(shared, factors).score_pairs(
                sample.X, pairs, "weighing matches", voted and voted.take(rows)
            )
            for factors in ((1.0, 0.0), (0.0, 1.0))
        ]
        weight = fit_match_weight(np.column_stack(scores), pairs.data > 0, usual)
        return self._collect_pairs([self._list_by_votes(voters, weight), *others]), weight

    def _list_by_votes(self, voters: sparse.csr_array, match_weight: float) -> tuple[Shortlister, int]:
        """Return the shortlister of seen labels by XHTP and matches, and how many labels it contributes."""
        identities = self.label_features.identities
        lister = Shortlister.from_votes(voters, self.label_features, identities, self.params, match_weight)
        return lister, self.params.shortlist

    def _collect_pairs(self, listers: list[tuple[Shortlister, int]]) -> sparse.csr_array:
        """Return the pairs to learn from, (n_documents, n_labels); never all shortlists exist together."""

        def collect_block(start: int, stop: int) -> tuple[sparse.csr_array, int]:
            documents = prepare_documents(self.X[start:stop])
            shortlist = join_shortlists([lister.find(documents, size) for lister, size in listers])
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
        factors: tuple[float, float],
        own: sparse.csr_array | None = None,
        bias: np.ndarray | float = 0.0,
        Z: sparse.csr_array | None = None,
    ) -> PairScorer:
        """Return a scorer that treats all labels alike; `factors` say how much pairs and matches count."""
        n_labels = self.Y.shape[1]
        return PairScorer.from_weights(
            shared,
            self.label_features.matches,
            self.label_features.Z if Z is None else Z,
            own=sparse.csr_array((self.X.shape[1], n_labels), dtype=np.float32) if own is None else own,
            bias=np.broadcast_to(np.asarray(bias, np.float32), n_labels),
            is_seen=np.ones(n_labels, bool),
            factors=np.array([factors] * 2),
        )

    def _refine_shared(
        self, pairs: sparse.csr_array, start: sparse.csr_array, offsets: np.ndarray, l2: bool
    ) -> tuple[sparse.csr_array, float]:
        """Return the weights of pairs on the support of `start` (n_features, n_label_features), and their bias."""
        learn_from = np.flatnonzero(~self.roles.validates)
        cost = 1 / (self.params.C * np.maximum(1, np.bincount(self.X[learn_from].indices, minlength=self.X.shape[1])))
        problem = SharedProblem(
            to_rows(self.X),
            to_rows(self.label_features.Z),
            self.label_features.Z.shape[1],
            LabelledPairs(to_rows(pairs), offsets),
            learn_from=learn_from,
            stop_by=np.flatnonzero(self.roles.validates),
            decay=(cost if l2 else np.zeros(len(cost))).astype(np.float32),
            bias_decay=1 / (self.params.C * max(1, len(learn_from))) if l2 else None,
            logistic=self._is_logistic,
            learning_rate=self.params.learning_rate,
            batch_size=self.params.batch_size,
            seed=self.params.seed,
        )
        return problem.refine(start, self.params.epochs, self.params.patience, self.progress)

    def _train_own(
        self,
        pairs: sparse.csr_array,
        learns: np.ndarray,
        labels: np.ndarray,
        scorer: PairScorer,
        voted: DocumentVotes | None,
        name: str,
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Return own weights and the complete bias of `labels`, from the documents that `learns` marks."""
        keep = np.repeat(learns, np.diff(pairs.indptr))
        if len(labels) < len(self.label_features.identities):
            keep &= np.isin(pairs.indices, labels)
        pairs = keep_entries(pairs, keep)
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
        own, bias = machines.solve(labels, self.progress, name)
        return own, bias + np.float32(self._prior)

    def _sample_seen(
        self,
        pairs: sparse.csr_array,
        scorer: PairScorer,
        voted: DocumentVotes | None,
    ) -> CalibrationSample:
        """Return the margins of the pairs of validation documents, of labels that other documents have taught."""
        rows = np.flatnonzero(self.roles.validates)
        is_taught = np.bincount(self.Y[~self.roles.validates].indices, minlength=self.Y.shape[1]) > 0
        pairs = pairs[rows]
        pairs = keep_entries(pairs, is_taught[pairs.indices])
        margins = scorer.score_pairs(self.X[rows], pairs, "calibrating", voted and voted.take(rows))
        return CalibrationSample(margins[:, None], pairs.data > 0, np.ones(pairs.nnz))

    def _sample_unseen(
        self, stand_ins: StandIns, voters: sparse.csr_array, shared: sparse.csr_array, voted: DocumentVotes | None
    ) -> tuple[sparse.csr_array, sparse.csr_array, CalibrationSample, float]:
        """Return typical documents, what unseen labels can borrow, the scores of stand-ins and how much they borrow."""
        typical, borrowed = stand_ins.borrow_terms()
        if voted is None:  # what has refined the pairs is no longer honest
            stand_ins = stand_ins.keep_validating()
        pairs = stand_ins.collect_pairs(
            Shortlister.from_votes(voters, self.label_features, stand_ins.others, self.params)
        )
        X = self.X[stand_ins.rows]
        voted = voted and voted.take(stand_ins.rows)
        weights = np.repeat(stand_ins.stands_for, np.diff(pairs.indptr))

        def sample(*features: tuple[sparse.csr_array, tuple[float, float]]) -> CalibrationSample:
            columns = [
                self._make_scorer(shared, factors, Z=Z).score_pairs(X, pairs, "calibrating", voted)
                for Z, factors in features
            ]
            return CalibrationSample(np.column_stack(columns), pairs.data > 0, weights)

        by_pairs = (1.0, 0.0)
        by_matches = (0.0, 1.0)
        Z = self.label_features.Z
        share = fit_borrowing_share(sample((Z, by_matches), (borrowed, by_matches))) if self.params.borrow else 0.0
        extended = sparse.csr_array(Z + np.float32(share) * borrowed)
        of_unseen = keep_entries(borrowed, ~np.repeat(self.label_features.is_seen, np.diff(borrowed.indptr)))
        return typical, of_unseen, sample((extended, by_pairs), (extended, by_matches)), share


def keep_columns(matrix: sparse.csr_array, columns: np.ndarray) -> sparse.csr_array:
    """Return the matrix with nothing outside `columns`."""
    keep = np.zeros(matrix.shape[1], bool)
    keep[columns] = True
    return keep_entries(matrix, keep[matrix.indices])
