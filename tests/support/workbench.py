"""A home with finished runs, for the verbs that look at them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

RED = "red \x1b[31mwine"  # a label that would colour the terminal
LABELS = ("solar power", "wind turbine", "rice cooking", "bread baking", RED)


class Workbench(NamedTuple):
    home: Path
    data: Path
    tfidf: dict[str, Any]
    popularity: dict[str, Any]
