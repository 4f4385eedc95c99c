"""Small files for tests of readers, and what was read of them."""

from __future__ import annotations

from pathlib import Path

from xcwork.core.dataset import Dataset


def write_folder(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files by their names, which may have a folder, and return the folder of all."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def list_documents(dataset: Dataset) -> dict[str, set[str]]:
    """Return the names of the labels of each text."""
    return {
        text: {dataset.labels.names[label] for label in split.Y[[row]].indices}
        for split in (dataset.train, dataset.test)
        for row, text in enumerate(split.texts or ())
    }
