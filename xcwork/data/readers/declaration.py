"""How a reader declares its format, and what it says about files it looked at.

Everything that people read about formats is made from these declarations: the table, the examples and the options in
data/README.md, the help of the Data page, `xcwork describe --explain` and the message where no format fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from xcwork.data.readers.safe_files import find_file, get_bare_name

MAX_LISTED_FILES = 1000  # of a folder, to compare their names with those that are missing
MIN_SIMILARITY = 0.75  # of two names of files, from which on one may be meant as the other

# Options that several formats have, with the words that explain them everywhere.
SHARED_OPTIONS = {
    "allow_negative": "`true` accepts negative values",
    "delimiter": "what separates fields, such as `;`",
    "encoding": "encoding of the files, such as `latin-1`; UTF-8 and UTF-16 with a byte order mark need no option",
    "label_file": "a file that describes the labels: `labels.*`, a vocabulary (TSV, CSV, Turtle, RDF/XML), or a text "
    "file with one name per line; a path (`~` is your home folder)",
    "label_text": "text of a label: `all` (title and alternative labels) or `title`",
    "language": "language of the texts, and of the names in a vocabulary, such as `en`",
    "one_based": "`true` for files that count from 1 instead of 0",
    "test": "the file to test on, such as `dev`; an empty one holds out documents of the training file",
    "test_share": "share of the documents held out for testing where there is no test file",
    "text": "fields that make up a text: `both`, `title` or `content`",
    "vectorizer": 'options of the text features, such as `{"ngrams": 1, "stem": true}`',
}


def describe_options(*shared: str, **own: str) -> dict[str, str]:
    """Return the help of each option: words of SHARED_OPTIONS for the shared ones, the given words for the others."""
    return own | {name: SHARED_OPTIONS[name] for name in shared}


@dataclass(frozen=True)
class FormatDeclaration:
    """What people need to know about a format; types and defaults of the options are those of the reader's `read`."""

    name: str  # what the option `format` calls it
    title: str  # one line for people
    files: tuple[str, ...]  # names of the files it looks for
    options: Mapping[str, str]  # help by name
    example: Mapping[str, str] = field(default_factory=dict)  # content by file name: a small dataset
    example_code: str = ""  # Python that writes a small dataset into the working directory, for binary formats


@dataclass(frozen=True)
class Finding:
    """What a reader saw in a file or folder; `missing` says why it is not in this format."""

    is_match: bool
    seen: str = ""
    missing: str = ""
    nearness: float = 0.0  # how much of what the reader looks for is there: 0 nothing, 1 everything
    can_try: bool = False  # whether options may make it fit, so that the reader tries when the user names its format

    @classmethod
    def accept(cls, seen: str) -> Finding:
        return cls(True, seen=seen, nearness=1.0)

    @classmethod
    def refuse(cls, missing: str, *, seen: str = "", nearness: float = 0.0, can_try: bool = False) -> Finding:
        return cls(False, seen, missing, nearness, can_try)


def look_for_files(path: Path, *required: str) -> Finding:
    """Return whether a folder has all the `required` files, compressed or not, and which it lacks."""
    wanted = join_names(required)
    if not path.is_dir():
        return Finding.refuse(f"a folder with {wanted}", seen="a single file")
    missing = [name for name in required if find_file(path, name) is None]
    found = [name for name in required if name not in missing]
    if not missing:
        return Finding.accept(join_names(found))
    similar = {name: other for name in missing if (other := find_similar_name(path, name)) is not None}
    hints = [f"{name} (there is {similar[name]})" if name in similar else name for name in missing]
    nearness = (len(found) + 0.5 * len(similar)) / len(required)
    return Finding.refuse(join_names(hints), seen=join_names(found) or "none of its files", nearness=nearness)


def find_similar_name(folder: Path, name: str) -> str | None:
    """Return the file of a folder whose name is most like `name`, or None where none is."""
    files = list_names(folder)
    ratios = {file: SequenceMatcher(None, file.lower(), name.lower()).ratio() for file in files}
    best = max(ratios, key=lambda file: ratios[file], default=None)
    return best if best is not None and ratios[best] >= MIN_SIMILARITY else None


def list_names(folder: Path) -> list[str]:
    """Return the names that the first files of a folder have once they are unpacked."""
    names = []
    for file in folder.iterdir():
        if file.is_file() and not file.name.startswith("."):
            names.append(get_bare_name(file))
        if len(names) == MAX_LISTED_FILES:
            break
    return sorted(names)


def join_names(names: tuple[str, ...] | list[str]) -> str:
    """Return names as a phrase: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""
