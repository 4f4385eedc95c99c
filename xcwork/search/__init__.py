"""Finding the best: `top_k_rows` on score matrices, `Index` on vectors (exact or HNSW behind one interface)."""

from xcwork.search.exact import top_k_rows

__all__ = ["top_k_rows"]
