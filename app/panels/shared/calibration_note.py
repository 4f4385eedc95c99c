"""What pages say where a run gives scores but no percentages."""

from __future__ import annotations

from xcwork_app import widgets

from xcwork.runs import Run
from xcwork.runs.calibration import find_obstacle


def describe_missing(run: Run) -> str:
    """Return the sentence as Markdown."""
    return f"Not calibrated: {find_obstacle(run) or f'train again or run `xcwork calibrate {run.id}`'}."


def show_missing(run: Run) -> None:
    """Say what to do, in place of what needs percentages."""
    widgets.show_empty(describe_missing(run), page="train", action="Train again")
