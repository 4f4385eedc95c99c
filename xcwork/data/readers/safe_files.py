"""Opening untrusted files: compressed or not, complete or not, honest or not.

Compression is recognised by content. Damage, a wrong encoding, an empty file and a file that unpacks to far more than
the machine can hold all become one `DataError` that names the file and the line reached.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from xcwork.compute.memory import available_memory, check_memory
from xcwork.errors import DataError

VALIDATION_NAMES = ("dev", "valid", "validation", "val")  # what people call a file between train and test
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
MAX_EXPANSION_RATIO = 250  # honest text stays below 20; a file of one repeated byte reaches 1000
MIN_SUSPECT_BYTES = 64 * 2**20  # below this many bytes any ratio is harmless
OTHER_ENCODING = "save the file as UTF-8, or say which encoding it has, such as encoding='latin-1'"
_DAMAGE = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)


def check_npz(path: Path) -> None:
    """No array of an npz file may claim more than its entry holds, nor all of them more than the memory."""
    with zipfile.ZipFile(path) as archive:
        check_memory(sum(entry.file_size for entry in archive.infolist()), "the arrays", path)
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                version = np.lib.format.read_magic(stream)
                read_header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[version]
                shape, _, dtype = read_header(stream)
                if int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize > entry.file_size:
                    raise ValueError(f"{entry.filename} claims more values than it holds")


class GuardedStream(io.RawIOBase):
    """A stream that counts what it gives out and turns damage into a `DataError`."""

    def __init__(self, path: Path, source: BinaryIO, compressed: int | None, limit: int) -> None:
        self._path, self._source, self._compressed, self._limit = path, source, compressed, limit
        self._given = self._newlines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            content = self._source.read(len(buffer))
        except _DAMAGE as damage:
            raise DataError(
                f"the compressed file is cut off or damaged ({damage})",
                file=self._path,
                line=self._newlines + 1,
                remedy="download or copy it again",
            ) from damage
        except OSError as failure:
            raise _describe_unreadable(self._path, failure) from failure
        buffer[: len(content)] = content
        self._given += len(content)
        if self._compressed is not None:
            self._newlines += content.count(b"\n")
            self._check_expansion()
        return len(content)

    def _check_expansion(self) -> None:
        ratio = self._given / max(1, self._compressed or 1)
        if self._given > MIN_SUSPECT_BYTES and ratio > MAX_EXPANSION_RATIO:
            problem = (
                f"the file unpacks to more than {MAX_EXPANSION_RATIO} times its size, which no honest dataset does"
            )
        elif self._given > self._limit:
            problem = f"the file unpacks to more than the {self._limit / 2**30:.1f} GiB of memory that are free"
        else:
            return
        raise DataError(problem, file=self._path, remedy="unpack and check it first, or use a subset of it")


def _describe_unreadable(path: Path, failure: OSError) -> DataError:
    reason = failure.strerror or str(failure)
    return DataError(f"the file cannot be read ({reason})", file=path, remedy="check the path and its permissions")


def _open_raw(path: Path, stack: ExitStack) -> tuple[BinaryIO, int | None]:
    """(uncompressed stream, size of the compressed file or None); `stack` closes whatever has to be closed."""
    size = path.stat().st_size
    if size == 0:
        raise DataError("the file is empty", file=path, remedy="download or write it again")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(GZIP_MAGIC):
        return stack.enter_context(gzip.open(path, "rb")), size  # type: ignore[return-value]
    if path.suffix == ".gz":
        raise DataError(
            "the name ends in .gz but the content is not gzip",
            file=path,
            line=1,
            remedy="rename it or download it again",
        )
    if magic == ZIP_MAGIC:
        archive = stack.enter_context(zipfile.ZipFile(path))
        return stack.enter_context(archive.open(find_zip_member(path))), size  # type: ignore[return-value]
    return stack.enter_context(path.open("rb")), None


def find_zip_member(path: Path) -> str:
    """Return the name of the one file inside a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [
                entry
                for entry in archive.infolist()
                if entry.filename and not entry.is_dir() and "__MACOSX" not in entry.filename
            ]
    except (*_DAMAGE, OSError) as damage:
        raise DataError(
            f"the zip archive is damaged ({damage})", file=path, remedy="download or copy it again"
        ) from damage
    if len(members) != 1:
        raise DataError(
            f"the archive holds {len(members)} files, one is expected",
            file=path,
            remedy="unpack it and give the folder",
        )
    return members[0].filename


@contextmanager
def open_bytes(path: Path, *, streamed: bool = False) -> Iterator[io.BufferedReader]:
    """Open the unpacked bytes of a file. `streamed`: the caller does not keep them, so memory is no limit."""
    limit = 2**62 if streamed else int(0.9 * available_memory())
    with ExitStack() as stack:
        try:
            source, compressed = _open_raw(path, stack)
        except OSError as failure:
            raise _describe_unreadable(path, failure) from failure
        except _DAMAGE as damage:
            raise DataError(
                f"the file is damaged ({damage})", file=path, remedy="download or copy it again"
            ) from damage
        yield stack.enter_context(io.BufferedReader(GuardedStream(path, source, compressed, limit), 2**20))


def read_bytes(path: Path) -> bytes:
    """Return the whole unpacked content."""
    if path.exists():
        check_memory(path.stat().st_size, "the file", path)
    with open_bytes(path) as stream:
        return stream.read()


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """(line number, text without the line end) for every line of a text file."""
    for number, line in read_lines_with_ends(path, encoding):
        yield number, line.rstrip("\r\n")


def read_lines_with_ends(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """(line number, text with the line end) for every line; a byte order mark at the start of the file is dropped."""
    with open_bytes(path) as stream:
        if _is_one_byte("\n", encoding):
            for number, line in enumerate(stream, start=1):
                yield number, decode_line(line, path, number, encoding)
        else:
            yield from _read_wide_lines(stream, path, encoding)


def _is_one_byte(character: str, encoding: str) -> bool:
    try:
        return len(character.encode(encoding)) == 1
    except (LookupError, ValueError):
        raise _describe_unknown_encoding(encoding) from None


def _read_wide_lines(stream: BinaryIO, path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file in UTF-16 or UTF-32, where a line does not end at the byte of a line feed."""
    text = io.TextIOWrapper(stream, encoding, newline="\n")
    number = 0
    try:
        for number, line in enumerate(text, start=1):
            yield number, line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeError as failure:
        raise DataError(
            f"the file is not {encoding} from this line on ({failure})",
            file=path,
            line=number + 1,
            remedy=OTHER_ENCODING,
        ) from None


def _describe_unknown_encoding(encoding: str) -> DataError:
    return DataError(f"there is no encoding called {encoding!r}", remedy="try utf-8, utf-16 or latin-1")


def decode_line(line: bytes, path: Path, number: int, encoding: str = "utf-8") -> str:
    """Return the text of one line; a byte order mark at the start of the file is dropped."""
    try:
        text = line.decode(encoding)
    except LookupError:
        raise _describe_unknown_encoding(encoding) from None
    except UnicodeError as failure:
        marked = number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        at = f"byte {failure.start + 1} of the line" if isinstance(failure, UnicodeDecodeError) else "the line"
        remedy = "the file begins like UTF-16: say encoding='utf-16'" if marked else OTHER_ENCODING
        raise DataError(f"{at} is not {encoding}", file=path, line=number, remedy=remedy) from None
    return text.removeprefix("\ufeff") if number == 1 else text


def read_head(path: Path, size: int = 65536) -> bytes:
    """Return the first unpacked bytes, to recognise a format by."""
    with open_bytes(path) as stream:
        return stream.read(size)


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of `names` that exists in `folder`, as it is or gzipped."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None


def find_validation_files(folder: Path) -> list[Path]:
    """Return the files of a folder that are called validation data, such as `dev.txt` or `X.val.npz`."""
    words = {
        file: re.split(r"[^a-z]+", get_bare_name(file).lower()) for file in sorted(folder.iterdir()) if file.is_file()
    }
    return [file for file in words if not set(VALIDATION_NAMES).isdisjoint(words[file])]


def get_bare_name(path: Path) -> str:
    """Return the name a file has once it is unpacked: `cooking.csv.zip` and `cooking.csv.gz` are `cooking.csv`."""
    if path.suffix == ".zip" and not path.with_suffix("").suffix:
        try:
            return Path(find_zip_member(path)).name
        except DataError:
            return path.name  # no dataset file, or one that its reader will complain about
    return path.stem if path.suffix in (".gz", ".zip") else path.name
