"""A part of `pyseealso` as a file of one's own: some hundred documents and labels of five packages."""

from __future__ import annotations

import csv
from pathlib import Path

from xcwork.data.load import load_dataset

STEP = 4  # every fourth training document
MAX_CHARACTERS = 500
PACKAGES = ("numpy", "scipy", "pandas", "sklearn", "networkx")


def write_seealso(file: Path) -> Path:
    """Write the documents with their labels, whose names begin with a package."""
    dataset = load_dataset("pyseealso")
    train, names = dataset.train, dataset.labels.names
    assert train.texts is not None  # of the built-in dataset
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["text", "labels"])
        for row in range(0, len(train), STEP):
            labels = train.Y.indices[train.Y.indptr[row] : train.Y.indptr[row + 1]]
            rows.writerow([train.texts[row][:MAX_CHARACTERS], ";".join(names[label] for label in labels.tolist())])
    return file
