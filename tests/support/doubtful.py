"""A small corpus with labels that were forgotten and labels too many, for a review."""

from __future__ import annotations

from pathlib import Path

FRUIT = ("apple", "pear", "plum", "fig")


def write_doubtful(file: Path, label_of_fig: str = "fig", hostile_text: str = "") -> Path:
    """Write 160 documents that name their labels; of some the second label is missing, some have one too many."""
    rows = []
    for number in range(40):
        for at, fruit in enumerate(FRUIT):
            other = FRUIT[(at + 1 + number % 3) % len(FRUIT)]
            named, labels = (fruit, other), (fruit, other)
            if number % 4 == 0:
                labels = (fruit,)
            elif number % 10 == 2:
                named = (fruit,)
            elif number % 4 != 1:
                named = labels = (fruit,)
            cell = " ".join(label_of_fig if label == "fig" else label for label in labels)
            rows.append(f'{" and ".join(named)} {hostile_text} number {number},"{cell}"')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["text,labels", *rows]) + "\n")
    return file
