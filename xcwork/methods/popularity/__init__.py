"""Popularity: every document gets the labels that training documents carry most often.

    s(x, l) = (training documents that carry l) / (training documents)

It reads nothing of the document, so it shows what a method earns for knowing the label frequencies alone: a method
that does not beat it has learned nothing. Cost: one count. It cannot predict a label that no training document carries.
"""

from xcwork.methods.popularity.method import Popularity

__all__ = ["Popularity"]
