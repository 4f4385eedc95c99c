"""Module II: what surrounds a document: labels by their text, labels by their documents, and other documents.

Text embeddings are smoothed by the correlation of labels, z̃_l = Σ_m M_lm f(z_m), where M holds the labels that random
walks from l meet most often (400 steps, restart probability 0.8, the 10 most visited and l itself), scaled by
1 / √(row sum * column sum). Walks come back to l itself in about half of their visits, which is its share in the
authors' program; with `own_weight` = 1 added it is about three quarters. The centroid v_l is the mean of f(x) over the
label's documents.

Three searches give candidates: the nearest z̃, the nearest v, and the labels of the nearest training documents. The
reference program gives a label that only one search found 0 for the others; here candidates are united first, and then
every score is computed exactly (`scores`).

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
from xcwork.kernels.random_walks import find_most_visited
from xcwork.search import ExactIndex, Index, load_index, make_index, top_k_rows
from xcwork.sparse import normalise_rows

# The searches that a model may bring along, and the vectors each of them is made of.
GRAPH_BY_INDEX = {"text_index": "text", "centroid_index": "centroids", "document_index": "documents"}
INDEX_REMEDY = "train it again, or use the version of xcwork that saved it"
WALK_STEPS = 400
RESTART_PROBABILITY = 0.8
GRAPHS = ("text", "centroids", "documents")


def read_graphs(graphs: str) -> tuple[str, ...]:
    """Return the searches that a list with commas names."""
    return tuple(name.strip() for name in graphs.split(",") if name.strip())


def correlate_labels(Y: sparse.csr_array, keep: int, seed: int, own_weight: float = 1.0) -> sparse.csr_array:
    """Return M, (n_labels, n_labels): the labels met most often on walks from each label, scaled by degrees.

    A label's own text counts `own_weight` besides the walk's visits to it, and alone where a walk leads nowhere.
    """
    n_labels = Y.shape[1]
    documents_of = sparse.csr_array(Y.T)
    walkers = np.flatnonzero(np.diff(documents_of.indptr))
    found = TopK.make_empty(len(walkers), keep)
    if keep and len(walkers):
        random = np.random.default_rng((seed, 2)).integers(1, 2**63, len(walkers), dtype=np.uint64)
        with one_at_a_time:
            find_most_visited(
                documents_of.indices,
                documents_of.indptr,
                Y.indices,
                Y.indptr,
                walkers,
                random,
                WALK_STEPS,
                RESTART_PROBABILITY,
                found.ids,
                found.scores,
            )
    present = found.ids != MISSING
    row = np.repeat(walkers, present.sum(axis=1))
    visits = sparse.csr_array(
        (found.scores[present] / WALK_STEPS, (row, found.ids[present])), shape=(n_labels, n_labels)
    )
    own = np.full(n_labels, own_weight, np.float32)
    own[np.diff(visits.indptr) == 0] = 1.0
    M = sparse.csr_array(visits + sparse.diags_array(own))
    down, across = (1 / np.sqrt(np.asarray(M.sum(axis=axis)).ravel()) for axis in (1, 0))
    return sparse.csr_array(sparse.diags_array(down) @ M @ sparse.diags_array(across), dtype=np.float32)


def embed_labels(
    f_labels: np.ndarray, f_documents: np.ndarray, Y: sparse.csr_array, correlation: sparse.csr_array
) -> tuple[np.ndarray, np.ndarray]:
    """Return (z̃, v), unit rows: smoothed text embeddings and centroids, each the other's substitute where missing."""
    text = normalise_rows(correlation @ f_labels)
    centroids = normalise_rows(sparse.csr_array(Y.T) @ f_documents)
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
    device: str = "cpu"  # of exact searches

    def _make_index(self, vectors: np.ndarray) -> Index:
        """Return a search over `vectors`, exact or by a graph."""
        return make_index(vectors, self.search, seed=self.seed, device=self.device)

    @cached_property
    def text_index(self) -> Index:
        return self._make_index(self.text)

    @cached_property
    def centroid_index(self) -> Index:
        return self._make_index(self.centroids)

    @cached_property
    def document_index(self) -> Index:
        return self._make_index(self.documents)

    def build(self) -> None:
        """Build all searches now rather than when they are first used."""
        _ = self.document_index
        if "text" in self.graphs:
            _ = self.text_index
        if "centroids" in self.graphs:
            _ = self.centroid_index

    def find_voters(self, f: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest documents of each row and the weights of their votes, both (n, neighbours).

        Weights are shares of all similarity, times the greatest: neighbours that are all far away say little.
        """
        near = self.document_index.query(f, neighbours)
        similarity = np.where(near.ids == MISSING, 0, np.maximum(near.scores, 0))
        total = similarity.sum(axis=1, keepdims=True)
        shares = np.divide(similarity, total, out=np.zeros_like(similarity), where=total > 0)
        return near.ids, shares * similarity.max(axis=1, keepdims=True, initial=0)

    def cast_votes(self, f: np.ndarray, neighbours: int) -> sparse.csr_array:
        """Return what the nearest documents say about every label, (n, n_labels), in [0, 1]."""
        near, shares = self.find_voters(f, neighbours)
        rows = np.repeat(np.arange(len(f)), near.shape[1])
        shape = (len(f), len(self.documents))
        weights = sparse.csr_array((shares.ravel(), (rows, np.maximum(near, 0).ravel())), shape=shape)
        return sparse.csr_array(weights @ self.Y, dtype=np.float32)

    def find_candidates(
        self, f: np.ndarray, size: int, votes: sparse.csr_array, among: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the labels that any search finds, ascending in each row and -1 after them, (n, ≤ 3 * size)."""
        n_labels = len(self.text)
        allowed = np.arange(n_labels) if among is None else among
        if len(allowed) <= size:
            return np.broadcast_to(allowed.astype(np.int32), (len(f), len(allowed)))
        found = [np.empty((len(f), 0), np.int32)]
        if "text" in self.graphs:
            found += find_nearest(self.text_index, self.text, f, size, among)
        if "centroids" in self.graphs:
            found += find_nearest(self.centroid_index, self.centroids, f, size, among)
        if "documents" in self.graphs:
            allowed = np.arange(votes.shape[1]) if among is None else among[among < votes.shape[1]]
            some = votes if among is None else votes[:, allowed]
            found.append(top_k_rows(some, size).renumber(allowed).ids)
        return unite_ids(np.hstack(found))

    def pack_indices(self) -> dict[str, np.ndarray]:
        """Return the search graphs as bytes, because rebuilding them takes long; exact searches need none."""
        built = {name: self.__dict__[name] for name in GRAPH_BY_INDEX if name in self.__dict__}
        return {name: pack_index(index) for name, index in built.items() if index.kind != "exact"}

    def unpack_indices(self, stored: Mapping[str, Any]) -> None:
        """Take over search graphs that `pack_indices` returned. Labels may have been added since, never removed."""
        for name, content in stored.items():
            if name not in GRAPH_BY_INDEX:
                raise DataError(f"the model has a search graph {name!r}, which is unknown here", remedy=INDEX_REMEDY)
            index = unpack_index(content)
            vectors = getattr(self, GRAPH_BY_INDEX[name])
            if index.dimension != vectors.shape[1] or len(index) > len(vectors):
                raise DataError("a search graph of the model does not fit its vectors", remedy=INDEX_REMEDY)
            self.__dict__[name] = index


def find_nearest(
    index: Index, vectors: np.ndarray, f: np.ndarray, size: int, among: np.ndarray | None
) -> list[np.ndarray]:
    """Return the ids of the nearest vectors: of those in the index, and of those that were added after it was built."""
    n_indexed = len(index)
    found = [index.query(f, size, among=None if among is None else among[among < n_indexed]).ids]
    if n_indexed < len(vectors):
        later = np.arange(n_indexed, len(vectors)) if among is None else among[among >= n_indexed]
        added = ExactIndex().build(vectors[later]).query(f, size).ids
        found.append(np.where(added == MISSING, MISSING, later[added]))
    return found


def unite_ids(ids: np.ndarray) -> np.ndarray:
    """Return every id of a row once, ascending, with -1 after them."""
    ordered = np.sort(np.where(ids == MISSING, np.iinfo(np.int32).max, ids).astype(np.int32), axis=1)
    is_new = np.ones(ordered.shape, bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_new &= ordered != np.iinfo(np.int32).max
    places = np.argsort(~is_new, axis=1, kind="stable")[:, : int(is_new.sum(axis=1).max(initial=0))]
    return np.take_along_axis(np.where(is_new, ordered, MISSING), places, axis=1)


def pack_index(index: Index) -> np.ndarray:
    """Return the files of a stored index as one array: the length of the first, the first, the second."""
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        parts = [np.fromfile(path, np.uint8) for path in list_files(folder)]
    return np.concatenate([np.array([len(parts[0])], np.int64).view(np.uint8), *parts])


def unpack_index(content: np.ndarray) -> Index:
    """Return the index that `pack_index` stored."""
    if content.dtype != np.uint8 or content.ndim != 1 or len(content) < 8:
        raise DataError("a search graph of the model is damaged", remedy=INDEX_REMEDY)
    length = int(content[:8].view(np.int64)[0])
    if not 0 <= length <= len(content) - 8:
        raise DataError("a search graph of the model is damaged", remedy=INDEX_REMEDY)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index").mkdir()
        for path, part in zip(list_files(folder), (content[8 : 8 + length], content[8 + length :]), strict=True):
            part.tofile(path)
        return load_index(Path(folder) / "index")


def list_files(folder: str) -> list[Path]:
    """Return the files of a stored index: its settings, then its graph."""
    from xcwork.search.hnsw import GRAPH_FILE, SETTINGS_FILE

    return [Path(folder) / "index" / name for name in (SETTINGS_FILE, GRAPH_FILE)]
