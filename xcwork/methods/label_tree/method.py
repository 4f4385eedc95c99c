"""Label trees: a document finds its labels by going down a tree of ever smaller sets of labels.

Similar labels share a branch. At every node linear classifiers decide which branches a document follows, and at the
leaves which labels it gets:

    P(label | x) = Π over the way down of exp(-max(0, 1 - w·x/‖x‖ - b)ᵖ),     score = mean of P over the trees

with (w, b) support vector machines of squared hinge loss and p = `power`, 2 as in Parabel. A classifier is trained on
the documents at its node alone, and a search follows the `beam` best nodes of a level, so both cost far less than a
classifier a label over everything.

- kind="parabel": balanced halves by spherical 2-means of the label centroids, until a node has at most `leaf_size`
  labels. `branching` above 2 takes several halvings at once, which makes a flatter tree.
- kind="bonsai": k-means with many clusters, as unequal as they come, and at most `max_depth` such splits.
- kind="given": the hierarchy that the dataset gives its labels.

Cost: O(log n_labels) classifiers a document and tree in training and prediction, about `beam` * `leaf_size` labels at
the leaves. Nodes train side by side on all cores; one seed gives one result whatever their number.

Differences from the papers: documents without labels are negatives at the root; the bias is not pruned; entries of a
centroid below 0.01 do not take part in clustering; at most ten passes of descent at a node with few branches. A label
without training documents is in no tree and is never predicted; a tree that does not reach a label counts as zero.

References: Prabhu et al., Parabel, WWW 2018; Khandagale, Xiao and Babbar, Bonsai, Machine Learning 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse

from xcwork.core.split import Split
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.base import Capabilities, Explanation, Method, Part, TopK, param
from xcwork.methods.common.checkpoints import Progress
from xcwork.methods.label_tree.explanation import parts_of_tree
from xcwork.methods.label_tree.forest import Forest, Shape
from xcwork.methods.label_tree.frame import tree_frame
from xcwork.methods.label_tree.growing import Clustering, given_tree
from xcwork.methods.label_tree.prediction import Searcher
from xcwork.methods.label_tree.training import Trainer
from xcwork.methods.layout import array, matrix, record, stored
from xcwork.sparse import normalise_rows

if TYPE_CHECKING:
    import pandas as pd

BRANCHING = {"parabel": 2, "bonsai": 100}
DEPTH = {"parabel": 100, "bonsai": 2}  # splits; a balanced tree ends by itself


@dataclass(kw_only=True, eq=False)
class LabelTree(Method):
    """Labels found by going down trees of similar labels, with linear classifiers at every node."""

    kind: str = param(
        "parabel",
        "balanced halves, wide clusters, or the dataset's own hierarchy",
        choices=("parabel", "bonsai", "given"),
    )
    trees: int = param(3, "trees whose probabilities are averaged (kind=given has one)", low=1, high=100)
    leaf_size: int = param(100, "most labels that are not split any further", low=1)
    branching: int | None = param(None, "parts of a split; 2 for parabel and 100 for bonsai if not given", low=2)
    max_depth: int | None = param(None, "most splits on the way to a label; 2 for bonsai if not given", low=0)
    beam: int = param(10, "nodes of a level that a search follows", low=1, at_prediction=True)
    power: int = param(2, "of the hinge in the probability of a step; 3 weighs small doubts less", low=1, high=4)
    C: float = param(1.0, "weight of the errors against the size of the weights", low=1e-4, high=1e4)
    prune: float = param(0.1, "weights smaller than this are dropped", low=0.0)
    tolerance: float = param(0.1, "violation of optimality at which a classifier is done", low=1e-5, high=1.0)
    max_passes: int = param(10, "passes over the documents of a node with few branches", low=1, advanced=True)

    title = "Label tree"
    paper = "Prabhu et al., Parabel, WWW 2018; Khandagale et al., Bonsai, Machine Learning 2020"
    capabilities = Capabilities(exact_explanations=True, resumable=True)
    layout = stored(  # kind=given grows one tree, whatever `trees` says
        forest_=record(
            roots=array("grown", kind="i"),
            first_slot=array("nodes_and_end", kind="i"),
            targets=array("slots", kind="i"),
            bias=array("slots"),
            first_row=array("features+1", kind="i"),
            nodes=array("rows", kind="i"),
            weights=matrix("rows", "slots"),
        )
    )

    def validate(self) -> None:
        super().validate()
        if self.kind == "parabel" and self.branching is not None and self.branching & (self.branching - 1):
            raise ConfigError(f"branching must be a power of two for kind=parabel, got {self.branching}")

    def _fit(self, train: Split) -> None:
        labels = np.flatnonzero(self.label_frequencies_).astype(np.int32)
        if len(labels) == 0:
            raise DataError("no training document carries a label, so there is nothing to learn")
        progress = Progress(self._checkpoint, train, self.get_params())
        trainer = Trainer.of(train, C=self.C, tolerance=self.tolerance, max_passes=self.max_passes, prune=self.prune)
        grow = self._grower(trainer, labels)
        trees = []
        try:
            for number in range(1 if self.kind == "given" else self.trees):
                name = f"tree {number + 1}"
                state = progress.state(name)
                if state is None:
                    tree = trainer.train(grow(number, f"growing {name}"), (self.seed, number), f"training {name}")
                    progress.update(name, tree.to_state)
                trees.append(tree if state is None else Forest(**state))
        except Cancelled:
            progress.save()
            raise
        self.forest_ = Forest.joined(trees).to_state()

    def _grower(self, trainer: Trainer, labels: np.ndarray) -> Callable[[int, str], Shape]:
        """What makes the shape of a tree from its number and the name of the phase."""
        if self.kind == "given":
            return lambda number, phase: given_tree(self.labels_, labels)
        clustering = Clustering(
            trainer.centroids(),
            self.features_.size,
            self.branching or BRANCHING[self.kind],
            self.kind == "parabel",
            self.leaf_size,
            DEPTH[self.kind] if self.max_depth is None else self.max_depth,
        )
        return lambda number, phase: clustering.grow(labels, (self.seed, number), phase)

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return self._open()[1].top_k(X, k, among)

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        forest, searcher = self._open()
        slots = np.flatnonzero(forest.targets == ~label).tolist()  # one a tree
        if not slots:
            return Explanation.of([Part("(any document)", "no training document to learn from", 0.0)])
        reached = searcher.nodes_reached(x)
        x = normalise_rows(x)
        parts: list[Part] = []
        for number, slot in enumerate(slots, start=1):
            tree, path = f"tree {number}", forest.path_to(slot)
            missed = [step for step in path if forest.node_of(step) not in reached]
            if missed:
                where = f"{tree}: the search turned elsewhere after step {path.index(missed[0])} of {len(path)}"
                parts.append(Part("(any document)", where, 0.0, {"node": forest.node_of(missed[0])}))
            else:
                parts += parts_of_tree(forest, path, x, self.features_, tree, self.power)
        return Explanation.of(parts)

    def label_embeddings(self) -> sparse.csr_array:
        """The mean over the trees of each label's own classifier."""
        forest, _ = self._open()
        return forest.label_weights(len(self.labels_), self.features_.size)

    def tree_frame(self, tree: int = 0, *, terms: int = 5, labels: int = 3) -> pd.DataFrame:
        """The nodes of one tree: parent, level, sizes, the terms that lead there and some of the labels below."""
        self._check_fitted()
        forest, _ = self._open()
        if not 0 <= tree < forest.n_trees:
            raise ConfigError(f"there is no tree {tree}; they go from 0 to {forest.n_trees - 1}")
        return tree_frame(forest, tree, self.features_, self.labels_, self.label_frequencies_, terms, labels)

    def _open(self) -> tuple[Forest, Searcher]:
        """The trees, checked once, and the search through them."""
        search = {"beam": self.beam, "power": self.power}
        if self._opened is None or self._opened[0] is not self.forest_ or self._opened[1] != search:
            forest = Forest(**self.forest_)
            forest.check(self.features_.size, len(self.labels_))
            self._opened = (self.forest_, search, forest, Searcher(forest, len(self.labels_), **search))
        return self._opened[2:]

    # the trees of `forest_` and how to search, with the checked forest and the searcher made of them
    _opened: ClassVar[tuple[dict, dict, Forest, Searcher] | None] = None
