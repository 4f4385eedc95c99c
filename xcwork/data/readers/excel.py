"""The first sheet of an Excel workbook (`.xlsx`) as rows of cells.

A workbook is a zip archive of XML files. Sizes and entities are checked before openpyxl sees it. Rows are streamed, so
a cell in the last row of the last column, which Excel allows, does not become a table of 17 thousand million cells.
"""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xcwork.compute.memory import check_memory
from xcwork.data.readers.safe_files import MAX_EXPANSION_RATIO, MIN_SUSPECT_BYTES
from xcwork.errors import DataError
from xcwork.extras import require_package

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
OTHER_SPREADSHEETS = (".xls", ".ods")
MAX_ROWS = 2**20  # of a sheet, in every program that writes such files
BYTES_PER_XML_BYTE = 3  # Python objects of the shared texts of a workbook, which are read as a whole
SCANNED_BYTES = 2**16  # of each XML file; entities are declared before its first element


def read_excel_rows(path: Path, other_sheets: list[str] | None = None) -> Iterator[tuple[int, list[Any]]]:
    """Yield (row number, cells) of every row of the first sheet that is not empty.

    Other sheets are not read; `other_sheets` learns the names of those that people see.
    """
    if path.suffix.lower() in OTHER_SPREADSHEETS:
        raise DataError(f"{path.suffix} spreadsheets are not read", file=path, remedy="save it as .xlsx or as .csv")
    if path.suffix.lower() not in EXCEL_SUFFIXES:
        raise DataError("compressed workbooks cannot be read", file=path, remedy="unpack it first")
    require_package("openpyxl", "an Excel file")
    _check_archive(path)
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, which are not read
            book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
            try:
                sheets = book.worksheets
                if not sheets:
                    raise DataError("the workbook has no sheet", file=path, remedy="save it again")
                if other_sheets is not None:
                    other_sheets += [str(sheet.title) for sheet in sheets[1:] if sheet.sheet_state == "visible"]
                sheets[0].reset_dimensions()  # which are claimed by the file, not counted
                for number, cells in enumerate(sheets[0].iter_rows(values_only=True), start=1):
                    if number > MAX_ROWS:  # openpyxl would count up to whatever number a row claims
                        raise DataError(
                            f"a row is numbered beyond the {MAX_ROWS:,} that a sheet can have",
                            file=path,
                            line=number,
                            remedy="save it again, or as .csv",
                        )
                    if any(cell is not None for cell in cells):
                        yield number, list(cells)
            finally:
                book.close()
    except DataError:
        raise
    # openpyxl trusts what it reads, so that damage shows itself as almost any error.
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        SyntaxError,
        AssertionError,
        EOFError,
        RecursionError,
        NotImplementedError,
        RuntimeError,
        OSError,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
    ) as damage:
        raise _describe_damage(path, damage) from damage


def _check_archive(path: Path) -> None:
    """Reject a workbook that is no archive, unpacks to more than fits, or declares entities."""
    if path.stat().st_size == 0:
        raise DataError("the file is empty", file=path, remedy="download or write it again")
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > max(MIN_SUSPECT_BYTES, MAX_EXPANSION_RATIO * path.stat().st_size):
                raise DataError(
                    f"the workbook unpacks to more than {MAX_EXPANSION_RATIO} times its size",
                    file=path,
                    remedy="save it again, or as .csv",
                )
            check_memory(BYTES_PER_XML_BYTE * unpacked, "the workbook", path)
            for entry in archive.infolist():
                with archive.open(entry) as stream:
                    start = stream.read(SCANNED_BYTES)
                if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
                    raise DataError(
                        f"{entry.filename[:60]} in the workbook declares entities, which no spreadsheet needs",
                        file=path,
                        remedy="save it again, or as .csv",
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as damage:
        raise _describe_damage(path, damage) from damage


def _describe_damage(path: Path, damage: BaseException) -> DataError:
    reason = " ".join(str(damage).split())[:100] or type(damage).__name__
    return DataError(f"this is not an Excel workbook ({reason})", file=path, remedy="save it again, or as .csv")
