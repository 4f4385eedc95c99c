"""A small corpus whose right answer is known: every document names its fruit, which is its label."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

FRUIT = ("apple", "pear", "plum")
DOCUMENTS_PER_FRUIT = 20
DOCUMENTS_PER_HOSTILE_LABEL = 6


def write_fruit(file: Path, hostile_labels: Iterable[str] = (), hostile_text: str = "") -> Path:
    """Write sixty documents about fruit, and six for each label that would like to be a script or a formula."""
    rows = [f"{fruit} number {i} {fruit},{fruit}" for i in range(DOCUMENTS_PER_FRUIT) for fruit in FRUIT]
    labels = list(hostile_labels)
    rows += [f'{hostile_text} {i},"{label}"' for i in range(DOCUMENTS_PER_HOSTILE_LABEL) for label in labels]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["text,labels", *rows]) + "\n")
    return file
