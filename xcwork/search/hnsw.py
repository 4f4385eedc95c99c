"""Approximate nearest vectors with a hierarchical navigable small-world graph (hnswlib).

A vector has about M neighbours in the graph; a search for k vectors walks it keeping the best ones met so far, `ef` of
them or four times k, whichever is more. Larger M, `ef_construction` and `ef` find more of the true neighbours and cost
more memory, building time and query time. (Among 100,000 barely trained label embeddings M = 16 and k vectors kept find
0.78 of the nearest 200, M = 32 and four times as many 0.985.)

hnswlib forgets `ef` when it saves, so all settings live in a JSON file beside the graph. With one thread the graph is
the same for the same seed; with more it is built sooner, but then depends on which thread came first.

Reference: Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using HNSW graphs, TPAMI 2020.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import hnswlib
import numpy as np

from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.progress import track
from xcwork.search.graph_check import check_graph
from xcwork.search.index import MIN_GRAPH_VECTORS, Index
from xcwork.storage.atomic import create_folder, write_json

GRAPH_FILE = "graph.bin"
SETTINGS_FILE = "index.json"
SETTING_NAMES = ("space", "M", "ef_construction", "ef", "seed", "threads")
VECTORS_PER_BLOCK = 5_000
KEPT_VECTORS_PER_RESULT = 4  # vectors that a walk keeps in mind for each one it is asked for
QUERIES_PER_BLOCK = 1_000


class HnswIndex(Index):
    """A graph of the vectors, walked towards the query."""

    kind = "hnsw"

    def __init__(
        self,
        space: str = "cosine",
        *,
        M: int = 32,
        ef_construction: int = 200,
        ef: int = 100,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        super().__init__(space)
        self.M, self.ef_construction, self.ef = M, ef_construction, ef
        self.seed, self.threads = seed, threads
        self.measured_recall: float | None = None

    def __len__(self) -> int:
        return self._graph.element_count

    @property
    def dimension(self) -> int:
        return self._graph.dim

    def get_vectors(self, ids: np.ndarray) -> np.ndarray:
        return np.asarray(self._graph.get_items(ids, return_type="numpy"), np.float32)

    def _build(self, vectors: np.ndarray) -> None:
        # The inner product serves both spaces, because vectors and queries already have unit length for cosine.
        graph = hnswlib.Index("ip", vectors.shape[1])
        graph.init_index(len(vectors), M=self.M, ef_construction=self.ef_construction, random_seed=self.seed)
        for start in track(range(0, len(vectors), VECTORS_PER_BLOCK), "building the search graph"):
            block = vectors[start : start + VECTORS_PER_BLOCK]
            graph.add_items(block, np.arange(start, start + len(block)), num_threads=self.threads)
        self._graph = graph

    def _query(self, queries: np.ndarray, k: int, among: np.ndarray | None) -> TopK:
        if among is not None and len(among) < MIN_GRAPH_VECTORS:
            return self._query_exactly(queries, k, among)
        self._graph.set_ef(max(self.ef, KEPT_VECTORS_PER_RESULT * k))
        blocks = [queries[start : start + QUERIES_PER_BLOCK] for start in range(0, len(queries), QUERIES_PER_BLOCK)]
        return TopK.concatenate([self._walk(block, k, among) for block in track(blocks, "searching")])

    def _walk(self, queries: np.ndarray, k: int, among: np.ndarray | None) -> TopK:
        allowed = None if among is None else set(among.tolist()).__contains__
        # A Python filter needs the interpreter lock at every vector, so threads would only wait for each other.
        threads = -1 if allowed is None else 1
        try:
            ids, distances = self._graph.knn_query(queries, k, num_threads=threads, filter=allowed)
        except RuntimeError:
            # hnswlib refuses when the walk met fewer than k vectors, as it can among many equal ones.
            return self._query_exactly(queries, k, among)
        ids, scores = ids.astype(np.int32), np.float32(1) - distances
        order = np.lexsort((ids, -scores), axis=1)
        return TopK(np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1))

    def save(self, folder: str | Path) -> None:
        with create_folder(folder) as temporary:
            self._graph.save_index(str(temporary / GRAPH_FILE))
            settings = {name: getattr(self, name) for name in SETTING_NAMES}
            facts = {"dimension": self.dimension, "measured_recall": self.measured_recall}
            digest = _compute_digest(temporary / GRAPH_FILE)
            write_json(temporary / SETTINGS_FILE, {"kind": self.kind, **settings, **facts, "sha256": digest})

    @staticmethod
    def is_stored_in(folder: str | Path) -> bool:
        return (Path(folder) / SETTINGS_FILE).is_file()

    @classmethod
    def load(cls, folder: str | Path) -> HnswIndex:
        """Return the index that `save` stored; a graph that does not match its checksum is not opened."""
        folder = Path(folder)
        stored = _read_settings(folder)
        if _compute_digest(folder / GRAPH_FILE) != stored["sha256"]:
            raise DataError("the search graph is damaged", file=folder / GRAPH_FILE, remedy="build the index again")
        check_graph(folder / GRAPH_FILE, stored["dimension"])
        index = cls(**{name: stored[name] for name in SETTING_NAMES})
        index.measured_recall = stored["measured_recall"]
        index._graph = hnswlib.Index("ip", stored["dimension"])
        index._graph.load_index(str(folder / GRAPH_FILE))
        return index


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        stored = json.loads((folder / SETTINGS_FILE).read_text("utf-8"))
        missing = {*SETTING_NAMES, "dimension", "measured_recall", "sha256"} - set(stored)
    except (OSError, ValueError, TypeError) as problem:
        raise DataError(f"the settings of the search graph cannot be read ({problem})", file=folder) from None
    if missing:
        raise DataError(f"the settings of the search graph lack {', '.join(sorted(missing))}", file=folder)
    numbers = [stored[name] for name in ("M", "ef_construction", "ef", "seed", "threads", "dimension")]
    if not all(type(number) is int and -1 <= number < 2**31 for number in numbers) or stored["dimension"] < 1:
        raise DataError("the settings of the search graph have something other than numbers", file=folder)
    return stored


def _compute_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise DataError("the search graph is missing", file=path, remedy="build the index again") from None
