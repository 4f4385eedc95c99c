"""Which files of a folder are the training, test and validation documents, told by their names.

A word of the name says it: `train.txt`, `cooking.train.txt`, `Train_sample.json`, `hogwarts-test.tsv`, `dbpedia.valid`.
Without a test file the validation file is the test split, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from xcwork.data.readers.safe_files import VALIDATION_NAMES, get_bare_name
from xcwork.errors import DataError

TRAIN_NAMES = ("train", "training", "trn")
TEST_NAMES = ("test", "testing", "tst")
SPLIT_NAMES = {
    **dict.fromkeys(TRAIN_NAMES, "train"),
    **dict.fromkeys(TEST_NAMES, "test"),
    **dict.fromkeys(VALIDATION_NAMES, "validation"),
}
MAX_NAMED_FILES = 3  # in a note


@dataclass(frozen=True)
class SplitChoice:
    """The files to read; `notes` say which others were left out, or used for what they are not called."""

    train: Path
    test: Path | None = None  # None: documents of the training file are held out
    notes: tuple[str, ...] = ()


def find_split(file: Path) -> str | None:
    """Return `train`, `test` or `validation` if a word of the file's name says so, or None."""
    words = re.split(r"[^a-z]+", get_bare_name(file).lower())
    return next((SPLIT_NAMES[word] for word in words if word in SPLIT_NAMES), None)


def choose_splits(path: Path, files: Iterable[Path], test: str | None = None) -> SplitChoice | None:
    """Return what to read of the files of `path` (one file, or those of a folder); None if they do not tell.

    `test` names the file of the test split by its name, with or without its suffix, or by a word of it; an empty one
    asks to hold out documents of the training file.
    """
    candidates = sorted(files, key=lambda file: (len(get_bare_name(file)), file.name))
    if not candidates:
        return None
    found: dict[str, list[Path]] = {"train": [], "test": [], "validation": []}
    others: list[Path] = []
    for file in candidates:
        split = find_split(file)
        (others if split is None else found[split]).append(file)
    if path.is_file():
        train = path
    elif found["train"]:
        train = found["train"][0]
    elif len(candidates) == 1:
        train = candidates[0]
    elif len(others) == 1:
        train = others.pop()
    else:
        return None
    rest = [file for file in candidates if file != train]
    chosen = _choose_test_file(path, train, rest, found, test)
    notes = []
    if chosen is not None and test is None and find_split(chosen) == "validation":
        notes.append(f"{chosen.name} is the test split, because there is no test file")
    unused = [file.name for file in rest if file != chosen]
    if unused and not path.is_file():
        more = f" and {len(unused) - MAX_NAMED_FILES:,} more" if len(unused) > MAX_NAMED_FILES else ""
        named = f"{', '.join(unused[:MAX_NAMED_FILES])}{more} {'is' if len(unused) == 1 else 'are'} not used"
        notes.append(f"{named}; the option `test` names the file to test on")
    return SplitChoice(train, chosen, tuple(notes))


def _choose_test_file(
    path: Path, train: Path, rest: list[Path], found: dict[str, list[Path]], test: str | None
) -> Path | None:
    if path.is_file() and test is None:
        return None
    if test is None:
        return next((file for file in (*found["test"], *found["validation"]) if file != train), None)
    if not test:
        return None
    for file in rest:
        bare = get_bare_name(file)
        if test in (file.name, bare, Path(bare).stem):
            return file
    for file in rest:
        if test.lower() in re.split(r"[^a-z]+", get_bare_name(file).lower()):
            return file
    names = ", ".join(repr(Path(get_bare_name(file)).stem) for file in rest) or "none"
    raise DataError(f"there is no file {test!r} to test on", file=path, remedy=f"files to test on: {names}")


def choose_folders(path: Path) -> list[Path]:
    """Return the folders of the splits inside `path`, [train] or [train, test]; `path` itself where none is."""
    inside = [folder for folder in sorted(path.iterdir()) if folder.is_dir()]
    names = {split: [folder for folder in inside if find_split(folder) == split] for split in ("train", "test")}
    if len(names["train"]) != 1:
        return [path]
    return [*names["train"], *names["test"][:1]]
