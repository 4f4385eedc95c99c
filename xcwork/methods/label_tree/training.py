"""Training: the shape of each tree, then the classifiers of its nodes.

A document is at a node if it has a label below; all documents are at the root. At a node, the classifier of a slot
tells the documents with a label below that slot from the others at the node, with the support vector machine of
`xcwork.kernels.svm`. Nodes are independent of each other. A large one solves its problems on the rows of the
split; a small one copies its documents, with their features renumbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.compute.cluster import Cluster, get_cluster
from xcwork.compute.device import find_tensor_device
from xcwork.compute.parallel import block_map, parallel_map
from xcwork.core.split import Split
from xcwork.errors import Cancelled
from xcwork.kernels import tree_training
from xcwork.kernels.svm_batch import solve_by_inner_products, solve_from_negatives, solve_one_by_one
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.label_tree.clustering import LabelClustering
from xcwork.methods.label_tree.forest import Forest
from xcwork.methods.label_tree.hierarchy import read_given_tree
from xcwork.methods.label_tree.packed_weights import NodeClassifiers, find_starts
from xcwork.methods.label_tree.shape import TreeShape, find_labels_below
from xcwork.methods.label_tree.shares import ROOT, SHARES_PER_THREAD, group_nodes
from xcwork.methods.model import Params
from xcwork.progress import track
from xcwork.sparse import Rows, scale_to_unit, sort_entries, take_rows, to_rows

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    from xcwork.methods.common.linear_machines import TensorNodeTrainer

DEFAULT_BRANCHING = {"parabel": 2, "bonsai": 100}  # parts of a split
DEFAULT_MAX_DEPTH = {"parabel": 100, "bonsai": 2}  # splits; a balanced tree ends by itself
MIN_CENTROID_ENTRY = 0.01  # smaller ones are most of a unit centroid's entries and hardly change a similarity
MAX_SLOTS_PER_BLOCK = 128  # whose weights are in memory before they are pruned
LABELS_PER_BLOCK = 64  # whose documents are summed together
# Documents with more entries per feature and slot are solved where they are. A copy of them has fewer features, so that
# the weights of a slot are shorter, but takes 8 bytes per entry.
MIN_ENTRIES_PER_WEIGHT = 0.25
MAX_SLOTS_ONE_BY_ONE = 8  # too few to pay for the inner products of all pairs of documents
MAX_DOCUMENTS_FOR_INNER_PRODUCTS = 5000  # whose inner products take 50 MB
MAX_DOCUMENTS_PER_TERM = 25  # for each term of one: with more, a step over the terms is shorter than one over documents
MAX_SWEEPS = 200  # of descent by inner products, which has cheap ones
MAX_ROUNDS = 30  # of working sets


def train_forest(train: Split, params: Params, checkpoint: Checkpoint | None) -> Forest:
    """Return the trained trees; finished ones are taken from `checkpoint`."""
    progress = TrainingProgress(checkpoint, train, params)
    names = [f"tree {number + 1}" for number in range(1 if params.kind == "given" else params.trees)]
    stored = {name: state for name in names if (state := progress.get_state(f"packed {name}")) is not None}
    trainer = TreeTrainer.from_split(train, params)
    trees = []
    try:
        # All are grown before any is trained, so that centroids and classifiers are never in memory together.
        shapes = grow_shapes(trainer, train, params, [name for name in names if name not in stored])
        for number, name in enumerate(names):
            if name in stored:
                trees.append(Forest.from_state(stored[name]))
            else:
                trees.append(trainer.train(shapes[name], (params.seed, number), f"training {name}"))
                progress.update(f"packed {name}", trees[-1].to_state)
    except Cancelled:
        progress.save()
        raise
    return Forest.from_trees(trees)


def grow_shapes(trainer: TreeTrainer, train: Split, params: Params, names: Sequence[str]) -> dict[str, TreeShape]:
    """Return the shapes of the trees `names`, such as `tree 1`."""
    labels = np.flatnonzero(train.label_frequencies).astype(np.int32)
    if params.kind == "given":
        return {name: read_given_tree(train.labels, labels) for name in names}
    if not names:
        return {}
    clustering = make_clustering(trainer, params)
    return {
        name: clustering.grow_tree(labels, (params.seed, int(name.split()[-1]) - 1), f"growing {name}")
        for name in names
    }


def make_clustering(trainer: TreeTrainer, params: Params) -> LabelClustering:
    """Return the clustering of the labels' centroids, with the usual width and depth of the kind if none are given."""
    return LabelClustering(
        trainer.compute_centroids(),
        n_features=trainer.n_features,
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

    return TensorNodeTrainer.from_matrix(
        sort_entries(X), MachineSettings(params.C, params.tolerance), params.prune, device
    )


class NodeTask(NamedTuple):
    """What a worker has to know to train a node."""

    labels: list[np.ndarray]  # those below each slot
    is_root: bool
    random: np.uint64


@dataclass(frozen=True)
class TreeTrainer:
    """Trains the nodes of trees over the documents of one split."""

    rows: Rows  # (n_documents, n_features), unit rows: those of the split itself where they are so already
    n_features: int
    documents_of: sparse.csr_array  # (n_labels, n_documents)
    C: float
    tolerance: float
    max_passes: int
    prune: float
    tensors: TensorNodeTrainer | None  # None: compiled kernels solve

    @classmethod
    def from_split(cls, train: Split, params: Params) -> TreeTrainer:
        X = scale_to_unit(train.X)
        return cls(
            tensors=make_tensor_trainer(X, params),
            rows=to_rows(X),
            n_features=X.shape[1],
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
        starts, documents, counts = self.documents_of.indptr, self.documents_of.indices, self.documents_of.data
        n_labels = self.documents_of.shape[0]

        def sum_block(first: int) -> Rows:
            last = min(first + LABELS_PER_BLOCK, n_labels)
            least = np.float32(MIN_CENTROID_ENTRY)
            members = (starts.astype(np.int64), documents.astype(np.int32), counts.astype(np.float32))
            return tree_training.sum_members(self.rows, self.n_features, *members, first, last, least)

        return join_rows(parallel_map(sum_block, range(0, n_labels, LABELS_PER_BLOCK), "summing documents"))

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
        place = None if here else get_cluster()
        if place is not None:
            by_node = dict(zip(largest_first, tasks, strict=True))
            trained = dict(track(self._train_in_shares(shape, below, by_node, place, phase), phase, total=len(nodes)))
        else:
            n_jobs = 1 if here else -1  # one device does one thing after the other
            results = block_map(TreeTrainer.train_node, self, tasks, phase, n_jobs=n_jobs, here=here)
            trained = dict(zip(largest_first, results, strict=True))
        return Forest.from_tree(shape, [trained[node] for node in nodes], self.n_features)

    def _train_in_shares(
        self,
        shape: TreeShape,
        below: Mapping[int, np.ndarray],
        tasks: Mapping[int, NodeTask],
        place: Cluster,
        phase: str,
    ) -> Iterator[tuple[int, NodeClassifiers]]:
        """Yield every node with its classifiers, computed on a cluster whose workers get only what a block needs."""
        groups = group_nodes(shape, below, np.diff(self.documents_of.indptr), SHARES_PER_THREAD * place.threads)

        def make_share(nodes: list[int]) -> TreeShare:
            labels = np.sort(below[nodes[0]])
            some = [[np.searchsorted(labels, slot) for slot in tasks[node].labels] for node in nodes]
            local = [tasks[node]._replace(labels=slots) for node, slots in zip(nodes, some, strict=True)]
            return TreeShare(nodes, self.restrict_to(labels), local)

        with ThreadPoolExecutor(1) as here:
            root = here.submit(self.train_node, tasks[ROOT])
            shares = map(make_share, groups)
            limit = len(self.rows.data)  # the cluster has these documents once, however many blocks there are
            for share, trained in place.map_stream(
                train_share, None, shares, phase, weigh=count_share_entries, max_weight=limit
            ):
                yield from zip(share.nodes, trained, strict=True)
            yield ROOT, root.result()

    def restrict_to(self, labels: np.ndarray) -> TreeTrainer:
        """Return what trains nodes below which there are `labels` (ascending) alone, which it counts from zero."""
        chosen = sparse.csr_array(self.documents_of[labels])
        documents, columns = np.unique(chosen.indices, return_inverse=True)
        shape = (len(labels), len(documents))
        return replace(
            self,
            rows=take_rows(self.rows, documents),
            documents_of=sparse.csr_array((chosen.data, columns.astype(np.int32), chosen.indptr), shape=shape),
        )

    def train_node(self, node: NodeTask) -> NodeClassifiers:
        """Train the classifiers of all slots of a node."""
        positives = [self._find_documents(labels) for labels in node.labels]
        everyone = np.arange(self.n_documents, dtype=np.int32)
        documents = everyone if node.is_root else self._find_documents(np.concatenate(node.labels))
        if self.tensors is not None:
            return self._train_with_tensors(self.tensors, documents, positives)
        random = node.random | np.uint64(1)
        local, features, rows = self._find_rows(documents, min(len(positives), MAX_SLOTS_PER_BLOCK))
        blocks = []
        for start in range(0, len(positives), MAX_SLOTS_PER_BLOCK):
            some = [np.searchsorted(documents, having) for having in positives[start : start + MAX_SLOTS_PER_BLOCK]]
            solved = self._solve(local, len(features), rows, mark_documents(len(documents), some), random)
            blocks.append(self._drop_small_weights(*solved))
        weights, biases = zip(*blocks, strict=True)
        joined = sparse.csr_array(sparse.hstack(weights)) if len(weights) > 1 else weights[0]
        return NodeClassifiers.from_weights(features, joined, np.concatenate(biases))

    def _find_rows(self, documents: np.ndarray, n_slots: int) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return rows, the feature behind each of their columns, and which row each of `documents` is.

        They are those of the split, or a copy of the documents in columns of their own, whichever takes less memory.
        """
        n_entries = tree_training.count_entries(self.rows, documents)
        if n_entries >= MIN_ENTRIES_PER_WEIGHT * n_slots * self.n_features or len(documents) == self.n_documents:
            return self.rows, np.arange(self.n_features, dtype=np.int32), documents
        local, features = tree_training.gather_rows(self.rows, self.n_features, documents)
        return local, features, np.arange(len(documents), dtype=np.int32)

    def _drop_small_weights(self, weights: np.ndarray, bias: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the weights (n_slots, n_features) that are large enough, (n_features, n_slots), and the biases."""
        starts, slots, values = tree_training.group_by_feature(weights, np.float32(self.prune))
        return sparse.csr_array((values, slots, starts), shape=weights.shape[::-1]), bias

    def _train_with_tensors(
        self, trainer: TensorNodeTrainer, documents: np.ndarray, positives: list[np.ndarray]
    ) -> NodeClassifiers:
        features, weights, bias = trainer.train(documents, positives, MAX_SLOTS_PER_BLOCK)
        return NodeClassifiers.from_weights(features, weights, bias)

    def _find_documents(self, labels: np.ndarray) -> np.ndarray:
        """Return the documents that have one of the labels, in order."""
        starts = self.documents_of.indptr
        documents = self.documents_of.indices
        return np.unique(np.concatenate([documents[starts[one] : starts[one + 1]] for one in labels.tolist()]))

    def _solve(
        self, rows: Rows, n_features: int, documents: np.ndarray, positive: np.ndarray, random: np.uint64
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (n_slots, n_features) and biases (n_slots,) of some slots, solved the fastest way."""
        problem = (rows, n_features, documents, positive, self.C, self.tolerance)
        if len(positive) <= MAX_SLOTS_ONE_BY_ONE:
            return solve_one_by_one(*problem, self.max_passes, random)
        n_documents = len(documents)
        is_small = n_documents <= MAX_DOCUMENTS_FOR_INNER_PRODUCTS
        if is_small and n_documents**2 <= MAX_DOCUMENTS_PER_TERM * tree_training.count_entries(rows, documents):
            return solve_by_inner_products(*problem, MAX_SWEEPS, random)
        return solve_from_negatives(*problem, MAX_ROUNDS, random)


class TreeShare(NamedTuple):
    """Some nodes, and what trains them: the documents below the first of them alone."""

    nodes: list[int]
    trainer: TreeTrainer
    tasks: list[NodeTask]


def count_share_entries(share: TreeShare) -> int:
    """Return how many entries the documents of a share have."""
    return len(share.trainer.rows.data)


def train_share(nothing: None, share: TreeShare) -> list[NodeClassifiers]:
    """Train the nodes of a share."""
    return [share.trainer.train_node(task) for task in share.tasks]


def mark_documents(n_documents: int, positives: Sequence[np.ndarray]) -> np.ndarray:
    """Return which documents each slot has, (n_slots, n_documents) bool."""
    positive = np.zeros((len(positives), n_documents), bool)
    for slot, having in enumerate(positives):
        positive[slot, having] = True
    return positive


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, one part after the other."""
    starts = find_starts(np.concatenate([np.diff(part.indptr) for part in parts]))
    return Rows(np.concatenate([part.data for part in parts]), np.concatenate([part.indices for part in parts]), starts)
