"""Folders with a file of texts and a file of labels for each split, one document per line in both.

The names are those of SCHEMES: AttentionXML has `train_texts.txt` (or `train_raw_texts.txt`) and `train_labels.txt`,
CascadeXML `train_raw_texts.txt` and `Y.trn.txt`, others `X.trn.txt` and `Y.trn.txt`. A line of labels lists ids
(`3,7` or `3 7` or `3:1 7:1`, perhaps below a header) or names. Ids count the lines of a file with the names of the
labels, from 0, where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options
from xcwork.data.readers.label_file import find_label_file
from xcwork.data.readers.safe_files import find_file, peek_lines, read_lines
from xcwork.data.readers.separators import PUNCTUATION, SPACE, find_separator, split_at
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="lines",
    title="texts and labels in files of their own, one document per line: train_texts.txt with train_labels.txt, "
    "train_raw_texts.txt with Y.trn.txt, …",
    files=("train_texts.txt", "train_labels.txt", "test_texts.txt", "test_labels.txt", "label_map.txt"),
    options=describe_options(
        "encoding",
        "test_share",
        "vectorizer",
        separator="what separates the labels of a line",
        label_file="a file with the name of each label, one per line, counted from 0",
    ),
    example={
        "train_texts.txt": "red wine from old grapes\ngreen tea leaves\nwine and tea\n",
        "train_labels.txt": "wine\ntea\nwine tea\n",
        "test_texts.txt": "a glass of wine\n",
        "test_labels.txt": "wine\n",
    },
)


@dataclass(frozen=True)
class NamingScheme:
    """How a project calls its two files; `{split}` stands for the words of TRAIN_WORDS and TEST_WORDS."""

    texts: str
    labels: str


TEXT_FILES = (
    "{split}_raw_texts.txt",
    "{split}_texts.txt",
    "X.{split}.txt",
    "{split}_X.txt",
    "raw/{split}_X.txt",
    "{split}.txt",
)
LABEL_FILES = ("{split}_labels.txt", "{split}_raw_labels.txt", "Y.{split}.txt", "{split}_Y.txt", "{split}_X_Y.txt")
SCHEMES = tuple(NamingScheme(texts, labels) for texts in TEXT_FILES for labels in LABEL_FILES)
TRAIN_WORDS = ("train", "trn")
TEST_WORDS = ("test", "tst")
NAME_FILES = ("label_map.txt", "output-items.txt", "Z.all.txt", "labels.txt", "Y.txt", "raw/Y.txt")
_HEADER = re.compile(r"\d+\s+\d+")
_ID = re.compile(r"\d{1,9}(?::[^\s,:]+)?")
_NUMBERED_NAME = re.compile(r"(\d{1,9})\t(.*)")


def inspect(path: Path) -> Finding:
    if not path.is_dir():
        return Finding.refuse("a folder with train_texts.txt and train_labels.txt")
    found = _find_pair(path, TRAIN_WORDS)
    if found is not None:
        return Finding.accept(f"{found[0].name} and {found[1].name}")
    if texts := [scheme.texts for scheme in SCHEMES if _find_words(path, scheme.texts, TRAIN_WORDS) is not None]:
        file = _find_words(path, texts[0], TRAIN_WORDS)
        return Finding.refuse(
            "train_labels.txt or Y.trn.txt, one line per document", seen=file.name if file else "", nearness=0.7
        )
    return Finding.refuse("train_texts.txt and train_labels.txt")


def read(
    path: Path,
    name: str,
    *,
    separator: str | None = None,
    label_file: str | None = None,
    encoding: str = "utf-8",
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    pairs = [pair for words in (TRAIN_WORDS, TEST_WORDS) if (pair := _find_pair(path, words)) is not None]
    texts = [_read_texts(file, encoding) for file, _ in pairs]
    label_lines = [
        _read_label_lines(file, len(split), text_file, encoding)
        for split, (text_file, file) in zip(texts, pairs, strict=True)
    ]
    labels, how = _split_lines(label_lines, separator)
    known, notes = _find_names(path, labels, label_file, encoding)
    splits = [RawSplit(texts=split, labels=rows) for split, rows in zip(texts, labels, strict=True)]
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=known,
        source=f"texts and labels in lines, {' and '.join(file.name for pair in pairs for file in pair)} ({how})",
        notes=notes,
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _find_pair(path: Path, words: tuple[str, ...]) -> tuple[Path, Path] | None:
    """Return the texts and the labels of a split, by the first scheme whose two files exist."""
    for scheme in SCHEMES:
        texts = _find_words(path, scheme.texts, words)
        labels = _find_words(path, scheme.labels, words)
        if texts is not None and labels is not None and not (scheme.texts == "{split}.txt" and _is_matrix(texts)):
            return texts, labels
    return None


def _is_matrix(file: Path) -> bool:
    """Return whether a file begins with counts, as those of XC-repository text do, or is empty."""
    lines = peek_lines(file)
    return not lines or all(word.isdigit() for word in lines[0].split())


def _find_words(path: Path, pattern: str, words: tuple[str, ...]) -> Path | None:
    return find_file(path, *(pattern.format(split=word) for word in words))


def _read_texts(file: Path, encoding: str) -> list[str]:
    return [line.strip() for _, line in read_lines(file, encoding)]


def _read_label_lines(file: Path, n_documents: int, text_file: Path, encoding: str) -> list[str]:
    """Return the lines of labels, one per document, without a header that counts rows and columns."""
    lines = [line.strip() for _, line in read_lines(file, encoding)]
    if len(lines) == n_documents + 1 and _HEADER.fullmatch(lines[0]):
        return lines[1:]
    if len(lines) != n_documents:
        raise DataError(
            f"there are {len(lines):,} lines of labels, but {n_documents:,} texts in {text_file.name}",
            file=file,
            line=min(len(lines), n_documents) + 1,
            remedy="give one line of labels for each text; it may be empty",
        )
    return lines


def _split_lines(lines: list[list[str]], separator: str | None) -> tuple[list[list[list[str]]], str]:
    """Return the labels of every line of every split, and how lines were understood."""
    full = [line for rows in lines for line in rows if line]
    if separator is None and all(_ID.fullmatch(word) for line in full for word in re.split(r"[\s,]+", line) if word):
        return [[_read_ids(line) for line in rows] for rows in lines], "ids"
    if separator is None:
        separator = "\t" if any("\t" in line for line in full) else find_separator(full, "labels")
        separator = separator if separator in ("\t", *PUNCTUATION) else SPACE
    shown = {"\t": "tabs", SPACE: "spaces"}.get(separator, f"`{separator}`")
    return [[split_at(separator, line) for line in rows] for rows in lines], f"names separated by {shown}"


def _read_ids(line: str) -> list[str]:
    """Return the ids of a line, each once, without those whose value is 0."""
    kept: dict[str, None] = {}
    for word in re.split(r"[\s,]+", line):
        label, _, value = word.partition(":")
        if label and value not in ("0", "0.0"):
            kept[str(int(label))] = None
    return list(kept)


def _find_names(
    path: Path, labels: list[list[list[str]]], option: str | None, encoding: str
) -> tuple[RawLabels, list[str]]:
    """Return the labels with names where their keys are ids and a file has a line for each of them."""
    keys = {key for rows in labels for row in rows for key in row}
    file = find_file(path, *NAME_FILES) if option is None else find_label_file(option, path)
    if file is None or not all(key.isascii() and key.isdigit() for key in keys):
        return RawLabels(), []
    names = [line.strip() for _, line in read_lines(file, encoding)]
    max_id = max(map(int, keys), default=-1)
    numbered = [_NUMBERED_NAME.fullmatch(name) for name in names]
    if all(found is not None and int(found[1]) == number for number, found in enumerate(numbered)):
        names = [found[2].strip() for found in numbered if found is not None]
    if len(names) <= max_id:
        problem = f"{file.name} has {len(names):,} lines, but ids go up to {max_id:,}"
        if option is not None:
            raise DataError(problem, file=file, remedy="use the file that belongs to these documents")
        return RawLabels(), [f"{problem}, so it does not name the labels"]
    uids = [str(number) for number in range(len(names))]
    known = RawLabels(names=[name or uid for name, uid in zip(names, uids, strict=True)], texts=names, uids=uids)
    return known, [f"names of labels are from {file.name}"]
