"""What verbs print: one JSON document for scripts, or text and tables for people, and the records of runs in both."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from xcwork.runs import Run

FIGURE_DIGITS = {"train_seconds": 2, "predict_ms_per_document": 3, "peak_memory_mb": 1}


def print_result(as_json: bool, payload: Mapping[str, Any], *parts: RenderableType | str) -> None:
    """Print the result of a verb: `payload` as JSON, or the readable parts one after the other."""
    from xcwork.export.terminal import open_output
    from xcwork.export.text import clean_text

    if as_json:
        print_json(payload)
        return
    console = open_output()
    for part in parts:
        if isinstance(part, str):
            console.print(clean_text(part), soft_wrap=True)
        else:
            console.print(part)


def print_json(payload: Mapping[str, Any]) -> None:
    """Print one JSON document on standard output, with nothing in it that a terminal would obey."""
    from xcwork.export.json_text import to_json

    sys.stdout.write(to_json(payload, indent=2) + "\n")
    sys.stdout.flush()


def round_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the figures with two decimals."""
    return {name: round(value, 2) for name, value in figures.items()}


def build_record(run: Run) -> dict[str, Any]:
    """Return a run as scripts see it: percentages with two decimals, times and memory rounded too."""
    facts = run.to_dict()
    for scope in ("metrics", "seen", "unseen"):
        facts[scope] = round_figures(facts[scope])
    for name, digits in FIGURE_DIGITS.items():
        if facts[name] is not None:
            facts[name] = round(facts[name], digits)
    return facts
