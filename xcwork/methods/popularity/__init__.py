"""Popularity: every document gets the labels that training documents carry most often."""

from xcwork.methods.popularity.method import Popularity

__all__ = ["Popularity"]
