"""Beam search: the labels a document reaches in each tree, and their mean probability.

From the root on, a document goes to the best `beam` nodes of every level, by the product of the probabilities on the
way. The labels below the nodes it comes to are its candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device
from xcwork.compute.parallel import parallel_map
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import TopK
from xcwork.kernels.tree_search import search_trees
from xcwork.methods.label_tree.forest import Forest
from xcwork.progress import track, track_batches
from xcwork.sparse import normalise_rows, to_rows

if TYPE_CHECKING:
    import torch

DOCUMENTS_PER_BLOCK = 512  # that one thread takes through the trees


@dataclass(frozen=True, eq=False)
class BeamSearch:
    """Finds labels for documents in a trained forest."""

    forest: Forest
    n_labels: int
    beam: int  # nodes of a level that the search follows
    power: int  # of the hinge in the probability of a step
    device: str = "cpu"

    def find_labels(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """Return the k best labels of each document, of those in `among` if given.

        The search goes the same way in either case, because the probability of a label depends on the trees that reach
        it; a label that no tree reaches is not listed.
        """
        allowed = self._every_label
        if among is not None:
            allowed = np.zeros(self.n_labels, bool)
            allowed[among] = True
        place = find_tensor_device(self.device)
        if place is not None:
            return self._search_with_tensors(X, k, allowed, place)

        def search_block(start: int) -> TopK:
            return self._search(X[start : start + DOCUMENTS_PER_BLOCK], k, allowed)[0]

        if X.shape[0] == 1:  # one document should not wait for anything but its search
            return self._search(X, k, allowed)[0]
        starts = range(0, X.shape[0], DOCUMENTS_PER_BLOCK)
        if len(starts) == 1:  # few should not pay for starting threads, nor for being cut out
            (only,) = [self._search(X, k, allowed)[0] for _ in track(starts, "searching")]
            return only
        return TopK.concatenate(parallel_map(search_block, starts, "searching"))

    @cached_property
    def _every_label(self) -> np.ndarray:
        """All labels as candidates, (n_labels,)."""
        return np.ones(self.n_labels, bool)

    def _search_with_tensors(self, X: sparse.csr_array, k: int, allowed: np.ndarray, device: torch.device) -> TopK:
        from xcwork.kernels.tensor_rows import TensorRows
        from xcwork.kernels.tensor_topk import find_top_k
        from xcwork.kernels.tensor_trees import count_documents_at_once
        from xcwork.search.terms import fetch_ranking

        trees = self.forest.get_tensors(device)
        (candidates,) = send_arrays(device, allowed)
        beam = min(self.beam, self.forest.n_nodes)
        found = []
        for x in track_batches(normalise_rows(X), count_documents_at_once(trees, beam, self.n_labels), "searching"):
            scores = trees.search(TensorRows.from_csr(x, device), beam, self.power, candidates)
            ids, best = find_top_k(scores, k)
            found.append(fetch_ranking(ids, best))
        return TopK.concatenate(found).head(k)

    def find_nodes(self, x: sparse.csr_array) -> set[int]:
        """Return the nodes that the one document `x` comes to in the course of the search."""
        return set(np.flatnonzero(self._search(x, 1, self._every_label)[1]).tolist())

    def _search(self, X: sparse.csr_array, k: int, allowed: np.ndarray) -> tuple[TopK, np.ndarray]:
        """Return (the best labels, whether some document came to a node)."""
        best = TopK(np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32))
        reached = np.zeros(self.forest.n_nodes, bool)
        beam = min(self.beam, self.forest.n_nodes)  # no level has more nodes
        search_trees(to_rows(X), self.forest.trees, beam, self.power, allowed, best.ids, best.scores, reached)
        return best, reached
