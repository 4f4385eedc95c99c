"""Vocabularies of subjects as label files: URI, name, notation, alternative names and broader subjects.

Three forms: a TSV file without a header, `<uri><TAB>name` (and optionally a notation); a table with the columns `uri`,
`notation` and `label_en`, `label_fi` or another language; and SKOS (see `skos`). Names are in one language: the one
asked for, or the one that has most names, and a note says so. A subject without a name in that language has one of
another language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xcwork.data.raw import RawLabels
from xcwork.data.readers.columns import CSV_SUFFIXES, read_table
from xcwork.data.readers.safe_files import get_bare_name, list_files, peek_lines, read_head_lines, read_lines
from xcwork.data.readers.skos import SYNTAXES, Concept, read_concepts
from xcwork.errors import ConfigError, DataError
from xcwork.extras import is_installed

URI_COLUMNS = ("uri", "iri", "concept", "subject")
_LANGUAGE = r"(?:[_@:-]([a-z]{2,3}(?:-[a-z]+)?))?"
LABEL_COLUMN = re.compile(f"(?:label|preflabel|pref_label|name|title){_LANGUAGE}", re.IGNORECASE)
ALTERNATIVE_COLUMN = re.compile(f"(?:altlabel|alt_label|alt_labels){_LANGUAGE}", re.IGNORECASE)
VOCABULARY_WORDS = frozenset({"subjects", "subject", "vocab", "vocabulary", "thesaurus", "concepts", "terms", "skos"})
RDF_SUFFIXES = (".ttl", ".rdf", ".nt")  # of files that are vocabularies whatever they are called
TABLE_SUFFIXES = (*CSV_SUFFIXES, ".txt")
MAX_FILES_LOOKED_INTO = 50  # of a folder where no file is called like a vocabulary
MAX_PROLOGUE_LINES = 100  # of an XML file, before its first element
MAX_SIZE_FOUND_BYTES = 512 * 2**20  # a larger file is read only when `label_file` names it
_SUBJECT_COLUMN = re.compile(
    f"{'|'.join(URI_COLUMNS)}|notation|code|broader|parents?|{LABEL_COLUMN.pattern}|{ALTERNATIVE_COLUMN.pattern}"
)
_URI = re.compile(r"<[^<>\s]+>|(?:https?|urn|ftp|info|doi|ark)://?\S+|urn:\S+", re.IGNORECASE)


@dataclass(frozen=True)
class SubjectVocabulary:
    """The subjects of a vocabulary, each with one item per field; a field that no subject has is None."""

    path: Path
    uris: list[str]
    names: list[str]
    uri_by_name: Mapping[str, str]  # names in any language, without case, and notations
    notations: list[str] | None = None
    alternatives: list[list[str]] | None = None
    parents: list[list[str]] | None = None
    notes: tuple[str, ...] = ()

    def resolve_labels(self, labels: Iterable[Sequence[str]]) -> list[list[str]]:
        """Return the labels of documents as URIs: of subjects that are named by URI, by name or by notation.

        What the vocabulary does not know stays as it is.
        """
        known = set(self.uris)
        resolved: dict[str, str] = {}

        def resolve(label: str) -> str:
            if label not in resolved:
                key = clean_uri(label)
                resolved[label] = key if key in known else self.uri_by_name.get(key.casefold(), key)
            return resolved[label]

        return [list(dict.fromkeys(map(resolve, row))) for row in labels]

    def to_raw_labels(self, label_text: str = "all") -> RawLabels:
        """Return the subjects as labels; their text is the name and, with `all`, the alternative names."""
        if label_text not in ("all", "title"):
            raise ConfigError(f"label_text must be 'all' or 'title', got {label_text!r}")
        texts = list(self.names)
        if label_text == "all" and self.alternatives is not None:
            # A blank line keeps word pairs from crossing from one name of the label into the next.
            texts = ["\n\n".join([name, *others]) for name, others in zip(self.names, self.alternatives, strict=True)]
        return RawLabels(names=self.names, texts=texts, uids=self.uris, parents=self.parents, notations=self.notations)


def clean_uri(text: str) -> str:
    """Return a URI without angle brackets; any other text as it is."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 2 and text[0] == "<" and text[-1] == ">" else text


def is_uri(text: str) -> bool:
    return _URI.fullmatch(text.strip()) is not None


def is_vocabulary(path: Path) -> bool:
    """Return whether a file is a vocabulary, from its suffix and its first lines."""
    suffix = Path(get_bare_name(path)).suffix.lower()
    if suffix in SYNTAXES:
        return True
    if suffix not in TABLE_SUFFIXES:
        return False
    lines = _list_content_lines(peek_lines(path))
    return _find_header(lines) is not None or _has_uri_lines(lines)


def has_only_subjects(path: Path) -> bool:
    """Return whether a file, whatever it is called, can be nothing but a vocabulary, from its first lines."""
    suffix = Path(get_bare_name(path)).suffix.lower()
    if suffix in SYNTAXES:
        return suffix in RDF_SUFFIXES or any("<rdf:RDF" in line for line in peek_lines(path)[:MAX_PROLOGUE_LINES])
    if suffix not in TABLE_SUFFIXES:
        return False
    lines = _list_content_lines(peek_lines(path))
    columns = _find_header(lines)
    return _has_uri_lines(lines) if columns is None else all(map(_SUBJECT_COLUMN.fullmatch, columns))


def list_vocabulary_candidates(folder: Path) -> list[Path]:
    """Return the files of a folder that are called like a vocabulary; without one, those that can be nothing else."""
    files = list_files(folder)
    named = _list_named_vocabularies(files)
    if named or len(files) > MAX_FILES_LOOKED_INTO:
        return named
    texts = {Path(get_bare_name(file)).stem for file in files if Path(get_bare_name(file)).suffix.lower() == ".txt"}
    # `7.tsv` beside `7.txt` lists the subjects of one document.
    others = [file for file in files if Path(get_bare_name(file)).stem not in texts]
    return [file for file in others if 0 < file.stat().st_size <= MAX_SIZE_FOUND_BYTES and has_only_subjects(file)]


def _list_named_vocabularies(files: Iterable[Path]) -> list[Path]:
    found = []
    for file in files:
        bare = Path(get_bare_name(file))
        suffix = bare.suffix.lower()
        words = set(re.split(r"[^a-z]+", bare.stem.lower()))
        is_named = bool(words & VOCABULARY_WORDS) or any(word.endswith("vocab") for word in words)
        if suffix in RDF_SUFFIXES or (is_named and suffix in (*SYNTAXES, *TABLE_SUFFIXES)):
            found.append(file)
    return [file for file in found if 0 < file.stat().st_size <= MAX_SIZE_FOUND_BYTES]


def find_vocabulary(folder: Path, exclude: Iterable[Path] = ()) -> tuple[Path | None, list[str]]:
    """Return the vocabulary that lies in a folder, the most telling form if there are several, and notes.

    SKOS comes before tables with several columns, and these before plain lists. Names such as `subjects.csv`,
    `my-vocab.tsv` and `thesaurus.ttl` count; without one, a file that can be nothing but a vocabulary.
    """
    excluded = {file.resolve() for file in exclude}
    found: list[tuple[int, int, Path]] = []
    notes = []
    for file in list_vocabulary_candidates(folder):
        if file.resolve() in excluded:
            continue
        suffix = Path(get_bare_name(file)).suffix.lower()
        if suffix in SYNTAXES and not is_installed("rdflib"):
            notes.append(f"{file.name} is not used, because rdflib is missing; pip install 'xcwork[vocabularies]'")
        elif is_vocabulary(file):
            rank = list(SYNTAXES).index(suffix) if suffix in SYNTAXES else 10 + TABLE_SUFFIXES.index(suffix)
            found.append((rank, -file.stat().st_size, file))
    found.sort()
    if not found:
        return None, notes
    chosen = found[0][2]
    others = ", ".join(file.name for _, _, file in found[1:4])
    remedy = f"; label_file= takes another one: {others}" if others else ""
    return chosen, [*notes, f"names of labels are from {chosen.name}{remedy}"]


def read_vocabulary(
    path: Path, *, language: str | None = None, encoding: str = "utf-8", used: Iterable[str] = ()
) -> SubjectVocabulary:
    """Return the subjects of a file; those that are deprecated only if they are among the URIs `used`."""
    if Path(get_bare_name(path)).suffix.lower() in SYNTAXES:
        concepts = read_concepts(path)
    else:
        lines = _list_content_lines(read_head_lines(path, encoding) or ())
        has_header = _find_header(lines) is not None
        concepts = _read_table_of_subjects(path, encoding) if has_header else _read_subject_lines(path, encoding)
    wanted = {clean_uri(uri) for uri in used}
    kept = {uri: concept for uri, concept in concepts.items() if not concept.is_deprecated or uri in wanted}
    if not kept:
        raise DataError("the vocabulary has no subjects", file=path, remedy="check that the file is complete")
    return _choose_names(path, kept, language)


def _list_content_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines that are neither empty nor comments."""
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _find_header(lines: Sequence[str]) -> list[str] | None:
    """Return the columns of a table of subjects, if the first line names a URI column and one with labels."""
    if not lines:
        return None
    delimiter = max(",;\t|", key=lines[0].count)
    columns = [column.strip().strip('"').lower() for column in lines[0].split(delimiter)]
    is_header = any(column in URI_COLUMNS for column in columns) and any(map(LABEL_COLUMN.fullmatch, columns))
    return columns if is_header else None


def _has_uri_lines(lines: Sequence[str]) -> bool:
    """Return whether most lines are `<uri><TAB>name`."""
    fits = sum("\t" in line and is_uri(line.partition("\t")[0]) for line in lines[:200])
    return 2 * fits > len(lines[:200]) > 0


def _read_subject_lines(path: Path, encoding: str) -> dict[str, Concept]:
    concepts: dict[str, Concept] = {}
    for number, line in read_lines(path, encoding):
        if not line.strip() or line.startswith("#"):
            continue
        uri, tab, rest = line.partition("\t")
        if not tab or not uri.strip():
            raise DataError(
                f"{line[:40]!r} is not a URI, a tab and a name", file=path, line=number, remedy="write `<uri><TAB>name`"
            )
        name, _, notation = (field.strip() for field in rest.partition("\t"))
        concept = concepts.setdefault(clean_uri(uri), Concept(notation=notation.partition("\t")[0].strip()))
        if name:
            (concept.alternative if concept.preferred else concept.preferred).append(("", name))
    return concepts


def _read_table_of_subjects(path: Path, encoding: str) -> dict[str, Concept]:
    table = read_table(path, encoding)
    uri_column = table.find(*URI_COLUMNS)
    names = {column: found for column in table.columns if (found := LABEL_COLUMN.fullmatch(column.strip()))}
    others = {column: found for column in table.columns if (found := ALTERNATIVE_COLUMN.fullmatch(column.strip()))}
    notations = table.list_strings(table.find("notation", "code"))
    parents = table.list_strings(table.find("broader", "parent", "parents"))
    cells = {column: table.list_strings(column) for column in (*names, *others)}
    concepts: dict[str, Concept] = {}
    for row, uri in enumerate(map(clean_uri, table.list_strings(uri_column))):
        if not uri:
            raise DataError("the subject has no URI", file=path, line=table.lines[row], remedy="fill the column `uri`")
        concept = concepts.setdefault(uri, Concept())
        concept.notation = concept.notation or notations[row].strip()
        concept.broader.extend(clean_uri(parent) for parent in re.split(r"[\s|;]+", parents[row]) if parent)
        for column, found in names.items():
            if name := " ".join(cells[column][row].split()):
                concept.preferred.append(((found[1] or "").lower(), name))
        for column, found in others.items():
            for name in re.split(r"\s*[|;]\s*", cells[column][row].strip()):
                if name:
                    concept.alternative.append(((found[1] or "").lower(), name))
    return concepts


def _choose_names(path: Path, concepts: dict[str, Concept], language: str | None) -> SubjectVocabulary:
    """Return the subjects with the names that the language asked for (or the most frequent one) gives them."""
    counts = Counter(code for concept in concepts.values() for code in {code for code, _ in concept.preferred})
    known = sorted(code for code in counts if code)
    wanted = None if language is None else language.strip().lower()
    if wanted is not None and wanted not in counts and counts.keys() - {""}:
        raise ConfigError(f"{path.name} has no names in the language {language!r}; it has {', '.join(known)}")
    chosen = wanted or max(counts, key=lambda code: (counts[code], code == "en", code), default="")
    notes = []
    if wanted is None and len(known) > 1:
        others = ", ".join(code for code in known if code != chosen)
        notes.append(f"names of labels are in the language {chosen!r}; label_language= takes another one: {others}")
    if n_other := sum(not any(code == chosen for code, _ in concept.preferred) for concept in concepts.values()):
        notes.append(f"{n_other:,} of {len(concepts):,} subjects have no name in the language {chosen!r}")
    names = [_choose_name(uri, concept, chosen) for uri, concept in concepts.items()]
    alternatives = [
        list(dict.fromkeys(_list_alternatives(concept, chosen, name)))
        for concept, name in zip(concepts.values(), names, strict=True)
    ]
    notations = [concept.notation for concept in concepts.values()]
    parents = [concept.broader for concept in concepts.values()]
    return SubjectVocabulary(
        path,
        list(concepts),
        names,
        _index_names(concepts, chosen),
        notations if any(notations) else None,
        alternatives if any(alternatives) else None,
        parents if any(parents) else None,
        tuple(notes),
    )


def _index_names(concepts: dict[str, Concept], language: str) -> dict[str, str]:
    """Return the URI of each name: those in `language` come first, then other languages, then notations."""
    found: dict[str, str] = {}
    for is_wanted in (True, False):
        for uri, concept in concepts.items():
            for code, name in concept.preferred:
                if (code == language) == is_wanted:
                    found.setdefault(name.casefold(), uri)
    for uri, concept in concepts.items():
        if concept.notation:
            found.setdefault(concept.notation.casefold(), uri)
    return found


def _choose_name(uri: str, concept: Concept, language: str) -> str:
    """Return the preferred name in a language, or else in any other; a concept without names keeps its URI."""
    preferred = dict(reversed(concept.preferred))
    return preferred.get(language) or next((name for _, name in concept.preferred), "") or concept.notation or uri


def _list_alternatives(concept: Concept, language: str, name: str) -> Iterator[str]:
    for code, other in (*concept.preferred, *concept.alternative):
        if code in (language, "") and other != name:
            yield other
