"""Finding the best: of score matrices and sparse products (exact), and of vectors (`Index`: exact or HNSW)."""

from xcwork.search.exact import top_k_product, top_k_rows
from xcwork.search.factory import load_index, make_index
from xcwork.search.index import ExactIndex, Index
from xcwork.search.terms import TermSearch

__all__ = ["ExactIndex", "Index", "TermSearch", "load_index", "make_index", "top_k_product", "top_k_rows"]
