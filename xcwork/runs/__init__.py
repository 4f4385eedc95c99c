"""Runs: one folder each, plain files, no server. `RunStore` finds them, `jobs` starts, stops and resumes them."""

from xcwork.runs.store import Run, RunStore, get_figure

__all__ = ["Run", "RunStore", "get_figure"]
