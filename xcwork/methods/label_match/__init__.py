"""Label matching: a document gets the labels whose own text shares terms with it. Nothing is learned from Y."""

from xcwork.methods.label_match.method import BM25, TfidfMatch

__all__ = ["BM25", "TfidfMatch"]
