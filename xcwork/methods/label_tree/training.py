"""Training: the shape of each tree, then the classifiers of its nodes.

A document is at a node if it has a label below; all documents are at the root. At a node, the classifier of a slot
tells the documents with a label below that slot from the others at the node, with the support vector machine of
`xcwork.kernels.svm`. Nodes are independent of each other. Each copies its documents, with their features renumbered,
and solves the problems of all its slots on that copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.compute.parallel import block_map
from xcwork.core.split import Split
from xcwork.errors import Cancelled
from xcwork.kernels import tree_training
from xcwork.kernels.svm_batch import solve_by_inner_products, solve_from_negatives, solve_one_by_one
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.label_tree.clustering import LabelClustering
from xcwork.methods.label_tree.forest import Forest, NodeClassifiers
from xcwork.methods.label_tree.hierarchy import read_given_tree
from xcwork.methods.label_tree.shape import TreeShape, find_labels_below
from xcwork.methods.model import Params
from xcwork.sparse import Rows, keep_entries, normalise_rows, order_by_frequency, to_rows

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    from xcwork.methods.common.linear_machines import TensorNodeTrainer

DEFAULT_BRANCHING = {"parabel": 2, "bonsai": 100}  # parts of a split
DEFAULT_MAX_DEPTH = {"parabel": 100, "bonsai": 2}  # splits; a balanced tree ends by itself
MIN_CENTROID_ENTRY = 0.01  # smaller ones are most of a unit centroid's entries and hardly change a similarity
MAX_SLOTS_PER_BLOCK = 128  # whose weights are in memory before they are pruned
MAX_SLOTS_ONE_BY_ONE = 8  # too few to pay for the inner products of all pairs of documents
MAX_DOCUMENTS_FOR_INNER_PRODUCTS = 5000  # whose inner products take 100 MB
MAX_DOCUMENTS_PER_TERM = 25  # for each term of one: with more, a step over the terms is shorter than one over documents
MAX_SWEEPS = 200  # of descent by inner products, which has cheap ones
MAX_ROUNDS = 30  # of working sets


def train_forest(train: Split, params: Params, checkpoint: Checkpoint | None) -> Forest:
    """Return the trained trees; finished ones are taken from `checkpoint`."""
    labels = np.flatnonzero(train.label_frequencies).astype(np.int32)
    progress = TrainingProgress(checkpoint, train, params)
    trainer = TreeTrainer.from_split(train, params)
    clustering = None if params.kind == "given" else make_clustering(trainer, params)
    trees = []
    try:
        for number in range(1 if params.kind == "given" else params.trees):
            name = f"tree {number + 1}"
            state = progress.get_state(name)
            if state is None:
                seed = (params.seed, number)
                if clustering is None:
                    shape = read_given_tree(train.labels, labels)
                else:
                    shape = clustering.grow_tree(labels, seed, f"growing {name}")
                tree = trainer.train(shape, seed, f"training {name}")
                progress.update(name, tree.to_state)
            trees.append(tree if state is None else Forest(**state))
    except Cancelled:
        progress.save()
        raise
    return Forest.from_trees(trees)


def make_clustering(trainer: TreeTrainer, params: Params) -> LabelClustering:
    """Return the clustering of the labels' centroids, with the usual width and depth of the kind if none are given."""
    return LabelClustering(
        trainer.compute_centroids(),
        n_features=len(trainer.columns),
        branching=params.branching or DEFAULT_BRANCHING[params.kind],
        balanced=params.kind == "parabel",
        leaf_size=params.leaf_size,
        max_depth=DEFAULT_MAX_DEPTH[params.kind] if params.max_depth is None else params.max_depth,
        device=params.device,
    )


def make_tensor_trainer(X: sparse.csr_array, params: Params) -> TensorNodeTrainer | None:
    """Return what trains the nodes on the device that the parameters name; None for compiled kernels on the CPU."""
    device = find_tensor_device(params.device)
    if device is None:
        return None
    from xcwork.kernels.tensor_machines import MachineSettings
    from xcwork.methods.common.linear_machines import TensorNodeTrainer

    return TensorNodeTrainer.from_matrix(X, MachineSettings(params.C, params.tolerance), params.prune, device)


class NodeTask(NamedTuple):
    """What a worker has to know to train a node."""

    labels: list[np.ndarray]  # those below each slot
    is_root: bool
    random: np.uint64


@dataclass(frozen=True)
class TreeTrainer:
    """Trains the nodes of trees over the documents of one split."""

    rows: Rows  # (n_documents, n_features), unit rows, features ordered by frequency
    columns: np.ndarray  # (n_features,): the original feature behind each renumbered one
    documents_of: sparse.csr_array  # (n_labels, n_documents)
    C: float
    tolerance: float
    max_passes: int
    prune: float
    tensors: TensorNodeTrainer | None  # None: compiled kernels solve

    @classmethod
    def from_split(cls, train: Split, params: Params) -> TreeTrainer:
        X, columns = order_by_frequency(normalise_rows(train.X))
        return cls(
            tensors=make_tensor_trainer(X, params),
            rows=to_rows(X),
            columns=columns,
            documents_of=sparse.csr_array(train.Y.T),
            C=params.C,
            tolerance=params.tolerance,
            max_passes=params.max_passes,
            prune=params.prune,
        )

    @property
    def n_documents(self) -> int:
        return self.documents_of.shape[1]

    def compute_centroids(self) -> Rows:
        """Return the unit sum of each label's documents without its small entries, (n_labels, n_features)."""
        X = sparse.csr_array(self.rows, shape=(self.n_documents, len(self.columns)))
        sums = normalise_rows(self.documents_of @ X)
        return to_rows(normalise_rows(keep_entries(sums, sums.data >= MIN_CENTROID_ENTRY)))

    def train(self, shape: TreeShape, seed: Sequence[int], phase: str) -> Forest:
        """Train the classifiers of all nodes of a tree."""
        nodes = range(shape.n_nodes)
        below = find_labels_below(shape.first_slot, shape.targets, nodes)

        def describe_node(node: int) -> NodeTask:
            targets = shape.targets[shape.find_slots(node)]
            labels = [np.array([~target]) if target < 0 else below[target] for target in targets.tolist()]
            return NodeTask(labels, node == 0, np.random.SeedSequence((*seed, node)).generate_state(1, np.uint64)[0])

        frequencies = np.diff(self.documents_of.indptr)
        largest_first = sorted(nodes, key=lambda node: -frequencies[below[node]].sum())  # so that no core has to wait
        tasks = [describe_node(node) for node in largest_first]
        here = self.tensors is not None
        n_jobs = 1 if here else -1  # one device does one thing after the other
        results = block_map(TreeTrainer.train_node, self, tasks, phase, light=True, n_jobs=n_jobs, here=here)
        trained = dict(zip(largest_first, results, strict=True))
        return Forest.from_tree(shape, [trained[node] for node in nodes], len(self.columns))

    def train_node(self, node: NodeTask) -> NodeClassifiers:
        """Train the classifiers of all slots of a node."""
        positives = [self._find_documents(labels) for labels in node.labels]
        everyone = np.arange(self.n_documents)
        documents = everyone if node.is_root else self._find_documents(np.concatenate(node.labels))
        if self.tensors is not None:
            return self._train_with_tensors(self.tensors, documents, positives)
        local, features = tree_training.gather_rows(self.rows, len(self.columns), documents)
        weights = []
        biases = []
        for start in range(0, len(positives), MAX_SLOTS_PER_BLOCK):
            some = positives[start : start + MAX_SLOTS_PER_BLOCK]
            positive = np.zeros((len(some), len(documents)), bool)
            for slot, having in enumerate(some):
                positive[slot, np.searchsorted(documents, having)] = True
            dense, bias = self._solve(local, len(features), positive, node.random | np.uint64(1))
            starts, slots, values = tree_training.group_by_feature(dense, np.float32(self.prune))
            weights.append(sparse.csr_array((values, slots, starts), shape=(len(features), len(some))))
            biases.append(bias)
        rows = sparse.csr_array(sparse.hstack(weights)) if len(weights) > 1 else weights[0]
        used = np.flatnonzero(np.diff(rows.indptr))
        return NodeClassifiers(self.columns[features[used]], rows[used], np.concatenate(biases))

    def _train_with_tensors(
        self, trainer: TensorNodeTrainer, documents: np.ndarray, positives: list[np.ndarray]
    ) -> NodeClassifiers:
        features, weights, bias = trainer.train(documents, positives, MAX_SLOTS_PER_BLOCK)
        return NodeClassifiers(self.columns[features], weights, bias)

    def _find_documents(self, labels: np.ndarray) -> np.ndarray:
        """Return the documents that have one of the labels, in order."""
        starts = self.documents_of.indptr
        documents = self.documents_of.indices
        return np.unique(np.concatenate([documents[starts[one] : starts[one + 1]] for one in labels.tolist()]))

    def _solve(
        self, local: Rows, n_features: int, positive: np.ndarray, random: np.uint64
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (n_slots, n_features) and biases (n_slots,) of some slots, solved the fastest way."""
        problem = (local, n_features, positive, self.C, self.tolerance)
        if len(positive) <= MAX_SLOTS_ONE_BY_ONE:
            return solve_one_by_one(*problem, self.max_passes, random)
        n_documents = positive.shape[1]
        is_small = n_documents <= MAX_DOCUMENTS_FOR_INNER_PRODUCTS
        if is_small and n_documents**2 <= MAX_DOCUMENTS_PER_TERM * len(local.data):
            return solve_by_inner_products(*problem, MAX_SWEEPS, random)
        return solve_from_negatives(*problem, MAX_ROUNDS, random)
