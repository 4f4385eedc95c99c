"""Multi-head encoding: a few short heads instead of one enormous output layer."""

from xcwork.methods.multihead.method import MHC, MHP, MHS, Flat

__all__ = ["MHC", "MHP", "MHS", "Flat"]
