"""SKOS vocabularies in Turtle, N-Triples and RDF/XML: concepts with their labels, notations and broader concepts.

rdflib parses the syntax, from memory, so that it never opens an address; of its triples only those about labels are
kept, as plain text. RDF/XML goes to it as UTF-8 without a document type: plain entities are written out before (see
`xml_entities`), while those that can grow without bounds or name other files are refused.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from xcwork.compute.memory import check_memory
from xcwork.data.readers.safe_files import get_bare_name, read_bytes
from xcwork.data.readers.xml_entities import write_out_entities
from xcwork.errors import DataError
from xcwork.extras import require_package
from xcwork.progress import track

SYNTAXES = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".owl": "xml", ".xml": "xml"}
BYTES_PER_TEXT_BYTE = 15  # measured: 14 for Turtle, 10 for RDF/XML, of parsing and of what is kept
TRIPLES_PER_STEP = 10_000  # between two reports of progress
SKOS = "http://www.w3.org/2004/02/skos/core#"
SKOS_XL = "http://www.w3.org/2008/05/skos-xl#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
OWL_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
LABEL_KINDS = {
    f"{SKOS}prefLabel": "preferred",
    f"{SKOS}altLabel": "alternative",
    f"{SKOS}hiddenLabel": "alternative",
    f"{SKOS_XL}prefLabel": "preferred",
    f"{SKOS_XL}altLabel": "alternative",
    f"{SKOS_XL}hiddenLabel": "alternative",
}
_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")


@dataclass
class Concept:
    """What a vocabulary says about one concept; labels are pairs of language ('' without one) and name."""

    preferred: list[tuple[str, str]] = field(default_factory=list)
    alternative: list[tuple[str, str]] = field(default_factory=list)
    notation: str = ""
    broader: list[str] = field(default_factory=list)
    is_deprecated: bool = False


def read_concepts(path: Path) -> dict[str, Concept]:
    """Return the concepts of a file by their URIs, in the order in which they are first mentioned."""
    require_package("rdflib", f"the vocabulary {path.name}")
    syntax = SYNTAXES[Path(get_bare_name(path)).suffix.lower()]
    content = read_bytes(path)
    check_memory(BYTES_PER_TEXT_BYTE * len(content), "the vocabulary", path)
    if syntax == "xml":
        content = _make_plain_xml(content, path)
    collector = _collect_triples(content, syntax, path)
    concepts = {uri: collector.build_concept(uri) for uri in collector.list_concepts()}
    for uri, narrower in collector.narrower:
        if uri in concepts and narrower in concepts and uri not in concepts[narrower].broader:
            concepts[narrower].broader.append(uri)
    if not concepts:
        raise DataError(
            "there is no concept with a skos:prefLabel",
            file=path,
            remedy="give a SKOS vocabulary, or a TSV or CSV file",
        )
    return concepts


def _make_plain_xml(content: bytes, path: Path) -> bytes:
    """Return XML as UTF-8 without its declaration and its document type, with plain entities written out."""
    declared = _XML_ENCODING.search(content[:200])
    is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if is_wide else declared[1].decode("ascii") if declared else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except (UnicodeError, LookupError) as failure:
        raise DataError(f"the file is not {encoding} ({failure})", file=path, remedy="save it as UTF-8") from None
    plain = write_out_entities(_XML_DECLARATION.sub("", text.removeprefix("\ufeff"), count=1), path)
    check_memory(BYTES_PER_TEXT_BYTE * len(plain), "the vocabulary", path)
    return plain.encode("utf-8", "replace")


class TripleCollector:
    """The triples about labels that a parser reports, as plain text."""

    def __init__(self) -> None:
        self.typed: dict[str, None] = {}
        self.deprecated: set[str] = set()
        self.literals: dict[str, tuple[str, str]] = {}  # of SKOS-XL labels, by their nodes
        self.labels: dict[str, list[tuple[str, Any]]] = {}  # (kind, (language, name) or the node of a SKOS-XL label)
        self.notations: dict[str, str] = {}
        self.broader: dict[str, list[str]] = {}
        self.narrower: list[tuple[str, str]] = []

    def collect(self, subject: Any, predicate: Any, value: Any) -> None:
        """Keep a triple if it says something about a label."""
        uri = str(subject)
        name = str(predicate)
        if name in LABEL_KINDS:
            is_literal = hasattr(value, "language")
            label = (str(value.language or "").lower(), _clean_name(str(value))) if is_literal else str(value)
            self.labels.setdefault(uri, []).append((LABEL_KINDS[name], label))
        elif name == f"{SKOS_XL}literalForm" and hasattr(value, "language"):
            self.literals[uri] = (str(value.language or "").lower(), _clean_name(str(value)))
        elif name == RDF_TYPE and str(value) == f"{SKOS}Concept":
            self.typed[uri] = None
        elif name == f"{SKOS}notation":
            self.notations.setdefault(uri, _clean_name(str(value)))
        elif name == f"{SKOS}broader":
            self.broader.setdefault(uri, []).append(str(value))
        elif name == f"{SKOS}narrower":
            self.narrower.append((uri, str(value)))
        elif name == OWL_DEPRECATED and str(value).lower() in ("true", "1"):
            self.deprecated.add(uri)

    def list_concepts(self) -> Iterator[str]:
        """Yield what is called a concept; where nothing is, what has a preferred label."""
        if self.typed:
            yield from self.typed
            return
        for uri, labels in self.labels.items():
            if any(kind == "preferred" for kind, _ in labels):
                yield uri

    def build_concept(self, uri: str) -> Concept:
        concept = Concept(
            notation=self.notations.get(uri, ""),
            broader=list(dict.fromkeys(self.broader.get(uri, ()))),
            is_deprecated=uri in self.deprecated,
        )
        for kind, label in self.labels.get(uri, ()):
            named = self.literals.get(label) if isinstance(label, str) else label
            if named is not None and named[1]:
                (concept.preferred if kind == "preferred" else concept.alternative).append(named)
        return concept


def _clean_name(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def _drop_rdflib_messages() -> Iterator[None]:
    """Keep rdflib from logging a line for every address it dislikes; labels have them as they are."""
    term_log = logging.getLogger("rdflib.term")

    def drop(_: logging.LogRecord) -> bool:
        return False

    term_log.addFilter(drop)
    try:
        yield
    finally:
        term_log.removeFilter(drop)


def _collect_triples(content: bytes, syntax: str, path: Path) -> TripleCollector:
    from xml.sax import SAXException

    import rdflib
    from rdflib.exceptions import Error as RdfError
    from rdflib.exceptions import ParserError

    collector = TripleCollector()
    numbers = count()
    is_done: list[bool] = []
    steps = track(takewhile(lambda _: not is_done, count()), f"reading {path.name}")

    class CollectingGraph(rdflib.Graph):
        """A graph that hands every triple to the collector and keeps none."""

        def add(self, triple: Any) -> CollectingGraph:
            if next(numbers) % TRIPLES_PER_STEP == 0:
                next(steps)  # raises Cancelled when someone asks to stop
            collector.collect(*triple)
            return self

    try:
        with _drop_rdflib_messages():
            CollectingGraph().parse(data=content, format=syntax)
    except (
        SyntaxError,
        SAXException,
        RdfError,
        ParserError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        AssertionError,
        RecursionError,
    ) as failure:
        line = getattr(failure, "lines", None)
        if line is None and callable(find_line := getattr(failure, "getLineNumber", None)):
            line = find_line()
        reason = " ".join(str(failure).split())[:100] or type(failure).__name__
        raise DataError(
            f"the vocabulary cannot be read as {'RDF/XML' if syntax == 'xml' else syntax} ({reason})",
            file=path,
            line=line + 1 if isinstance(line, int) and syntax != "xml" else line if isinstance(line, int) else None,
            remedy="check that it is complete",
        ) from None
    is_done.append(True)
    next(steps, None)  # ends the phase
    return collector
