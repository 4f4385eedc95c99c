"""Nearest documents: a document gets the labels of the training documents it resembles most."""

from xcwork.methods.nearest_documents.method import NearestDocuments

__all__ = ["NearestDocuments"]
