"""Folders whose names are the labels of the texts inside: `sport/1.txt`, `politics/2.txt`; also in train and test.

A file of the same name and content in several folders is one document with several labels, as in Ohsumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawSplit
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options
from xcwork.data.readers.safe_files import get_bare_name, list_files, peek_lines, read_lines
from xcwork.data.readers.split_names import choose_folders, find_split
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.progress import track

FORMAT = FormatDeclaration(
    name="folders",
    title="one folder per label with a text file per document: sport/1.txt, politics/2.txt; also in folders train and "
    "test",
    files=("sport/1.txt", "politics/2.txt"),
    options=describe_options("encoding", "test_share", "vectorizer"),
    example={
        "sport/1.txt": "The team won its match.\n",
        "sport/2.txt": "A race in the rain.\n",
        "politics/1.txt": "The vote was close.\n",
        "politics/3.txt": "A new law about rain.\n",
    },
)
MIN_LABELS = 2
MAX_FOLDERS_LOOKED_INTO = 20
TEXT_SUFFIX = ".txt"


def inspect(path: Path) -> Finding:
    missing = "two or more folders, named by a label, with nothing but text files in them"
    if not path.is_dir():
        return Finding.refuse(missing)
    folders = _list_labels(choose_folders(path)[0])
    if len(folders) < MIN_LABELS or any(find_split(folder) is not None for folder in folders):
        return Finding.refuse(missing, seen=f"{len(folders):,} folders")
    other = next((folder for folder in folders[:MAX_FOLDERS_LOOKED_INTO] if not _has_only_texts(folder)), None)
    if other is not None:
        return Finding.refuse(missing, seen=f"{len(folders):,} folders; {other.name} has other files, too")
    return Finding.accept(f"{len(folders):,} folders of texts, such as {folders[0].name}")


def read(
    path: Path,
    name: str,
    *,
    encoding: str = "utf-8",
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    splits = [_read_split(folder, encoding) for folder in choose_folders(path)]
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        source="one folder per label, one file per document",
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _list_labels(folder: Path) -> list[Path]:
    return sorted(inside for inside in folder.iterdir() if inside.is_dir() and not inside.name.startswith("."))


def _has_only_texts(folder: Path) -> bool:
    """Return whether a folder has text files and nothing else; their names end in .txt, or are numbers."""
    files = list_files(folder)
    names = [Path(get_bare_name(file)) for file in files]
    is_named = all(name.suffix.lower() == TEXT_SUFFIX or name.name.isdigit() for name in names)
    return bool(files) and is_named and not _list_labels(folder) and bool(peek_lines(files[0]))


def _read_split(folder: Path, encoding: str) -> RawSplit:
    documents: dict[tuple[str, str], list[str]] = {}
    for label in track(_list_labels(folder), f"reading {folder.name}"):
        for file in list_files(label):
            text = "\n".join(line for _, line in read_lines(file, encoding)) if file.stat().st_size else ""
            documents.setdefault((get_bare_name(file), text.strip()), []).append(label.name)
    return RawSplit(texts=[text for _, text in documents], labels=list(documents.values()))
