"""EAGLE: learning from labels that are known for groups of documents only."""

from xcwork.methods.eagle.method import Eagle

__all__ = ["Eagle"]
