"""Beam search: the labels a document reaches in each tree, and their mean probability.

From the root on, a document goes to the best `beam` nodes of every level, by the product of the probabilities on the
way. The labels below the nodes it comes to are its candidates.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import parallel_map
from xcwork.core.topk import TopK
from xcwork.kernels.tree_search import search
from xcwork.methods.label_tree.forest import Forest
from xcwork.progress import track
from xcwork.sparse import normalise_values, to_rows

BLOCK = 512  # documents that one thread takes through the trees


class Searcher:
    """Finds labels for documents in a trained forest."""

    def __init__(self, forest: Forest, n_labels: int, *, beam: int, power: int) -> None:
        self._trees, self._n_nodes, self._n_labels = forest.trees, forest.n_nodes, n_labels
        self._beam, self._power = min(beam, forest.n_nodes), power  # no level has more nodes

    def top_k(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """The k best labels of every document, of those in `among` if given.

        The search goes the same way in either case, because the probability of a label depends on the trees that reach
        it; a label that no tree reaches is not listed.
        """
        allowed = np.full(self._n_labels, among is None)
        if among is not None:
            allowed[among] = True

        def work(start: int) -> TopK:
            return self._search(X[start : start + BLOCK], k, allowed)[0]

        starts = range(0, X.shape[0], BLOCK)
        if len(starts) == 1:  # one document should not pay for starting threads, nor for being cut out
            (only,) = [self._search(X, k, allowed)[0] for _ in track(starts, "searching")]
            return only
        return TopK.concatenate(parallel_map(work, starts, "searching"))

    def nodes_reached(self, x: sparse.csr_array) -> set[int]:
        """The nodes at which the one document `x` stands in the course of the search."""
        return set(np.flatnonzero(self._search(x, 1, np.ones(self._n_labels, bool))[1]).tolist())

    def _search(self, X: sparse.csr_array, k: int, allowed: np.ndarray) -> tuple[TopK, np.ndarray]:
        """(the best labels, whether some document came to a node)."""
        best, reached = TopK.empty(X.shape[0], k), np.zeros(self._n_nodes, bool)
        rows = to_rows(X)._replace(data=normalise_values(X))
        search(rows, self._trees, self._beam, self._power, allowed, best.ids, best.scores, reached)
        return best, reached
