"""Files and folders that are replaced in one step, so that a crash leaves the old content or the new.

Every file or folder is written beside its destination and renamed into place; a reader never sees a part of it.
"""

from __future__ import annotations

import ctypes
import glob
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# What reading a damaged or hostile file can run into.
DAMAGE_ERRORS = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
DELETED_SUFFIX = ".deleted"  # how names of entries end that are out of sight and about to go


def find_links_out(folder: Path) -> list[Path]:
    """Return the links in `folder`, and in the folders directly in it, that lead to something outside.

    An untrusted folder could make us read, or append to, any file of the user's.
    """
    links = []
    with os.scandir(folder) as inside:  # says without another look what an entry is, and every record asks for this
        for entry in inside:
            if entry.is_symlink():
                links.append(Path(entry.path))
            elif entry.is_dir():
                with os.scandir(entry.path) as deeper:
                    links += [Path(each.path) for each in deeper if each.is_symlink()]
    real = folder.resolve() if links else folder
    return [link for link in links if not link.resolve().is_relative_to(real)]


@contextmanager
def create_folder(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `folder` when the block ends well, and vanishes when it does not."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:8]}.tmp"
    temporary.mkdir()
    try:
        yield temporary
        _put_in_place(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(temporary: Path, folder: Path) -> None:
    """Rename `temporary` to `folder`. What is there changes places with it, so that there is never nothing."""
    try:
        temporary.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        if not _exchange_entries(temporary, folder):
            replaced = temporary.with_suffix(".old")
            folder.rename(replaced)
            temporary.rename(folder)
            shutil.rmtree(replaced)


def _exchange_entries(one: Path, other: Path) -> bool:
    """Swap two entries of a file system in one step; False where the system cannot do that."""
    library = ctypes.CDLL(None)
    at_working_folder = -100
    swap = 2
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):  # Linux
        return library.renameat2(at_working_folder, names[0], at_working_folder, names[1], swap) == 0
    return hasattr(library, "renamex_np") and library.renamex_np(*names, swap) == 0  # macOS


def remove_entry(path: Path) -> None:
    """Delete a file, link or folder: it disappears in one step, then its content goes.

    What an interrupted deletion left beside it goes as well. A link is deleted, never what it leads to.
    """
    doomed = path.rename(path.with_name(f".{uuid.uuid4().hex}{DELETED_SUFFIX}"))
    leftovers = [entry for entry in path.parent.glob(f".*{DELETED_SUFFIX}") if entry != doomed]
    with suppress(FileNotFoundError):  # another deletion took it for a leftover
        _delete_now(doomed)
    for leftover in leftovers:
        with suppress(OSError):
            _delete_now(leftover)


def _delete_now(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


@contextmanager
def create_file(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file that becomes `path` when the block ends well, and vanishes otherwise."""
    path = Path(path)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_drafts(path: str | Path) -> None:
    """Remove the temporary files of a process that was killed while it replaced the file at `path`."""
    path = Path(path)
    for draft in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        draft.unlink(missing_ok=True)


def write_bytes(path: str | Path, content: bytes) -> None:
    """Replace the file at `path` in one step."""
    with create_file(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | Path, content: str) -> None:
    """Replace the text file at `path` in one step."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: str | Path, content: Any) -> None:
    """Replace the JSON file at `path` in one step."""
    write_bytes(path, encode_json(content, indent=2) + b"\n")


def encode_json(content: Any, *, indent: int | None = None) -> bytes:
    """Return JSON in UTF-8, readable in any language."""
    try:
        return json.dumps(content, ensure_ascii=False, indent=indent).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold, but JSON can escape
        return json.dumps(content, indent=indent).encode("ascii")
