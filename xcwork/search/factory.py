"""Which index suits some vectors, and which one a folder holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xcwork.errors import ConfigError
from xcwork.progress import report
from xcwork.search.hnsw import HnswIndex
from xcwork.search.index import MIN_GRAPH_VECTORS, QUERIES_PER_BLOCK, ExactIndex, Index


def make_index(
    vectors: np.ndarray, kind: str = "auto", *, space: str = "cosine", seed: int = 0, device: str = "cpu"
) -> Index:
    """Return an index of `vectors`: `exact`, which searches on `device`, `hnsw`, or whichever suits their number.

    The recall of a new graph is measured on some of its own vectors, kept as `measured_recall`, and reported. Queries
    of another kind, such as documents in an index of labels, can fare worse: `measure_recall` measures it for them.
    """
    if kind not in ("auto", "exact", "hnsw"):
        raise ConfigError(f"kind must be auto, exact or hnsw, got {kind!r}")
    if kind == "exact" or (kind == "auto" and len(vectors) < MIN_GRAPH_VECTORS):
        return ExactIndex(space, device=device).build(vectors)
    index = HnswIndex(space, seed=seed).build(vectors)
    sample = np.random.default_rng(seed).permutation(len(vectors))[:QUERIES_PER_BLOCK]
    index.measured_recall = index.measure_recall(index.get_vectors(sample))
    report("searching", recall=index.measured_recall)
    return index


def load_index(folder: str | Path) -> Index:
    """Return the index that `save` stored."""
    return HnswIndex.load(folder) if HnswIndex.is_stored_in(folder) else ExactIndex.load(folder)
