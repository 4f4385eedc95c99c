"""The datasets in `<home>/data` as files: find, delete and rename them, each with its stored options and its cache.

Only what lies directly in the data folder is ever changed; of a link the link alone. Whether a training still uses a
dataset is known one level up, in `xcwork.runs.manage`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from xcwork.data.load import (
    BUILT_IN,
    README,
    REVIEW_FOLDER,
    choose_name,
    drop_cache,
    locate_options,
    may_be_dataset,
)
from xcwork.errors import DataError
from xcwork.storage.atomic import remove_entry

SIGNS = ".,()+@=_-"  # in names, beside letters, digits and blanks
_UNSAFE = re.compile(rf"[^\w {re.escape(SIGNS)}]")


def find_dataset(name: str | Path, home: Path) -> Path:
    """Return the dataset of the data folder called `name`, which may also be its path."""
    if str(name).partition(":")[0] in BUILT_IN:
        raise DataError(f"{name} is built in", remedy="only datasets in the data folder can be deleted or renamed")
    given = Path(name)
    place = _place_in_folder(given if len(given.parts) > 1 else home / "data" / given, home)
    if not place.exists() or not may_be_dataset(place):
        raise DataError(f"there is no dataset {place.name!r} in the data folder", remedy="`xcwork datasets` lists them")
    return place


def remove_dataset(dataset: Path, home: Path) -> None:
    """Delete a dataset of the data folder with its options and everything that is cached of it."""
    place = _place_in_folder(dataset, home)
    if not place.is_symlink():
        drop_cache(place, home)
    remove_entry(place)
    locate_options(place).unlink(missing_ok=True)


def move_dataset(dataset: Path, folder: Path, home: Path) -> None:
    """Move a dataset of the data folder with its options to another folder; what is cached of it goes."""
    place = _place_in_folder(dataset, home)
    options = locate_options(place)
    if not place.is_symlink():
        drop_cache(place, home)
    place.rename(folder / place.name)
    with suppress(FileNotFoundError):
        options.rename(folder / options.name)


def _place_in_folder(path: Path, home: Path) -> Path:
    """Return `path` without links on the way to it; anything outside of the data folder is rejected."""
    place = path.parent.resolve() / path.name
    # A name without a dot in front rules out `..`, the cache and what is being uploaded.
    if place.parent != (home / "data").resolve() or not path.name or path.name.startswith("."):
        raise DataError(
            "only what lies in the data folder can be deleted or renamed",
            file=path,
            remedy="`xcwork datasets` lists what is there",
        )
    return place


def choose_place(dataset: Path, name: str) -> Path:
    """Return where a dataset will be under another name; a file keeps its suffix, by which it is recognised."""
    suffix = get_suffix(dataset)
    wanted = name.strip().removesuffix(suffix) + suffix
    if wanted != clean_name(wanted) or wanted in (*BUILT_IN, README):
        raise DataError(f"{name!r} cannot be the name of a dataset", remedy=f"use letters, digits and any of {SIGNS}")
    place = dataset.with_name(wanted)
    if os.path.lexists(place):
        raise DataError(f"the data folder already has something called {wanted!r}", remedy="choose another name")
    if dataset.is_file() and ".arff" in suffix.lower() and any(dataset.parent.glob("*.xml")):
        raise DataError("it is read with the XML file beside it", file=dataset, remedy="put both into a folder first")
    return place


def rename_dataset(dataset: Path, place: Path, home: Path) -> None:
    """Rename a dataset to what `choose_place` chose, together with its options and its reviews."""
    before, after = locate_options(dataset), locate_options(place)
    reviews = locate_reviews(choose_name(dataset), home)
    with remove_on_failure(after):
        after.unlink(missing_ok=True)  # of a file that was here before
        if before.exists():
            shutil.copyfile(before, after)
        if not dataset.is_symlink():
            drop_cache(dataset, home)
        dataset.rename(place)
    with suppress(OSError):  # the dataset has moved, so nothing may fail any more
        before.unlink()
    with suppress(OSError):
        moved = locate_reviews(choose_name(place), home)
        if not moved.exists():  # reviews are never overwritten
            reviews.rename(moved)


def locate_reviews(name: str, home: Path) -> Path:
    """Return the file in which the verdicts about the labels of the dataset called `name` are."""
    return home / "data" / REVIEW_FOLDER / f"{clean_name(name)}.jsonl"


def clean_name(name: str) -> str:
    """Return the last part of a path from anywhere, without signs that a file system or a shell could take amiss."""
    last = PurePosixPath(name.replace("\\", "/")).name
    cleaned = _UNSAFE.sub("_", last).strip(" .")
    return cleaned[-120:] or "upload"


def get_suffix(path: Path) -> str:
    """Return the end of a file name that says how to read it, such as `.csv.gz`; folders have none."""
    if path.is_dir():
        return ""
    packed = path.suffix.lower() in (".gz", ".zip")
    return (Path(path.stem).suffix if packed else "") + path.suffix


@contextmanager
def remove_on_failure(path: Path) -> Iterator[None]:
    """Delete `path`, if it exists by then, when the block fails for whatever reason."""
    try:
        yield
    except BaseException:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        raise
