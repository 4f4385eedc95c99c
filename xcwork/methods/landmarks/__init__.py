"""Landmark label selection: predict a few informative labels well and reconstruct the rest from them."""

from xcwork.methods.landmarks.method import Landmarks

__all__ = ["Landmarks"]
