"""Readers: one file per format, chosen by looking at the names of the files and then at their content.

A reader module declares its format as `FORMAT` (see `declaration`), and has `inspect(path)`, which says what it saw in
a few bytes, and `read(path, name, **options)`. A new format is a new module and a line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, get_args, get_origin, get_type_hints

from xcwork.core.dataset import Dataset
from xcwork.data.readers.declaration import Finding, FormatDeclaration
from xcwork.data.readers.safe_files import find_validation_files, find_zip_member
from xcwork.data.readers.text_options import WORD_OPTIONS, sort_rewrite_options
from xcwork.data.readers.unknown_format import describe_unknown_format
from xcwork.data.self_links import check_choice, filter_self_links
from xcwork.errors import ConfigError, DataError
from xcwork.storage.atomic import find_links_out

# The first whose `inspect` accepts a path reads it, so the special formats stand before the general ones.
FORMATS = {
    "stored": "native",
    "zestxml": "zestxml",
    "splits": "split_files",
    "lf_json": "lf_json",
    "pecos": "pecos",
    "lines": "line_files",
    "documents": "document_folder",
    "folders": "class_folders",
    "idx": "idx",
    "huggingface": "huggingface",
    "fasttext": "fasttext",
    "text2text": "text2text",
    "mulan": "mulan",
    "svmlight": "svmlight",
    "xc": "xc",
    "annif": "annif",
    "table": "tabular",
}  # name of the format: module of its reader
_NOT_OPTIONS = ("path", "name", "return")


def import_reader(name: str) -> ModuleType:
    if name not in FORMATS:
        raise ConfigError(f"there is no format {name!r}; known are {', '.join(FORMATS)}")
    return import_module(f"xcwork.data.readers.{FORMATS[name]}")


def list_formats() -> list[FormatDeclaration]:
    """Return the declarations of all formats, in the order in which they are tried."""
    return [import_reader(name).FORMAT for name in FORMATS]


def find_reader(path: Path) -> ModuleType | None:
    """Return the reader of a file or folder, or None."""
    for name in FORMATS:
        reader = import_reader(name)
        if reader.inspect(path).is_match:
            return reader
    return None


def explain_choice(path: Path) -> dict[str, Finding]:
    """Return what the reader of each format saw in a file or folder; the first match reads it."""
    findings = {}
    with raise_data_errors(path):
        for name in FORMATS:
            try:
                findings[name] = import_reader(name).inspect(path)
            except DataError as error:
                findings[name] = Finding.refuse(error.problem)
    return findings


def list_options(reader: ModuleType) -> dict[str, Any]:
    """Return the types of a format's options by name, as the signature of its `read` has them."""
    return {option: hint for option, hint in get_type_hints(reader.read).items() if option not in _NOT_OPTIONS}


def choose_reader(path: Path, format: str | None = None) -> ModuleType:
    """Return the reader of a path; without one, an error says what it looks like and which formats are near."""
    if not path.exists():
        raise DataError("there is no such file or folder", file=path, remedy="check the path")
    if path.is_dir():
        with raise_data_errors(path):
            refuse_links(path)
    if path.is_file() and path.suffix == ".zip":
        find_zip_member(path)  # an archive that is damaged or holds several files gets its own sentence
    if format is not None:
        reader = import_reader(format)
        finding = reader.inspect(path)
        if not (finding.is_match or finding.can_try):
            missing = f"it lacks {finding.missing}" if finding.missing else f"expected: {reader.FORMAT.title}"
            raise DataError(f"this is not the format {format!r}", file=path, remedy=missing)
        return reader
    with raise_data_errors(path):
        found = find_reader(path)
        if found is None:
            titles = {name: import_reader(name).FORMAT.title for name in FORMATS}
            raise describe_unknown_format(path, explain_choice(path), titles)
        return found


def refuse_links(folder: Path) -> None:
    """Reject links out of a folder: one from somewhere else may lead to any file of ours."""
    if out := find_links_out(folder):
        raise DataError("a link out of the dataset is not followed", file=out[0], remedy="copy the file instead")


def read(reader: ModuleType, path: Path, name: str, options: Mapping[str, Any]) -> Dataset:
    """Return the dataset at `path`; an unknown option, or one of the wrong type, is rejected by its name.

    `self_links` is an option of all formats but `stored`, which keeps what was decided before it was stored. Formats
    with texts have the options of `text_options.WORD_OPTIONS`.
    """
    types = list_options(reader)
    if get_format_name(reader) != "stored":
        types["self_links"] = str
    if "vectorizer" in types:
        types = WORD_OPTIONS | types
    for option, value in options.items():
        if option not in types:
            raise ConfigError(
                f"the format {get_format_name(reader)} has no option {option!r}; it has {', '.join(types)}"
            )
        allowed = [get_origin(hint) or hint for hint in get_args(types[option]) or [types[option]]]
        if not isinstance(value, (*allowed, int) if float in allowed else tuple(allowed)):
            wanted = " or ".join(kind.__name__ for kind in allowed if kind is not NoneType)
            raise ConfigError(f"the option {option} must be of type {wanted}, got {value!r}")
    given = sort_rewrite_options(options, has_vocabulary="language" in list_options(reader))
    self_links = given.pop("self_links", "auto")
    check_choice(self_links)
    with raise_data_errors(path):
        dataset = reader.read(path, name, **given)
        if get_format_name(reader) != "stored":
            dataset = filter_self_links(dataset, self_links)
        # A reader that can test on another file says itself which ones it left out.
        unused = find_validation_files(path) if path.is_dir() and "test" not in types else []
    notes = (f"{file.name} is not used; to test on it, put it in place of the test file" for file in unused)
    return replace(dataset, notes=(*dataset.notes, *notes))


@contextmanager
def raise_data_errors(path: Path) -> Iterator[None]:
    """Turn failures of the machine into errors about the data."""
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise DataError(
            f"a file cannot be read ({reason})", file=failure.filename or path, remedy="check it"
        ) from failure
    except MemoryError as failure:
        raise DataError("there is not enough memory", file=path, remedy="use a subset of the data") from failure


def get_format_name(reader: ModuleType) -> str:
    """Return the name of the format that a reader reads."""
    return str(reader.FORMAT.name)
