"""A corpus of fruit with wrong names in it, so that even a good method is sometimes wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WORDS = ["apple", "pear", "plum", "cherry", "quince", "medlar"]


def write_orchard(folder: Path, n_documents: int) -> Path:
    """Write documents that mostly name their label, some of them wrongly."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for file, n in (("train.csv", n_documents), ("test.csv", 60)):
        rows = []
        for i in range(n):
            label, other = rng.choice(len(WORDS), 2, replace=False)
            named = other if rng.random() < 0.25 else label
            rows.append(f"{WORDS[named]} {WORDS[rng.integers(len(WORDS))]} number{i % 7},{WORDS[label]}")
        (folder / file).write_text("\n".join(["text,labels", *rows]) + "\n")
    return folder
