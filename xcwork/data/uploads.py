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

from xcwork.data.data_folder import clean_name, get_suffix, remove_dataset, remove_on_failure
from xcwork.data.load import BUILT_IN, locate_options
from xcwork.errors import DataError
from xcwork.storage.atomic import write_json

MAX_FILES = 100
MAX_BYTES = 4 * 2**30  # unpacked
MAX_DISK_SHARE = 0.9  # of the free space
MAX_STAGED_SECONDS = 86_400  # after which an upload that nobody kept is swept away


def stage_files(files: Sequence[tuple[str, IO[bytes]]], home: Path) -> Path:
    """Return the uploaded (name, content) pairs as a file, or as a folder of several; nothing is read yet."""
    if not files:
        raise DataError("nothing was uploaded", remedy="choose a file")
    if len(files) > MAX_FILES:
        raise DataError(f"{len(files)} files are too many for one dataset", remedy=f"upload at most {MAX_FILES}")
    root = home / "data" / ".uploads"
    _sweep_old(root)
    folder = root / uuid.uuid4().hex
    with remove_on_failure(folder):
        room = UploadFolder(folder)
        for name, content in files:
            room.copy(content, clean_name(name))
        if len(files) > 1:
            return folder
        only = folder / clean_name(files[0][0])
        return _unpack(only) if only.suffix.lower() == ".zip" else only


def keep_staged(staged: Path, home: Path, *, name: str = "", options: Mapping[str, Any] | None = None) -> Path:
    """Move what was staged into the data folder, under a name that is free there; returns where it is now."""
    wanted = clean_name(name or _choose_name(staged))
    suffix = get_suffix(staged)
    target = _find_free_place(home / "data", wanted.removesuffix(suffix), suffix)
    with remove_on_failure(locate_options(target)):
        locate_options(target).unlink(missing_ok=True)  # of a file that was here before
        if options:
            write_json(locate_options(target), dict(options))
        staged.rename(target)
    discard_staged(staged)
    return target


@contextmanager
def keep_if_readable(
    staged: Path, home: Path, *, name: str = "", options: Mapping[str, Any] | None = None
) -> Iterator[Path]:
    """Keep an upload for a block that reads it; whatever makes the block fail, the upload goes again."""
    kept = keep_staged(staged, home, name=name, options=options)
    try:
        yield kept
    except BaseException:  # also too little memory, a full disk, and a visitor who leaves the page meanwhile
        remove_dataset(kept, home)
        raise


def discard_staged(staged: Path) -> None:
    """Remove what was staged."""
    parts = staged.parts
    if ".uploads" in parts:
        shutil.rmtree(Path(*parts[: parts.index(".uploads") + 2]), ignore_errors=True)


class UploadFolder:
    """Copies streams into a folder until the limit is reached."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.left = folder, min(MAX_BYTES, int(MAX_DISK_SHARE * shutil.disk_usage(folder).free))

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
                        remedy="copy it to this machine and give its path",
                    )
                file.write(block)
        if target.stat().st_size == 0:
            raise DataError("the file is empty", file=target.name, remedy="upload it again; it may have been cut off")


def _unpack(archive: Path) -> Path:
    """Return a folder for an archive of several files; an archive of one file is a dataset as it is."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if _is_content(member)]
            if len(members) == 1:
                return archive
            if not members or len(members) > MAX_FILES:
                raise DataError(
                    f"the archive holds {len(members):,} files, between 1 and {MAX_FILES} are expected",
                    file=archive.name,
                    remedy="pack one dataset",
                )
            room = UploadFolder(archive.parent / clean_name(archive.stem))
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


def _choose_name(staged: Path) -> str:
    """Return what to call a folder of loose files: like the staging folder if nothing better is known."""
    return "upload" if staged.parent.name == ".uploads" else staged.name


def _find_free_place(folder: Path, stem: str, suffix: str) -> Path:
    """Return a place in `folder` that nothing has yet, and that no built-in dataset hides."""
    number = 1
    while (path := folder / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}").exists() or path.name in BUILT_IN:
        number += 1
    return path


def _sweep_old(root: Path) -> None:
    for folder in root.iterdir() if root.is_dir() else ():
        with suppress(FileNotFoundError):  # another session was faster
            if time.time() - folder.stat().st_mtime > MAX_STAGED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
