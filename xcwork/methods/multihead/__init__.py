"""Multi-head encoding: a few short heads in the place of one enormous output layer."""

from xcwork.methods.multihead.method import MHC, MHP, MHS, Flat

__all__ = ["MHC", "MHP", "MHS", "Flat"]
