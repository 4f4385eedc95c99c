"""Popularity: every document gets the most frequent labels of the training documents."""

from xcwork.methods.popularity.method import Popularity

__all__ = ["Popularity"]
