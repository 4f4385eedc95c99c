"""Datasets as a corpus and a vocabulary that Annif reads.

`train.tsv` and `test.tsv` have one document per line, `text<TAB><uri> <uri>`; a text is one line there, so its line
breaks and tabs become spaces. `subjects.tsv` and `subjects.ttl` (SKOS) are the vocabulary: `annif load-vocab` takes
either, and the second has alternative labels, broader subjects and notations, too. A label whose uid is not a URI gets
one that is made of its uid or name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.writers import check_free, write_lines
from xcwork.errors import ConfigError, DataError
from xcwork.progress import track
from xcwork.storage.atomic import create_folder

URI_PREFIX = "urn:xcwork:"
FORBIDDEN_IN_URIS = frozenset('<>"{}|^`\\')
SKOS_HEAD = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"


def write_annif(dataset: Dataset, folder: str | Path, *, language: str = "en") -> None:
    """Write the documents as TSV lines, and the labels as a vocabulary whose names are in `language`."""
    if not (language.isascii() and language.replace("-", "").isalnum() and language[0].isalpha()):
        raise ConfigError(f"the language must be a code such as 'en', got {language!r}")
    if dataset.train.texts is None or dataset.test.texts is None:
        raise DataError(
            f"the documents of {dataset.name} have no texts, so they cannot be written for Annif",
            remedy="export them with --format xc or splits",
        )
    uris = make_uris(dataset.labels)
    with create_folder(check_free(folder)) as target:
        for name, split in (("train", dataset.train), ("test", dataset.test)):
            write_lines(target / f"{name}.tsv", track(_format_documents(split, uris), f"writing {name}.tsv"))
        names = [join_words(name) for name in dataset.labels.names]
        write_lines(target / "subjects.tsv", (f"<{uri}>\t{name}" for uri, name in zip(uris, names, strict=True)))
        write_lines(target / "subjects.ttl", _format_concepts(dataset.labels, uris, language))


def make_uris(labels: LabelSpace) -> list[str]:
    """Return a URI for each label: its uid, or one made of its uid or name; each occurs once."""
    uris: dict[str, None] = {}
    for label, name in enumerate(labels.names):
        uid = name if labels.uids is None else labels.uids[label]
        uri = uid if is_absolute_uri(uid) else f"{URI_PREFIX}{quote(uid or str(label), safe='', errors='replace')}"
        uris[uri if uri not in uris else f"{URI_PREFIX}label:{label}"] = None
    return list(uris)


def is_absolute_uri(text: str) -> bool:
    """Return whether a text can stand between `<` and `>` as an address."""
    scheme, colon, rest = text.partition(":")
    is_clean = text.isprintable() and not any(each.isspace() or each in FORBIDDEN_IN_URIS for each in text)
    return bool(colon and rest and is_clean) and scheme.lower() in ("http", "https", "urn", "ftp", "info", "doi", "ark")


def join_words(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def _format_documents(split: Split, uris: list[str]) -> Iterator[str]:
    for row, text in enumerate(split.texts or ()):
        labels = split.Y.indices[split.Y.indptr[row] : split.Y.indptr[row + 1]]
        yield f"{join_words(text)}\t{' '.join(f'<{uris[label]}>' for label in labels)}"


def _format_concepts(labels: LabelSpace, uris: list[str], language: str) -> Iterator[str]:
    """Yield the lines of a SKOS vocabulary in Turtle."""
    by_uid = dict(zip(labels.names if labels.uids is None else labels.uids, uris, strict=True))
    yield SKOS_HEAD
    for label, uri in enumerate(uris):
        name = join_words(labels.names[label])
        yield f"<{uri}> a skos:Concept"
        yield f"    ; skos:prefLabel {_quote_literal(name)}@{language}"
        for other in _list_alternatives(labels, label, name):
            yield f"    ; skos:altLabel {_quote_literal(other)}@{language}"
        if labels.notations is not None and labels.notations[label]:
            yield f"    ; skos:notation {_quote_literal(labels.notations[label])}"
        for parent in labels.parents[label] if labels.parents is not None else ():
            if parent in by_uid or is_absolute_uri(parent):
                yield f"    ; skos:broader <{by_uid.get(parent, parent)}>"
        yield "    ."


def _list_alternatives(labels: LabelSpace, label: int, name: str) -> list[str]:
    """Return the other names of a label, which its text has after the first blank line."""
    parts = (labels.texts[label] if labels.texts is not None else "").split("\n\n")[1:]
    return [other for other in dict.fromkeys(map(join_words, parts)) if other and other != name]


def _quote_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
