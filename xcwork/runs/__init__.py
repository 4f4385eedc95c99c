"""Runs: one folder each, plain files, no server. `RunStore` finds them, `jobs` starts, stops and resumes them."""

from xcwork.runs.store import Run, RunStore, measured

__all__ = ["Run", "RunStore", "measured"]
