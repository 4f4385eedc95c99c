"""The first line of a sparse text file: `N F L` or `rows columns`, believed only as far as file and memory allow."""

from __future__ import annotations

from pathlib import Path

from xcwork.compute.memory import check_memory
from xcwork.data.readers.safe_files import MAX_EXPANSION_RATIO, open_bytes
from xcwork.errors import DataError

MAX_ID = 2**31 - 2  # ids are stored as int32
MAX_UNPROVEN_COLUMNS = 10_000_000  # more columns than this and than bytes in the file: the header is wrong
MAX_HEADER_BYTES = 200  # bytes of an honest header

XC_NAMES = ("documents", "features", "labels")
MATRIX_NAMES = ("rows", "columns")


def parse_header(line: bytes, count: int) -> list[int] | None:
    """Return the numbers of a header line, or None when it is none."""
    words = line.removeprefix(b"\xef\xbb\xbf").split()
    if len(words) != count or not all(word.isdigit() and len(word) < 20 for word in words):
        return None
    return [int(word) for word in words]


def read_header(path: Path, names: tuple[str, ...]) -> list[int]:
    """Return the numbers on the first line, one for each of `names`, checked."""
    with open_bytes(path, streamed=True) as stream:
        line = stream.readline(MAX_HEADER_BYTES)
    numbers = parse_header(line, len(names))
    if numbers is None:
        shown = ascii(line[:40].decode("latin-1").strip())
        remedy = f"the first line must be the {len(names)} numbers `{' '.join(names)}`"
        if names == XC_NAMES and parse_header(line, 2) is not None:
            remedy += "; if this is one of several split files, give their folder"
        raise DataError(f"the header {shown} is wrong", file=path, line=1, remedy=remedy)
    check_promises(path, names, numbers)
    return numbers


def check_promises(path: Path, names: tuple[str, ...], numbers: list[int], *, packed: bool | None = None) -> None:
    """Refuse a header that cannot be true before anything is allocated: every row takes at least its line end.

    `packed` says whether the file is compressed, which its name tells otherwise.
    """
    packed = path.suffix in (".gz", ".zip") if packed is None else packed
    size = path.stat().st_size * (MAX_EXPANSION_RATIO if packed else 1)
    for name, number in zip(names, numbers, strict=True):
        rows = name == names[0]
        if not rows and number > MAX_ID:
            problem = f"more than {MAX_ID:,} are not supported"
        elif number > (size if rows else max(MAX_UNPROVEN_COLUMNS, size)):
            problem = f"too many for a file of {path.stat().st_size:,} bytes"
        else:
            continue
        raise DataError(
            f"the header promises {number:,} {name}, {problem}",
            file=path,
            line=1,
            remedy="correct the header or complete the file",
        )
    # Two row pointers a document; a name for every label and feature.
    check_memory(16 * numbers[0] + 80 * sum(numbers[1:]), "what the header promises", path)


def check_agreement(path: Path, names: tuple[str, ...], numbers: list[int], other: Path, wanted: list[int]) -> None:
    """Refuse two files that promise different columns."""
    for name, number, expected in zip(names, numbers, wanted, strict=True):
        if number != expected:
            raise DataError(
                f"the header promises {number:,} {name} but {other.name} has {expected:,}",
                file=path,
                line=1,
                remedy="use files that belong together, or correct the header",
            )
