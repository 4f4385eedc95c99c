"""Module II: what surrounds a document: labels by their text, labels by their documents, and other documents.

Text embeddings are smoothed by the correlation of labels, z̃_l = Σ_m M_lm f(z_m), where M holds the labels that random
walks from l meet most often (400 steps, restart probability 0.8, the 10 most visited and l itself), scaled by
1 / √(row sum * column sum). The centroid v_l is the mean of f(x) over the label's documents.

Three searches give candidates: the nearest z̃, the nearest v, and the labels of the nearest training documents. The
reference program gives a label that only one search found 0 for the others; here candidates are united first, and then
every score is computed exactly (`xcwork.methods.siamesexml.scores`).

A label without training documents has no centroid, one without text has no text embedding: each then uses the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.errors import DataError
from xcwork.kernels import one_at_a_time
from xcwork.kernels.random_walks import most_visited
from xcwork.search import ExactIndex, Index, load_index, make_index, top_k_rows
from xcwork.sparse import normalise_rows

# The searches that a model may bring along, and the vectors each of them is made of.
INDEXED = {"text_index": "text", "centroid_index": "centroids", "document_index": "documents"}
REMEDY = "train it again, or use the version of xcwork that saved it"
STEPS, RESTART = 400, 0.8
GRAPHS = ("text", "centroids", "documents")


def graphs_of(settings: Any) -> tuple[str, ...]:
    """The searches that `settings` name."""
    return tuple(name.strip() for name in settings.graphs.split(",") if name.strip())


def label_correlation(Y: sparse.csr_array, keep: int, seed: int) -> sparse.csr_array:
    """M, (n_labels, n_labels): the labels met most often on walks from each label, and itself, scaled by degrees."""
    n_labels = Y.shape[1]
    carriers = sparse.csr_array(Y.T)
    walkers = np.flatnonzero(np.diff(carriers.indptr))
    found = TopK.empty(len(walkers), keep)
    if keep and len(walkers):
        random = np.random.default_rng((seed, 2)).integers(1, 2**63, len(walkers), dtype=np.uint64)
        with one_at_a_time:
            most_visited(
                carriers.indices,
                carriers.indptr,
                Y.indices,
                Y.indptr,
                walkers,
                random,
                STEPS,
                RESTART,
                found.ids,
                found.scores,
            )
    present = found.ids != MISSING
    row = np.repeat(walkers, present.sum(axis=1))
    visits = sparse.csr_array((found.scores[present] / STEPS, (row, found.ids[present])), shape=(n_labels, n_labels))
    M = sparse.csr_array(visits + sparse.eye_array(n_labels, dtype=np.float32))
    down, across = (1 / np.sqrt(np.asarray(M.sum(axis=axis)).ravel()) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(down) @ M @ sparse.diags_array(across), dtype=np.float32)


def label_vectors(
    f_labels: np.ndarray, f_documents: np.ndarray, Y: sparse.csr_array, correlation: sparse.csr_array
) -> tuple[np.ndarray, np.ndarray]:
    """(z̃, v), unit rows: smoothed text embeddings and centroids, each standing in for the other where it is missing."""
    text, centroids = normalise_rows(correlation @ f_labels), normalise_rows(sparse.csr_array(Y.T) @ f_documents)
    for mine, other in ((text, centroids), (centroids, text)):
        is_missing = ~mine.any(axis=1)
        mine[is_missing] = other[is_missing]
    return text, centroids


@dataclass(eq=False)
class Neighbourhood:
    """The three searches over one encoder's embeddings."""

    text: np.ndarray  # (n_labels, dimension)
    centroids: np.ndarray  # (n_labels, dimension)
    documents: np.ndarray  # (n_documents, dimension)
    Y: sparse.csr_array  # (n_documents, n_labels): the labels of the indexed documents
    correlation: sparse.csr_array  # (n_labels, n_labels)
    graphs: tuple[str, ...]
    search: str
    seed: int

    def _index(self, vectors: np.ndarray) -> Index:
        return make_index(vectors, self.search, seed=self.seed)

    @cached_property
    def text_index(self) -> Index:
        return self._index(self.text)

    @cached_property
    def centroid_index(self) -> Index:
        return self._index(self.centroids)

    @cached_property
    def document_index(self) -> Index:
        return self._index(self.documents)

    def build(self) -> None:
        """Make all searches now rather than when they are first used."""
        _ = self.document_index
        if "text" in self.graphs:
            _ = self.text_index
        if "centroids" in self.graphs:
            _ = self.centroid_index

    def voters(self, f: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
        """The nearest documents of each row and the weights of their votes, both (n, neighbours).

        Weights are shares of all similarity, times the greatest: neighbours that are all far away say little.
        """
        near = self.document_index.query(f, neighbours)
        similarity = np.where(near.ids == MISSING, 0, np.maximum(near.scores, 0))
        total = similarity.sum(axis=1, keepdims=True)
        shares = np.divide(similarity, total, out=np.zeros_like(similarity), where=total > 0)
        return near.ids, shares * similarity.max(axis=1, keepdims=True, initial=0)

    def votes(self, f: np.ndarray, neighbours: int) -> sparse.csr_array:
        """What the nearest documents say about every label, (n, n_labels), in [0, 1]."""
        near, shares = self.voters(f, neighbours)
        rows = np.repeat(np.arange(len(f)), near.shape[1])
        shape = (len(f), len(self.documents))
        weights = sparse.csr_array((shares.ravel(), (rows, np.maximum(near, 0).ravel())), shape=shape)
        return sparse.csr_array(weights @ self.Y, dtype=np.float32)

    def candidates(
        self, f: np.ndarray, size: int, votes: sparse.csr_array, among: np.ndarray | None = None
    ) -> np.ndarray:
        """The labels that any of the searches finds, ascending in each row and -1 after them, (n, ≤ 3 * size)."""
        n_labels = len(self.text)
        allowed = np.arange(n_labels) if among is None else among
        if len(allowed) <= size:
            return np.broadcast_to(allowed.astype(np.int32), (len(f), len(allowed)))
        found = [np.empty((len(f), 0), np.int32)]
        if "text" in self.graphs:
            found += _nearest(self.text_index, self.text, f, size, among)
        if "centroids" in self.graphs:
            found += _nearest(self.centroid_index, self.centroids, f, size, among)
        if "documents" in self.graphs:
            allowed = np.arange(votes.shape[1]) if among is None else among[among < votes.shape[1]]
            some = votes if among is None else votes[:, allowed]
            found.append(top_k_rows(some, size).renumber(allowed).ids)
        return united(np.hstack(found))

    def indices(self) -> dict[str, np.ndarray]:
        """The search graphs as bytes, because building them again takes long; exact searches need none."""
        built = {name: self.__dict__[name] for name in INDEXED if name in self.__dict__}
        return {name: _to_bytes(index) for name, index in built.items() if index.kind != "exact"}

    def set_indices(self, stored: Mapping[str, Any]) -> None:
        """Take over search graphs that `indices` returned. Labels may have been added since, never taken away."""
        for name, content in stored.items():
            if name not in INDEXED:
                raise DataError(f"the model has a search graph {name!r}, which is unknown here", remedy=REMEDY)
            index, vectors = _from_bytes(content), getattr(self, INDEXED[name])
            if index.dimension != vectors.shape[1] or len(index) > len(vectors):
                raise DataError("a search graph of the model does not fit its vectors", remedy=REMEDY)
            self.__dict__[name] = index


def _nearest(index: Index, vectors: np.ndarray, f: np.ndarray, size: int, among: np.ndarray | None) -> list[np.ndarray]:
    """Ids of the nearest vectors: of those in the index, and of those that were added after it was built."""
    n_indexed = len(index)
    found = [index.query(f, size, among=None if among is None else among[among < n_indexed]).ids]
    if n_indexed < len(vectors):
        later = np.arange(n_indexed, len(vectors)) if among is None else among[among >= n_indexed]
        added = ExactIndex().build(vectors[later]).query(f, size).ids
        found.append(np.where(added == MISSING, MISSING, later[added]))
    return found


def united(ids: np.ndarray) -> np.ndarray:
    """Every id of a row once, ascending, with -1 after them."""
    ordered = np.sort(np.where(ids == MISSING, np.iinfo(np.int32).max, ids).astype(np.int32), axis=1)
    is_new = np.ones(ordered.shape, bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_new &= ordered != np.iinfo(np.int32).max
    places = np.argsort(~is_new, axis=1, kind="stable")[:, : int(is_new.sum(axis=1).max(initial=0))]
    return np.take_along_axis(np.where(is_new, ordered, MISSING), places, axis=1)


def _to_bytes(index: Index) -> np.ndarray:
    """The files of a stored index as one array: the length of the first, the first, the second."""
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        parts = [np.fromfile(path, np.uint8) for path in _files(folder)]
    return np.concatenate([np.array([len(parts[0])], np.int64).view(np.uint8), *parts])


def _from_bytes(content: np.ndarray) -> Index:
    if content.dtype != np.uint8 or content.ndim != 1 or len(content) < 8:
        raise DataError("a search graph of the model is damaged", remedy=REMEDY)
    length = int(content[:8].view(np.int64)[0])
    if not 0 <= length <= len(content) - 8:
        raise DataError("a search graph of the model is damaged", remedy=REMEDY)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index").mkdir()
        for path, part in zip(_files(folder), (content[8 : 8 + length], content[8 + length :]), strict=True):
            part.tofile(path)
        return load_index(Path(folder) / "index")


def _files(folder: str) -> list[Path]:
    from xcwork.search.hnsw import GRAPH_FILE, SETTINGS_FILE

    return [Path(folder) / "index" / name for name in (SETTINGS_FILE, GRAPH_FILE)]
