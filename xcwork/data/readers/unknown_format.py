"""The message where no format fits: what the file looks like, the two nearest formats, and what each of them lacks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xcwork.data.readers.declaration import Finding, join_names, list_names
from xcwork.data.readers.safe_files import find_delimiter, get_bare_name, read_head_lines
from xcwork.errors import DataError

MAX_SHOWN_CHARACTERS = 80
MAX_SHOWN_COLUMNS = 8
MAX_SHOWN_FILES = 5
N_NEAREST = 2
DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def describe_unknown_format(path: Path, findings: dict[str, Finding], titles: Mapping[str, str]) -> DataError:
    """Return the error about a path that no reader accepts."""
    # Of formats that are equally near, the general ones come last in the list, and are the more likely ones.
    names = list(findings)
    nearest = sorted(names, key=lambda name: (findings[name].nearness, names.index(name)), reverse=True)[:N_NEAREST]
    missing = " ".join(
        f"({number}) format {name!r}, {titles[name]}: it lacks {findings[name].missing}."
        for number, name in enumerate(nearest, start=1)
    )
    return DataError(
        f"{describe_content(path)}, and no format fits",
        file=path,
        remedy=f"the nearest: {missing} `xcwork describe PATH --explain` shows what every format looks for",
    )


def describe_content(path: Path) -> str:
    """Return what a file or folder looks like, in one phrase."""
    if path.is_dir():
        names = [*list_names(path), *sorted(f"{folder.name}/" for folder in path.iterdir() if folder.is_dir())]
        more = ", …" if len(names) > MAX_SHOWN_FILES else ""
        return f"a folder with {', '.join(names[:MAX_SHOWN_FILES])}{more}" if names else "a folder with no files"
    lines = read_head_lines(path)
    if lines is None:
        return f"a binary file called {get_bare_name(path)}"
    first = next((line for line in lines if line.strip()), "")
    shown = f"a text file called {get_bare_name(path)} whose first line is {shorten_line(first)!r}"
    delimiter = find_delimiter(lines)
    if delimiter is None:
        return shown
    columns = [shorten_line(column, 20) for column in first.split(delimiter)]
    listed = join_names([repr(column) for column in columns[:MAX_SHOWN_COLUMNS]])
    more = ", …" if len(columns) > MAX_SHOWN_COLUMNS else ""
    return f"{shown}, {len(columns)} columns separated by {DELIMITER_NAMES[delimiter]} ({listed}{more})"


def shorten_line(line: str, max_characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """Return the beginning of a line, without characters that would disturb a terminal."""
    clean = "".join(character if character.isprintable() else " " for character in line[: 4 * max_characters])
    clean = " ".join(clean.split())
    return clean if len(clean) <= max_characters else f"{clean[: max_characters - 1]}…"
