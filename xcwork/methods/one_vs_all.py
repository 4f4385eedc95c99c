"""One-vs-all: every label gets a linear classifier that tells its documents from all others.

    s(x, l) = w_l · x / ‖x‖ + b_l

with (w_l, b_l) the L2-regularised support vector machine with squared hinge loss of `xcwork.kernels.linear`. All
documents without the label are negatives and none is sampled away, which is why this is the accurate and costly
reference that faster methods approximate. Weights too small to matter are dropped afterwards, as in DiSMEC.

What keeps it affordable:

- A label that no document carries has almost the same solution for all labels: w ≈ 0, b ≈ -1. It is computed once,
  and every label starts from it, so only the documents near its few positives have to move.
- Descent visits a working set; that it was enough is checked on all documents, for a block of labels at once.
- Features are renumbered by frequency while training, so that the weights used most share the processor's cache.

The score is the margin itself, so a term contributes value * weight and the parts, with the bias, are exact. A label
without training documents has no classifier and is never predicted. Blocks of labels are independent and every label
has its own random numbers: the result does not depend on threads, on the size of a block, or on being interrupted.

Cost: O(rounds * nnz(X)) a label for the checks, which run at full speed, plus the descent on some thousand documents.
Memory: one block of labels, below about 256 MB, beside the data and the model.

Reference: Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML 2008; Babbar and Schölkopf,
DiSMEC, WSDM 2017 (pruning); Fang et al., Speeding-up one-vs-all training for extreme classification via mean-separating
initialization, 2022 (starting points).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import parallel_chunksize
from scipy import sparse

from xcwork.data.dataset import Split
from xcwork.errors import Cancelled, DataError
from xcwork.kernels import linear, one_at_a_time
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.layout import array, matrix, stored, with_gaps
from xcwork.methods.resume import Blocks, Progress
from xcwork.parallel import block_map
from xcwork.progress import batches
from xcwork.search import top_k_product
from xcwork.sparse import Rows, normalise_rows, order_by_frequency, renumber_columns, to_rows

log = logging.getLogger(__name__)

BLOCK_BYTES = 2**28
MOST_LABELS = 32  # a block of more labels no longer scores faster
PASSES = 5  # of descent between two looks at all documents
FINEST = 1e-5  # no tolerance below this can be told from rounding
NO_CLASSIFIER = -1.0  # the margin of a label that nothing speaks for
BATCH = 4096  # documents scored between two steps of progress


@dataclass(kw_only=True, eq=False)
class OneVsAll(Method):
    """One linear support vector machine a label, trained against all other documents."""

    C: float = param(1.0, "weight of the errors against the size of the weights", low=1e-4, high=1e4)
    tolerance: float = param(0.1, "largest violation of optimality that may remain", low=FINEST, high=1.0)
    prune: float = param(0.03, "weights smaller than this are dropped", low=0.0)
    max_rounds: int = param(30, "rounds of descent and check after which a label is given up", low=1, advanced=True)

    title = "One-vs-all"
    paper = "Babbar and Schölkopf, DiSMEC, WSDM 2017"
    capabilities = Capabilities(exact_explanations=True, resumable=True)
    layout = stored(weights_=matrix("features", "labels"), bias_=with_gaps(array("labels")))

    def _fit(self, train: Split) -> None:
        order = np.argsort(-self.label_frequencies_, kind="stable")  # labels of like cost share a block
        order = order[: np.count_nonzero(self.label_frequencies_)]
        if len(order) == 0:
            raise DataError("no training document carries a label, so there is nothing to learn")
        trainer = _Trainer.of(train, replace(self))  # the parameters alone, because it may travel to a cluster
        progress = Progress(self._checkpoint, train, self.get_params())
        classifiers, size = Blocks(progress, "classifiers"), trainer.block_size
        left = order[len(classifiers) :]  # less than all, where a checkpoint already has some
        blocks = [left[start : start + size] for start in range(0, len(left), size)]
        done = -(-len(order) // size) - len(blocks)
        if blocks:
            trainer.no_positives  # noqa: B018 - solved here once, not by every worker
        try:
            # A block keeps all cores busy by itself, so here they come one after the other.
            for trained in block_map(_train_block, trainer, blocks, "training classifiers", n_jobs=1, done=done):
                classifiers.add(*trained)
        except Cancelled:
            progress.save()
            raise
        weights, bias = classifiers.joined()
        self.bias_ = np.full(len(self.labels_), np.nan, np.float32)
        self.bias_[order] = bias
        self.weights_ = _by_feature(weights, order, len(self.labels_))  # (n_features, n_labels)

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        blocks = batches(X, BATCH, "scoring")
        return TopK.concatenate(
            [top_k_product(normalise_rows(x), self.weights_, k, start=self.bias_, among=among) for x in blocks]
        )

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        if np.isnan(self.bias_[label]):
            return Explanation.of([Part("(any document)", "no training document to learn from", NO_CLASSIFIER)])
        x = normalise_rows(x)
        weights = self.weights_[x.indices][:, [label]].toarray().ravel()  # (n_terms,)
        name = self.labels_.names[label]
        parts = [
            Part(self.features_.name(term), name, value * weight, {"weight": weight})
            for term, value, weight in zip(x.indices.tolist(), x.data.tolist(), weights.tolist(), strict=True)
            if weight
        ]
        return Explanation.of([*parts, Part("(any document)", "bias", float(self.bias_[label]))])

    def label_embeddings(self) -> sparse.csr_array:
        """The weights of each label's classifier."""
        return sparse.csr_array(self.weights_.T)


def _by_feature(weights: sparse.csr_array, labels: np.ndarray, n_labels: int) -> sparse.csr_array:
    """Rows of weights, row i that of labels[i], as a matrix (n_features, n_labels)."""
    return renumber_columns(sparse.csr_array(weights.T), labels.astype(np.int32), n_labels)


@dataclass(frozen=True)
class _Trainer:
    """Solves the problems of blocks of labels over the documents of one split."""

    rows: Rows
    columns: np.ndarray  # (n_features,): the original feature behind each renumbered one
    carriers: sparse.csr_array  # (n_labels, n_documents)
    curvature: np.ndarray  # (n_documents,)
    settings: OneVsAll

    @classmethod
    def of(cls, train: Split, settings: OneVsAll) -> _Trainer:
        X, columns = order_by_frequency(normalise_rows(train.X))
        curvature = (X.multiply(X).sum(axis=1) + 1 + 0.5 / settings.C).astype(np.float32)
        return cls(to_rows(X), columns, sparse.csr_array(train.Y.T), curvature, settings)

    @property
    def block_size(self) -> int:
        """Labels whose weights (twice), α, margins and signs fit into the memory of a block."""
        n_labels, n_documents = self.carriers.shape
        return int(np.clip(BLOCK_BYTES // (8 * len(self.columns) + 9 * n_documents), 1, min(MOST_LABELS, n_labels)))

    @cached_property
    def no_positives(self) -> linear.Block:
        """The solution for a label that no document carries, from which all others start."""
        n_documents = len(self.curvature)
        alpha = np.full(n_documents, 1 / n_documents, np.float32)
        X = sparse.csr_array(self.rows, shape=(n_documents, len(self.columns)))
        weights = -(X.T @ alpha)  # (n_features,)
        block = linear.Block(
            weights[None], np.full(1, -1, np.float32), alpha[None], np.zeros((1, n_documents), bool),
            np.zeros((1, n_documents), np.float32), _generators(self.settings.seed, np.array([-1])),
        )  # fmt: skip
        self._check(block, np.arange(1))
        # Solved well, because it is solved once and the better solution has fewer documents with α > 0.
        self._solve(block, max(self.settings.tolerance / 100, FINEST))
        self._check(block, np.arange(1))
        return block

    def train(self, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """The pruned weights (n_labels, n_features) and biases (n_labels,) of `labels`."""
        start = [np.repeat(part, len(labels), axis=0) for part in self.no_positives[:-1]]
        block = linear.Block(*start, random=_generators(self.settings.seed, labels))
        indices, indptr = self.carriers.indices, self.carriers.indptr
        for i, label in enumerate(labels):
            linear.turn_positive(self.rows, block, i, indices[indptr[label] : indptr[label + 1]])
        self._solve(block, self.settings.tolerance)
        label, column = np.nonzero((np.abs(block.weights) >= self.settings.prune) & (block.weights != 0))
        entries = (block.weights[label, column], (label, self.columns[column]))
        return sparse.csr_array(entries, shape=block.weights.shape), block.bias

    def _solve(self, block: linear.Block, tolerance: float) -> None:
        """Alternate descent and check until every label is within the tolerance."""
        live = np.arange(len(block.bias))
        for _ in range(self.settings.max_rounds):
            worst = np.empty(len(live), np.float32)
            with one_at_a_time, parallel_chunksize(1):  # labels differ in cost: a free thread takes the next one
                linear.improve(self.rows, self.curvature, block, live, self.settings.C, tolerance, PASSES, worst)
            live = live[worst > tolerance]
            if len(live) == 0:
                return
            self._check(block, live)
        log.info("%d of %d labels are not within the tolerance %g", len(live), len(block.bias), tolerance)

    def _check(self, block: linear.Block, live: np.ndarray) -> None:
        by_feature = np.ascontiguousarray(block.weights[live].T)  # (n_features, n_live)
        with one_at_a_time:
            linear.margins(self.rows, by_feature, block, live)


def _train_block(trainer: _Trainer, labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    return trainer.train(labels)


def _generators(seed: int, labels: np.ndarray) -> np.ndarray:
    """The state of one random generator a label, never zero."""
    states = [np.random.SeedSequence((seed, int(label) + 1)).generate_state(1, np.uint64)[0] for label in labels]
    return np.array(states, np.uint64) | np.uint64(1)
