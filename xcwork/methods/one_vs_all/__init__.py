"""One-vs-all: every label gets a linear classifier that tells its documents from all others."""

from xcwork.methods.one_vs_all.method import OneVsAll

__all__ = ["OneVsAll"]
