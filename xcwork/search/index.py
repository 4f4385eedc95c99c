"""Nearest vectors behind one interface: exact search by blocked products, or an HNSW graph (`xcwork.search.hnsw`).

    index = make_index(vectors)             # exact below 100,000 vectors, HNSW above
    best = index.query(queries, k=10)       # a TopK whose ids are rows of `vectors`
    index.save(folder); load_index(folder)

Similarity is the inner product, or its value for unit vectors (`cosine`). Exact search costs O(n * d) per query and as
much memory as one block of scores; its ids are right by definition. HNSW answers in about O(log n) and misses some:
`measure_recall` says how many, and `make_index` does so once for every graph it builds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from xcwork.compute.device import find_tensor_device
from xcwork.compute.device_memory import run_in_parts
from xcwork.compute.parallel import multiply_on_one_thread, parallel_map
from xcwork.compute.transfer import fetch_arrays, send_arrays
from xcwork.core.topk import MISSING, TopK
from xcwork.errors import ConfigError, DataError
from xcwork.progress import track
from xcwork.search.exact import top_k_rows
from xcwork.sparse import normalise_rows
from xcwork.storage.state import read_state, write_state

if TYPE_CHECKING:  # torch takes long to import, and the CPU does without it
    import torch

    from xcwork.kernels.tensor_search import TensorVectors

MIN_GRAPH_VECTORS = 100_000  # below it, exact search is fast enough
QUERIES_PER_BLOCK = 512  # rows of one block of scores, which takes 32 MB
VECTORS_PER_BLOCK = 16_384  # columns of one block of scores
SPACES = ("cosine", "ip")
PRECISIONS = ("float32", "float16", "bfloat16")


class Index(ABC):
    """Vectors that can be searched."""

    kind: ClassVar[str]

    def __init__(self, space: str = "cosine") -> None:
        if space not in SPACES:
            raise ConfigError(f"space must be one of {', '.join(SPACES)}, got {space!r}")
        self.space = space

    @abstractmethod
    def __len__(self) -> int:
        """Return how many vectors there are."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The length of a vector."""

    @abstractmethod
    def get_vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the stored vectors with these ids, (n, dimension)."""

    @abstractmethod
    def _build(self, vectors: np.ndarray) -> None:
        """Take the vectors in; of unit length when the space is cosine."""

    @abstractmethod
    def _query(self, queries: np.ndarray, k: int, among: np.ndarray | None) -> TopK:
        """Return the k best of all vectors, or of those in `among`."""

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Store the index below `folder`, replacing what was there."""

    def build(self, vectors: np.ndarray) -> Self:
        """Index the rows of `vectors`, forgetting earlier ones."""
        vectors = np.atleast_2d(np.asarray(vectors, np.float32))
        if not np.isfinite(vectors).all():
            raise DataError("some vectors are not finite numbers, so they have no nearest neighbours")
        self._build(self._scale(vectors))
        return self

    def query(self, queries: np.ndarray, k: int, *, among: np.ndarray | None = None) -> TopK:
        """Return the k most similar vectors of every query, by similarity and then by id; `among` restricts the ids."""
        queries = np.atleast_2d(np.asarray(queries, np.float32))
        if queries.shape[1] != self.dimension:
            raise DataError(f"queries have {queries.shape[1]} numbers, but indexed vectors have {self.dimension}")
        among = None if among is None else np.unique(np.asarray(among, np.int64))
        k = min(k, len(self) if among is None else len(among))
        if k < 1 or len(queries) == 0:
            return TopK.make_empty(len(queries), max(k, 0))
        return self._query(self._scale(queries), k, among)

    def measure_recall(self, queries: np.ndarray, k: int = 10) -> float:
        """Return the share of the true k nearest vectors that `query` finds."""
        found, true = self.query(queries, k), self._query_exactly(self._scale(np.asarray(queries, np.float32)), k, None)
        # A vector as near as the k-th true one is as good an answer, whichever id it has.
        enough = true.scores[:, [-1]] - 1e-5
        return float((found.scores >= enough).mean())

    def _query_exactly(self, queries: np.ndarray, k: int, among: np.ndarray | None) -> TopK:
        ids = np.arange(len(self)) if among is None else among
        blocks = [queries[start : start + QUERIES_PER_BLOCK] for start in range(0, len(queries), QUERIES_PER_BLOCK)]

        def search(block: np.ndarray) -> TopK:
            return self._query_exact_block(block, min(k, len(ids)), ids)

        if len(blocks) == 1:
            return search(queries)
        # A block per thread: a product that is divided among threads has other last bits for another number of them.
        with multiply_on_one_thread():
            return TopK.concatenate(parallel_map(search, blocks, "searching"))

    def _query_exact_block(self, queries: np.ndarray, k: int, ids: np.ndarray) -> TopK:
        """Return the best of the vectors `ids`, a block of vectors at a time."""
        best = TopK.make_empty(len(queries), 0)
        for start in range(0, len(ids), VECTORS_PER_BLOCK):
            part = ids[start : start + VECTORS_PER_BLOCK]
            local = top_k_rows(queries @ self._get_ascending(part).T, k)
            found = TopK(part[local.ids].astype(np.int32), local.scores)
            best = merge_best(best, found, k)
        return best

    def _get_ascending(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of ascending `ids`, which need not be a copy."""
        return self.get_vectors(ids)

    def _scale(self, vectors: np.ndarray) -> np.ndarray:
        return normalise_rows(vectors) if self.space == "cosine" else vectors


def merge_best(a: TopK, b: TopK, k: int) -> TopK:
    """Return the k best entries of two rankings of the same queries; every id of `a` is below those of `b`."""
    ids = np.hstack([a.ids, b.ids])
    best = top_k_rows(np.hstack([a.scores, b.scores]), k)  # of equal scores the first, which has the lower id
    return TopK(np.where(best.ids == MISSING, MISSING, np.take_along_axis(ids, best.ids, axis=1)), best.scores)


class ExactIndex(Index):
    """All vectors, compared with every query; on an accelerator, where there is one, in half precision if wanted.

    Results are exact in any precision, see `xcwork.kernels.tensor_search`.
    """

    kind = "exact"

    def __init__(self, space: str = "cosine", *, device: str = "cpu", precision: str = "float32") -> None:
        super().__init__(space)
        if precision not in PRECISIONS:
            raise ConfigError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
        self.device, self.precision = device, precision
        self._tensors: dict[torch.device, TensorVectors] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dimension(self) -> int:
        return self._vectors.shape[1]

    def get_vectors(self, ids: np.ndarray) -> np.ndarray:
        return self._vectors[ids]

    def _get_ascending(self, ids: np.ndarray) -> np.ndarray:
        first, last = int(ids[0]), int(ids[-1])
        return self._vectors[first : last + 1] if last - first == len(ids) - 1 else self._vectors[ids]

    def _build(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self._tensors.clear()

    def _query(self, queries: np.ndarray, k: int, among: np.ndarray | None) -> TopK:
        place = find_tensor_device(self.device)
        if place is None:
            return self._query_exactly(queries, k, among)
        return self._query_with_tensors(queries, k, among, place)

    def _query_with_tensors(self, queries: np.ndarray, k: int, among: np.ndarray | None, place: torch.device) -> TopK:
        """Return the k best; the vectors are copied to the device once."""
        import torch

        from xcwork.kernels.tensor_search import TensorVectors

        if place not in self._tensors:
            self._tensors[place] = TensorVectors(send_arrays(place, self._vectors)[0], getattr(torch, self.precision))
        stored = self._tensors[place]
        if among is not None:
            stored = TensorVectors(stored.vectors[send_arrays(place, among)[0]], stored.precision)

        def search(part: slice) -> TopK:
            (some,) = send_arrays(place, block[part])
            ids, scores = fetch_arrays(*stored.search(some, k))
            return TopK(ids.astype(np.int32), scores)

        found: list[TopK] = []
        for start in track(range(0, len(queries), QUERIES_PER_BLOCK), "searching"):
            block = queries[start : start + QUERIES_PER_BLOCK]
            found += run_in_parts(len(block), search, place.type, "queries")
        best = TopK.concatenate(found)
        return best if among is None else best.renumber(among)

    def save(self, folder: str | Path) -> None:
        write_state(folder, {"kind": self.kind, "space": self.space, "vectors": self._vectors})

    @classmethod
    def load(cls, folder: str | Path) -> ExactIndex:
        """Return the index that `save` stored."""
        state = read_state(folder)
        if state.get("kind") != cls.kind:
            raise DataError("this folder does not hold a search index", file=folder)
        index = cls(state["space"])
        index._vectors = state["vectors"]
        return index
