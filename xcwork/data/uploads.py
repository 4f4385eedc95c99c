"""Files that arrive through a browser: staged, looked at, and only then moved into `<home>/data`.

Names are cleaned, numbers and sizes are limited, archives are unpacked without following the paths inside, and nothing
appears in the data folder before it is complete. What nobody keeps is swept away a day later.

How a kept table is to be read (its columns, say) is stored beside it in `.<name>.options.json`, which `load_dataset`
reads, so that the command line and notebooks find the same dataset.
"""

from __future__ import annotations

import shutil
import time
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

from xcwork.data.data_folder import clean_name, remove, removed_on_failure, suffix_of
from xcwork.data.load import BUILT_IN, options_file
from xcwork.errors import DataError
from xcwork.storage.atomic import write_json

MOST_FILES = 100
MOST_BYTES = 4 * 2**30  # unpacked
DAY = 86_400


def stage(files: Sequence[tuple[str, IO[bytes]]], home: Path) -> Path:
    """The uploaded (name, content) pairs as a file, or as a folder when there are several; nothing is read yet."""
    if not files:
        raise DataError("nothing was uploaded", remedy="choose a file")
    if len(files) > MOST_FILES:
        raise DataError(f"{len(files)} files are too many for one dataset", remedy=f"upload at most {MOST_FILES}")
    root = home / "data" / ".uploads"
    _sweep(root)
    folder = root / uuid.uuid4().hex
    with removed_on_failure(folder):
        room = _Room(folder)
        for name, content in files:
            room.copy(content, clean_name(name))
        if len(files) > 1:
            return folder
        only = folder / clean_name(files[0][0])
        return _unpacked(only) if only.suffix.lower() == ".zip" else only


def keep(staged: Path, home: Path, *, name: str = "", options: Mapping[str, Any] | None = None) -> Path:
    """Move what was staged into the data folder, under a name that is free there; returns where it is now."""
    wanted = clean_name(name or _stem(staged))
    suffix = suffix_of(staged)
    target = _free(home / "data", wanted.removesuffix(suffix), suffix)
    with removed_on_failure(options_file(target)):
        options_file(target).unlink(missing_ok=True)  # of a file that was here before
        if options:
            write_json(options_file(target), dict(options))
        staged.rename(target)
    discard(staged)
    return target


@contextmanager
def kept_if_readable(
    staged: Path, home: Path, *, name: str = "", options: Mapping[str, Any] | None = None
) -> Iterator[Path]:
    """Keep an upload for a block that reads it; whatever makes the block fail, the upload goes again."""
    kept = keep(staged, home, name=name, options=options)
    try:
        yield kept
    except BaseException:  # also too little memory, a full disk, and a visitor who leaves the page meanwhile
        remove(kept, home)
        raise


def discard(staged: Path) -> None:
    """Remove what was staged."""
    parts = staged.parts
    if ".uploads" in parts:
        shutil.rmtree(Path(*parts[: parts.index(".uploads") + 2]), ignore_errors=True)


class _Room:
    """Copies streams into a folder until the limit is reached."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.left = folder, min(MOST_BYTES, int(0.9 * shutil.disk_usage(folder).free))

    def copy(self, content: IO[bytes], *place: str) -> None:
        target = self.folder.joinpath(*place)
        if target.exists():
            raise DataError(f"two of the files are called {target.name!r}", remedy="rename one of them")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            while block := content.read(2**20):
                self.left -= len(block)
                if self.left < 0:
                    raise DataError(
                        "the upload is larger than the limit or than the space on the disk",
                        file=target.name,
                        remedy="put it on this machine yourself and give its path",
                    )
                file.write(block)
        if target.stat().st_size == 0:
            raise DataError("the file is empty", file=target.name, remedy="upload it again; it may have been cut off")


def _unpacked(archive: Path) -> Path:
    """A folder for an archive of several files; an archive of one file is a dataset as it is."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if _is_content(member)]
            if len(members) == 1:
                return archive
            if not members or len(members) > MOST_FILES:
                raise DataError(
                    f"the archive holds {len(members):,} files, between 1 and {MOST_FILES} are expected",
                    file=archive.name,
                    remedy="pack one dataset",
                )
            room = _Room(archive.parent / clean_name(archive.stem))
            places = [PurePosixPath(member.filename).parts for member in members]
            above = 1 if len({parts[0] for parts in places}) == 1 and all(len(parts) > 1 for parts in places) else 0
            for member, parts in zip(members, places, strict=True):
                with opened.open(member) as content:
                    # No format looks further down than one folder.
                    room.copy(content, *map(clean_name, parts[above:][-2:]))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as damage:
        raise DataError(
            f"the archive is damaged ({damage})", file=archive.name, remedy="upload it again; it may have been cut off"
        ) from damage
    return room.folder


def _is_content(member: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(member.filename).parts
    return bool(parts) and not member.is_dir() and "__MACOSX" not in parts and not parts[-1].startswith(".")


def _stem(staged: Path) -> str:
    """What to call a folder of loose files: like the staging folder if nothing better is known."""
    return "upload" if staged.parent.name == ".uploads" else staged.name


def _free(folder: Path, stem: str, suffix: str) -> Path:
    """A place in `folder` that nothing has yet, and that no built-in dataset hides."""
    number = 1
    while (path := folder / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}").exists() or path.name in BUILT_IN:
        number += 1
    return path


def _sweep(root: Path) -> None:
    for folder in root.iterdir() if root.is_dir() else ():
        with suppress(FileNotFoundError):  # another session was faster
            if time.time() - folder.stat().st_mtime > DAY:
                shutil.rmtree(folder, ignore_errors=True)
