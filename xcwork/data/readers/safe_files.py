"""Opening untrusted files: compressed or not, complete or not, honest or not.

Compression is recognised by content. Damage, a wrong encoding, an empty file and a file that unpacks to far more than
the machine can hold all become one `DataError` that names the file and the line reached.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from xcwork.compute.memory import check_memory, measure_available_memory
from xcwork.errors import DataError

VALIDATION_NAMES = ("dev", "valid", "validation", "val", "validate")  # what people call a file between train and test
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
BZIP2_MAGIC = b"BZh"
XZ_MAGIC = b"\xfd7zXZ\x00"
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")  # of a file that holds one other file without its name
MAX_XZ_BYTES = 2**27  # of memory for unpacking; `xz -9` needs 65 MiB, while a header may ask for 4 GiB
MAX_EXPANSION_RATIO = 250  # honest text stays below 20; a file of one repeated byte reaches 1000
MIN_SUSPECT_BYTES = 64 * 2**20  # below this many bytes any ratio is harmless
DELIMITERS = "\t;|,"  # what may separate fields; a comma is also in plain sentences, so it comes last
OTHER_ENCODING = "save the file as UTF-8, or say which encoding it has, such as encoding='latin-1'"
_DAMAGE = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)


def check_npz(path: Path) -> None:
    """Refuse an npz file whose arrays claim more than their entries hold, or more than the memory."""
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


class XzStream(io.RawIOBase):
    """The unpacked bytes of an xz file, which may be several after each other, within a limit of memory.

    `lzma.open` has no such limit: it allocates the dictionary that the header of the file asks for.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._unpacker = lzma.LZMADecompressor(memlimit=MAX_XZ_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._unpacker.eof:
                rest = (self._unpacker.unused_data or self._source.read(2**16)).lstrip(b"\0")  # streams may be padded
                if not rest:
                    return 0
                self._unpacker = lzma.LZMADecompressor(memlimit=MAX_XZ_BYTES)
            else:
                rest = self._source.read(2**16) if self._unpacker.needs_input else b""
                if not rest and self._unpacker.needs_input:
                    raise EOFError("it ends before its end mark")
            if content := self._unpacker.decompress(rest, len(buffer)):
                buffer[: len(content)] = content
                return len(content)


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
        except lzma.LZMAError as damage:
            if "memory" not in str(damage).lower():
                raise self._describe_damage(damage) from damage
            raise DataError(
                f"unpacking the file takes more than {MAX_XZ_BYTES // 2**20} MiB of memory",
                file=self._path,
                remedy="pack it again with `xz -9` or less, or with gzip",
            ) from damage
        except _DAMAGE as damage:
            raise self._describe_damage(damage) from damage
        except OSError as failure:
            raise _describe_unreadable(self._path, failure) from failure
        buffer[: len(content)] = content
        self._given += len(content)
        if self._compressed is not None:
            self._newlines += content.count(b"\n")
            self._check_expansion()
        return len(content)

    def _describe_damage(self, damage: Exception) -> DataError:
        return DataError(
            f"the compressed file is cut off or damaged ({damage})",
            file=self._path,
            line=self._newlines + 1,
            remedy="download or copy it again",
        )

    def _check_expansion(self) -> None:
        ratio = self._given / max(1, self._compressed or 1)
        if self._given > MIN_SUSPECT_BYTES and ratio > MAX_EXPANSION_RATIO:
            problem = (
                f"the file unpacks to more than {MAX_EXPANSION_RATIO} times its size, far more than any real dataset"
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
    """Return (uncompressed stream, size of the compressed file or None); `stack` closes whatever has to be closed."""
    size = path.stat().st_size
    if size == 0:
        raise DataError("the file is empty", file=path, remedy="download or write it again")
    with path.open("rb") as file:
        magic = file.read(6)
    if magic.startswith(GZIP_MAGIC):
        return stack.enter_context(gzip.open(path, "rb")), size  # type: ignore[return-value]
    if magic.startswith(BZIP2_MAGIC) and magic[3:4].isdigit():
        return stack.enter_context(bz2.open(path, "rb")), size  # type: ignore[return-value]
    if magic.startswith(XZ_MAGIC):
        return XzStream(stack.enter_context(path.open("rb"))), size  # type: ignore[return-value]
    if path.suffix in COMPRESSED_SUFFIXES:
        kind = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}[path.suffix]
        raise DataError(
            f"the name ends in {path.suffix} but the content is not {kind}",
            file=path,
            line=1,
            remedy="rename it or download it again",
        )
    if magic.startswith(ZIP_MAGIC):
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
    limit = 2**62 if streamed else int(0.9 * measure_available_memory())
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
    """Yield (line number, text without the line end) for every line of a text file."""
    for number, line in read_lines_with_ends(path, encoding):
        yield number, line.rstrip("\r\n")


def read_lines_with_ends(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number, text with the line end) for every line, without the byte order mark of the file."""
    with open_bytes(path) as stream:
        encoding = choose_encoding(stream.peek(4)[:4], encoding)
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


def read_head_lines(path: Path, encoding: str = "utf-8", size: int = 65536) -> list[str] | None:
    """Return the lines among the first unpacked bytes, to recognise a format by; None for a file that is not text.

    A line that is cut off at the end is left out, unless it is the only one.
    """
    head = read_head(path, size)
    text = codecs.getincrementaldecoder(choose_encoding(head, encoding))("replace").decode(head)
    if "\x00" in text or 20 * text.count("\ufffd") > len(text):
        return None
    lines = text.removeprefix("\ufeff").split("\n")
    if len(lines) > 1 and (len(head) == size or not lines[-1]):
        del lines[-1]
    return [line.rstrip("\r") for line in lines]


def peek_lines(path: Path) -> list[str]:
    """Return the lines among the first bytes of a file that are not blank, to recognise a format by.

    There are none in a file that is empty, damaged or not text: its reader, if it has one, says what is wrong with it,
    and it may only lie beside the files of a dataset.
    """
    if not path.stat().st_size:
        return []
    try:
        lines = read_head_lines(path)
    except DataError:
        return []
    return [line for line in lines or () if line.strip()]


def choose_encoding(head: bytes, encoding: str) -> str:
    """Return the encoding of a file that starts with `head`: a byte order mark overrides the default, UTF-8."""
    if encoding != "utf-8":
        return encoding
    marks = {  # those of UTF-32 first, because one of them begins like that of UTF-16
        codecs.BOM_UTF32_LE: "utf-32",
        codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16",
        codecs.BOM_UTF16_BE: "utf-16",
    }
    return next((marked for mark, marked in marks.items() if head.startswith(mark)), encoding)


def find_delimiter(lines: Sequence[str]) -> str | None:
    """Return what separates the fields of most lines, as often in each of them; None where nothing does."""
    full = [line for line in lines[:100] if line.strip()]
    shares = {mark: sum(mark in line for line in full) / max(1, len(full)) for mark in DELIMITERS}
    best = max(shares, key=lambda mark: (shares[mark], full[0].count(mark) if full else 0))
    return best if shares[best] > 0.5 else None


def list_files(folder: Path) -> list[Path]:
    """Return the files of a folder by name, without hidden ones."""
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of `names` that exists in `folder`, as it is or compressed."""
    for name in names:
        for suffix in ("", *COMPRESSED_SUFFIXES):
            if (path := folder / f"{name}{suffix}").is_file():
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
    return path.stem if path.suffix in (*COMPRESSED_SUFFIXES, ".zip") else path.name
