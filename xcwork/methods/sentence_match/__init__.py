"""Sentence matching: a document gets the labels whose text means the same. Nothing is learned from Y."""

from xcwork.methods.sentence_match.method import SentenceMatch

__all__ = ["SentenceMatch"]
