"""Beam search: the labels a document reaches in each tree, and their mean probability.

From the root on, a document goes to the best `beam` nodes of every level, by the product of the probabilities on the
way. The labels below the nodes it comes to are its candidates.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.kernels.linear import Rows
from xcwork.kernels.tree_search import NOT_HERE, Places, best_labels, expand, keep_best
from xcwork.methods.label_tree.forest import Forest
from xcwork.parallel import parallel_map
from xcwork.progress import track
from xcwork.results import TopK
from xcwork.search import unit_rows

BLOCK = 512  # documents that go through the trees together


class Searcher:
    """Finds labels for documents in a trained forest.

    Features are renumbered, those that most nodes use first, so that what a document looks up lies close together.
    """

    def __init__(self, forest: Forest, n_features: int, n_labels: int, beam: int) -> None:
        uses = np.bincount(forest.features, minlength=n_features)
        rank = np.empty(n_features, np.int32)
        rank[np.argsort(-uses, kind="stable")] = np.arange(n_features, dtype=np.int32)
        self._n_used = int(np.count_nonzero(uses))
        self._rank = rank  # (n_features,)
        self._forest = forest
        self._nodes = forest.nodes()._replace(features=rank[forest.features])
        self._roots = forest.roots.astype(np.int32, copy=False)
        self._n_labels, self._beam = n_labels, min(beam, forest.n_nodes)  # no level has more
        label_slots = np.concatenate([[0], np.cumsum(forest.targets < 0)])
        self._has_labels = np.diff(label_slots[forest.first_slot]) > 0  # (n_nodes,)

    def top_k(self, X: sparse.csr_array, k: int) -> TopK:
        """The k best labels of every document."""

        def work(start: int) -> TopK:
            return self._top_k(unit_rows(X[start : start + BLOCK]), k)

        starts = range(0, X.shape[0], BLOCK)
        if len(starts) == 1:  # one document should not pay for starting threads, nor for being cut out
            return TopK.concatenate([self._top_k(unit_rows(X), k) for _ in track(starts, "searching")])
        return TopK.concatenate(parallel_map(work, starts, "searching"))

    def nodes_reached(self, x: sparse.csr_array) -> set[int]:
        """The nodes at which the one document `x` stands in the course of the search."""
        return {node for places, _, _ in self._levels(unit_rows(x)) for node in places.node.tolist()}

    def _top_k(self, X: sparse.csr_array, k: int) -> TopK:
        levels = [level for level in self._levels(X) if self._has_labels[level[0].node].any()]
        places = [places for places, _, _ in levels]
        document = np.concatenate([one.walk for one in places]) // self._forest.n_trees
        order = np.argsort(document, kind="stable")
        ends = np.cumsum([0, *(len(found) for _, _, found in levels)])
        first_found = np.concatenate([first[:-1] + end for (_, first, _), end in zip(levels, ends, strict=False)])
        best = TopK.empty(X.shape[0], k)
        best_labels(
            self._nodes, self._forest.n_trees, self._n_labels, document[order],
            np.concatenate([one.node for one in places])[order], first_found[order],
            np.concatenate([found for _, _, found in levels]), best.ids, best.scores,
        )  # fmt: skip
        return best

    def _levels(self, X: sparse.csr_array) -> list[tuple[Places, np.ndarray, np.ndarray]]:
        """For every level: where the walks stand, and what they find there as `expand` returns it."""
        rows = self._rows(X)
        n_trees, n_documents = self._forest.n_trees, X.shape[0]
        row_of = np.full(self._n_used, NOT_HERE, np.int32)
        places = Places(
            np.arange(n_documents * n_trees, dtype=np.int32), np.tile(self._roots, n_documents),
            np.zeros(n_documents * n_trees, np.float32),
        )  # fmt: skip
        levels = []
        while len(places.node):
            width = self._nodes.first_slot[places.node + 1] - self._nodes.first_slot[places.node]
            first_found = np.concatenate([[0], np.cumsum(width)])
            found = np.empty(first_found[-1], np.float32)
            expand(rows, n_trees, self._nodes, places, first_found, found, row_of)
            levels.append((places, first_found, found))
            places = keep_best(self._nodes, places, first_found, found, self._beam)
        return levels

    def _rows(self, X: sparse.csr_array) -> Rows:
        """The documents in the renumbered features, without those that no node uses."""
        ranks = self._rank[X.indices]
        used = ranks < self._n_used
        kept_before = np.concatenate([[0], np.cumsum(used)])
        return Rows(X.data[used], ranks[used], kept_before[X.indptr])
