"""The classifiers of a tree, node by node.

A document is at a node if it carries a label below; all documents are at the root. At a node, the classifier of a slot
tells the documents with a label below that slot from the others at the node, with the support vector machine of
`xcwork.kernels.svm`. Nodes are independent of each other. Each copies its documents, with their features renumbered,
and solves the problems of all its slots on that copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import block_map
from xcwork.core.split import Split
from xcwork.kernels import tree_training
from xcwork.kernels.svm_batch import by_inner_products, from_negatives, one_by_one
from xcwork.methods.label_tree.forest import Classifiers, Forest, Shape, labels_below
from xcwork.sparse import Rows, keep_entries, normalise_rows, order_by_frequency, to_rows

LEAST_ENTRY = 0.01  # smaller entries of a unit centroid are most of its entries and hardly change a similarity
MOST_SLOTS = 128  # whose weights are in memory before they are pruned
FEW_SLOTS = 8  # too few to pay for the inner products of all pairs of documents
FEW_DOCUMENTS = 5000  # whose inner products take 100 MB
FEW_A_TERM = 25  # documents for each term of one: with more, a step over the terms is shorter than one over documents
MAX_SWEEPS = 200  # descent by inner products has cheap ones
MAX_ROUNDS = 30  # of working sets


class Node(NamedTuple):
    """What a worker has to know to train a node."""

    labels: list[np.ndarray]  # those below each slot
    is_root: bool
    random: np.uint64


@dataclass(frozen=True)
class Trainer:
    """Trains the nodes of trees over the documents of one split."""

    rows: Rows  # (n_documents, n_features), unit rows, features ordered by frequency
    columns: np.ndarray  # (n_features,): the original feature behind each renumbered one
    carriers: sparse.csr_array  # (n_labels, n_documents)
    C: float
    tolerance: float
    max_passes: int
    prune: float

    @classmethod
    def of(cls, train: Split, **settings: float) -> Trainer:
        X, columns = order_by_frequency(normalise_rows(train.X))
        return cls(to_rows(X), columns, sparse.csr_array(train.Y.T), **settings)

    @property
    def n_documents(self) -> int:
        return self.carriers.shape[1]

    def centroids(self) -> Rows:
        """The unit sum of every label's documents without its small entries, (n_labels, n_features)."""
        X = sparse.csr_array(self.rows, shape=(self.n_documents, len(self.columns)))
        sums = normalise_rows(self.carriers @ X)
        return to_rows(normalise_rows(keep_entries(sums, sums.data >= LEAST_ENTRY)))

    def train(self, shape: Shape, seed: Sequence[int], phase: str) -> Forest:
        """The classifiers of all nodes of a tree."""
        nodes = range(shape.n_nodes)
        below = labels_below(shape.first_slot, shape.targets, nodes)

        def described(node: int) -> Node:
            targets = shape.targets[shape.slots(node)]
            labels = [np.array([~target]) if target < 0 else below[target] for target in targets.tolist()]
            return Node(labels, node == 0, np.random.SeedSequence((*seed, node)).generate_state(1, np.uint64)[0])

        carried = np.diff(self.carriers.indptr)
        largest_first = sorted(nodes, key=lambda node: -carried[below[node]].sum())  # so that no core is left waiting
        results = block_map(_train_node, self, [described(node) for node in largest_first], phase, light=True)
        trained = dict(zip(largest_first, results, strict=True))
        return Forest.of_tree(shape, [trained[node] for node in nodes], len(self.columns))

    def _documents(self, labels: np.ndarray) -> np.ndarray:
        """The documents that carry one of the labels, in order."""
        starts, documents = self.carriers.indptr, self.carriers.indices
        return np.unique(np.concatenate([documents[starts[one] : starts[one + 1]] for one in labels.tolist()]))

    def train_node(self, node: Node) -> Classifiers:
        """The classifiers of all slots of a node."""
        positives = [self._documents(labels) for labels in node.labels]
        everyone = np.arange(self.n_documents)
        documents = everyone if node.is_root else self._documents(np.concatenate(node.labels))
        local, features = tree_training.gather(self.rows, len(self.columns), documents)
        weights, biases = [], []
        for start in range(0, len(positives), MOST_SLOTS):
            some = positives[start : start + MOST_SLOTS]
            positive = np.zeros((len(some), len(documents)), bool)
            for slot, carrying in enumerate(some):
                positive[slot, np.searchsorted(documents, carrying)] = True
            dense, bias = self._solve(local, len(features), positive, node.random | np.uint64(1))
            starts, slots, values = tree_training.by_feature(dense, np.float32(self.prune))
            weights.append(sparse.csr_array((values, slots, starts), shape=(len(features), len(some))))
            biases.append(bias)
        rows = sparse.csr_array(sparse.hstack(weights)) if len(weights) > 1 else weights[0]
        used = np.flatnonzero(np.diff(rows.indptr))
        return Classifiers(self.columns[features[used]], rows[used], np.concatenate(biases))

    def _solve(
        self, local: Rows, n_features: int, positive: np.ndarray, random: np.uint64
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weights (n_slots, n_features) and biases (n_slots,) of some slots, by the quickest way."""
        problem = (local, n_features, positive, self.C, self.tolerance)
        if len(positive) <= FEW_SLOTS:
            return one_by_one(*problem, self.max_passes, random)
        n_documents = positive.shape[1]
        if n_documents <= FEW_DOCUMENTS and n_documents**2 <= FEW_A_TERM * len(local.data):
            return by_inner_products(*problem, MAX_SWEEPS, random)
        return from_negatives(*problem, MAX_ROUNDS, random)


def _train_node(trainer: Trainer, node: Node) -> Classifiers:
    return trainer.train_node(node)
