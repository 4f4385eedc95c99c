"""Label trees: a document finds its labels by going down a tree of ever smaller sets of labels."""

from xcwork.methods.label_tree.method import LabelTree

__all__ = ["LabelTree"]
