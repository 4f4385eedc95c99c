"""The entities that the document type of an XML file defines, written out before a parser sees the file.

Exports of thesauri define short names for their namespaces: `<!ENTITY skos "http://www.w3.org/2004/02/skos/core#">`.
Only such plain ones are read: an entity that refers to another one, to a file or to an address is refused, and so is a
text that would grow too much. Lines keep their numbers.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape

from xcwork.errors import DataError

MAX_ENTITIES = 1000
MAX_ENTITY_CHARACTERS = 1000
MAX_GROWTH_RATIO = 20  # of the text; honest files stay below 5
MIN_SUSPECT_CHARACTERS = 2**20  # below this size any growth is harmless
_REMEDY = "write out the entities and remove the DOCTYPE, or convert the file to Turtle"
_SKIPPED = re.compile(r"\s+|<!--.*?-->|<\?.*?\?>", re.DOTALL)
_START = re.compile(r"<!DOCTYPE\s+[\w:.-]+\s*")
_ENTITY = re.compile(r"""<!ENTITY\s+([\w:.-]+)\s+(?:"([^"&%<]*)"|'([^'&%<]*)')\s*>""")
_END = re.compile(r"\]\s*>")
_DEFINITION = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_REFERENCE = re.compile(r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|&([A-Za-z_][\w:.-]*);", re.DOTALL)


def write_out_entities(text: str, path: Path) -> str:
    """Return XML without its document type and with its entities written out; more than plain ones is refused."""
    start, end, entities = _read_document_type(text, path)
    # The line ends stay, so that a parser counts lines as the file has them.
    plain = text[:start] + "\n" * text.count("\n", start, end) + text[end:]
    if found := _DEFINITION.search(plain):
        raise _refuse(plain, found.start(), path)
    if not entities:
        return plain
    _check_growth(plain, entities, path)
    return _REFERENCE.sub(lambda found: entities.get(found[1], found[0]), plain)


def _read_document_type(text: str, path: Path) -> tuple[int, int, dict[str, str]]:
    """Return where the document type starts and ends, and its entities; an empty place where there is none."""
    start = _skip_blank(text, 0)
    opened = _START.match(text, start)
    if opened is None:
        return start, start, {}
    at = opened.end()
    if text[at : at + 1] == ">":
        return start, at + 1, {}
    if text[at : at + 1] != "[":
        raise _refuse(text, at, path)
    at = _skip_blank(text, at + 1)
    entities: dict[str, str] = {}
    while (found := _ENTITY.match(text, at)) is not None and len(entities) < MAX_ENTITIES:
        value = found[2] if found[2] is not None else found[3]
        if len(value) > MAX_ENTITY_CHARACTERS:
            raise _refuse(text, at, path)
        entities.setdefault(found[1], escape(value, {'"': "&quot;", "'": "&apos;"}))
        at = _skip_blank(text, found.end())
    closed = _END.match(text, at)
    if closed is None:
        raise _refuse(text, at, path)
    return start, closed.end(), entities


def _skip_blank(text: str, at: int) -> int:
    """Return the place of what follows after spaces, comments and processing instructions."""
    while (found := _SKIPPED.match(text, at)) is not None:
        at = found.end()
    return at


def _check_growth(text: str, entities: dict[str, str], path: Path) -> None:
    """Reject a text that would become too large, before it does."""
    size = len(text) + sum(len(entities.get(found[1], "")) for found in _REFERENCE.finditer(text))
    if size > max(MIN_SUSPECT_CHARACTERS, MAX_GROWTH_RATIO * len(text)):
        raise DataError(
            f"its entities make the file more than {MAX_GROWTH_RATIO} times larger", file=path, remedy=_REMEDY
        )


def _refuse(text: str, at: int, path: Path) -> DataError:
    return DataError(
        "the document type has more than plain entities, such as files, addresses or entities inside entities, which "
        "are not read",
        file=path,
        line=text.count("\n", 0, at) + 1,
        remedy=_REMEDY,
    )
