"""`pyseealso`: real data that every installation already has, made from the docstrings of the scientific packages.

A document is a documented function, class or method of numpy, scipy, pandas, scikit-learn or networkx; its labels are
the entries of the "See Also" section of its docstring; the text of a label is the name and the summary line of the
object it refers to. It has the shape of LF-WikiSeeAlso: a long tail, and labels never seen in training.

The section itself is cut out of the document. An entry is resolved as a reader would: in the same class, the same
module, the same package, then in the other packages if only one answers to the name; otherwise it is dropped. Objects
with the same docstring are one document, so that no test document is a copy of a training document. A document is never
its own label: the pair is filtered out. Train and test are told apart by a hash of the name, so the split is the same
everywhere, and the group of a document is the class or module it lives in.

The dataset depends only on the versions of the packages and of xcwork, so it is built once and then read from a cache.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent

import numpy as np

from xcwork import __version__
from xcwork.core.dataset import Dataset
from xcwork.data.build import build_dataset
from xcwork.data.docstrings import PACKAGES, Documented, collect_documented
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.errors import XcworkError
from xcwork.text.vectorizer import TextVectorizer

BUILDER_VERSION = 1  # raise it when the same docstrings would give another dataset
DISTRIBUTIONS = ("networkx", "numpy", "pandas", "scikit-learn", "scipy")
TEST_SHARE = 0.25
ALIASES = {"np": "numpy", "nx": "networkx", "pd": "pandas", "sp": "scipy"}

_SEE_ALSO = re.compile(r"^[ \t]*see also:?[ \t]*\n[ \t]*[-=~]{3,}[ \t]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
_NEXT_SECTION = re.compile(r"^[ \t]*\S.*\n[ \t]*([-=~])\1{2,}[ \t]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. seealso::.*\n?(?:\1[ \t]+.*(?:\n|\Z)|[ \t]*\n)*", re.IGNORECASE | re.MULTILINE)
_DESCRIPTION = re.compile(r"\s:(?![\w:]+`)|:\s|:$")  # the colon before it, not one of a role such as :func:`name`
_NAME = re.compile(r"(?::(?!ref:)[\w:]+:)?`?~?([A-Za-z_][\w.]*)`?(?:\(\))?")
_IN_CLASS = re.compile(r"(?<=\.)_?[A-Z]\w*(?:\.\w+)*$")
_SIGNATURE = re.compile(r"[\w.]+\(.*\)(\s*->.*)?")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LinkedDocument:
    """A documented object that links to others."""

    name: str
    text: str
    labels: list[str]


def load_pyseealso(home: str | Path | None = None, *, vectorizer: TextVectorizer | None = None) -> Dataset:
    """Return the embedded dataset: from the cache below `home`, or built there from the installed packages."""
    if home is None:
        from xcwork.paths import find_home

        home = find_home()
    # Docstrings repeat their subject's name in examples; counting it once and a little more ranks labels better.
    vectorizer = TextVectorizer(sublinear=True, split_underscores=True) if vectorizer is None else vectorizer
    folder = Path(home) / "data" / ".cache" / f"pyseealso-{_make_cache_key(vectorizer)}"
    if folder.is_dir():
        try:
            return Dataset.load(folder)
        except XcworkError as damage:
            log.warning("the cached dataset is built again: %s", damage)
    dataset = build_pyseealso(collect_documented(), vectorizer)
    try:
        dataset.save(folder)
    except OSError as refusal:  # a folder that cannot be written costs time at the next start, nothing else
        log.warning("pyseealso cannot be cached: %s", refusal)
    return dataset


def _make_cache_key(vectorizer: TextVectorizer) -> str:
    parts = [BUILDER_VERSION, __version__, [version(name) for name in DISTRIBUTIONS], vectorizer.options]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=6).hexdigest()


def build_pyseealso(objects: Sequence[Documented], vectorizer: TextVectorizer) -> Dataset:
    """Return the dataset of the given objects."""
    objects = _merge_same_docs(objects)
    documents = _find_documents(objects)
    summaries = {entry.name: _summarise(entry.doc) for entry in objects}
    labels = sorted({label for document in documents for label in document.labels})
    label_id = {name: number for number, name in enumerate(labels)}

    def make_split(members: list[LinkedDocument]) -> RawSplit:
        own = [(row, label_id[document.name]) for row, document in enumerate(members) if document.name in label_id]
        return RawSplit(
            texts=[document.text for document in members],
            labels=[document.labels for document in members],
            uids=[document.name for document in members],
            groups=[document.name.rpartition(".")[0] for document in members],
            filter_pairs=np.array(own, np.int64).reshape(-1, 2),
        )

    raw = RawDataset(
        train=make_split([document for document in documents if not _is_test(document.name)]),
        test=make_split([document for document in documents if _is_test(document.name)]),
        labels=RawLabels(names=labels, texts=[_add_title(name, summaries[name]) for name in labels]),
        source="docstrings of " + ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS),
    )
    return build_dataset(raw, name="pyseealso", vectorizer=vectorizer)


def _merge_same_docs(objects: Iterable[Documented]) -> list[Documented]:
    """Return one object for all that share a docstring with links; the shortest of the canonical names stays."""
    by_doc: dict[str, list[Documented]] = defaultdict(list)
    for entry in objects:
        by_doc[entry.doc if _SEE_ALSO.search(entry.doc) else entry.name].append(entry)
    merged = []
    for same in by_doc.values():
        first = min(same, key=lambda entry: _rank_by_length(entry.name))
        merged.append(Documented(first.name, sorted({name for entry in same for name in entry.names}), first.doc))
    return sorted(merged, key=lambda entry: entry.name)


def _find_documents(objects: Sequence[Documented]) -> list[LinkedDocument]:
    """Return the objects that link to others, each with the canonical names it links to."""
    resolver = _Resolver(objects)
    documents = []
    for entry in objects:
        found = {resolver.find(name, entry) for name in list_see_also(entry.doc)}
        targets = {name for name in found if name is not None and name != entry.name}
        if targets:
            documents.append(
                LinkedDocument(entry.name, _add_title(entry.name, drop_see_also(entry.doc)), sorted(targets))
            )
    return documents


def list_see_also(doc: str) -> list[str]:
    """Return the names in the See Also sections of a docstring, as written.

    >>> list_see_also("Sum.\\n\\nSee Also\\n--------\\nmean, :func:`np.max` : others\\n    of the kind\\nprod\\n")
    ['mean', 'np.max', 'prod']
    """
    names = []
    for start, end in _find_sections(doc):
        body = doc[start:end].split("\n", 2)[2:]  # after the title and its underline
        for line in dedent("\n".join(body)).split("\n"):
            if line and not line[0].isspace():  # an indented line goes on describing the entry above
                listed = _DESCRIPTION.split(line, maxsplit=1)[0]
                matches = [_NAME.fullmatch(piece.strip()) for piece in listed.split(",")]
                names += [match.group(1) for match in matches if match]
    return names


def drop_see_also(doc: str) -> str:
    """Return the docstring without its See Also sections and seealso directives."""
    for start, end in reversed(_find_sections(doc)):
        doc = doc[:start] + doc[end:]
    return _DIRECTIVE.sub("", doc).strip()


def _find_sections(doc: str) -> list[tuple[int, int]]:
    """Return where the See Also sections start and end."""
    spans = []
    for title in _SEE_ALSO.finditer(doc):
        following = _NEXT_SECTION.search(doc, title.end())
        spans.append((title.start(), following.start() if following else len(doc)))
    return spans


class _Resolver:
    """Finds the object that a name in a See Also section means."""

    def __init__(self, objects: Sequence[Documented]) -> None:
        self._by_name = {name: entry.name for entry in objects for name in entry.names}
        self._by_end: dict[str, set[str]] = defaultdict(set)
        for name in self._by_name:
            parts = name.split(".")
            for i in range(1, len(parts)):
                self._by_end[".".join(parts[i:])].add(name)

    def find(self, name: str, seen_from: Documented) -> str | None:
        """Return the canonical name of the object, or None."""
        name = name.rstrip(".")
        first, _, rest = name.partition(".")
        if first in ALIASES and rest:
            name = f"{ALIASES[first]}.{rest}"
        if "." in name and name in self._by_name:
            return self._by_name[name]
        for known_as in sorted(seen_from.names, key=lambda other: (other != seen_from.name, _rank_by_length(other))):
            scope = known_as.rpartition(".")[0]
            while scope:
                if (relative := f"{scope}.{name}") in self._by_name:
                    return self._by_name[relative]
                scope = scope.rpartition(".")[0]
        package = seen_from.name.partition(".")[0]
        inside = [full for full in self._by_end.get(name, ()) if full.startswith(f"{package}.")]
        found = self._find_only(inside) or self._find_only(f"{other}.{name}" for other in PACKAGES)
        if found is None and (in_class := _IN_CLASS.search(name)):  # core.resample.Resampler.mean, a private path
            return self.find(in_class.group(), seen_from)
        return found

    def _find_only(self, names: Iterable[str]) -> str | None:
        """Return the one object that all the names stand for."""
        objects = {self._by_name[name] for name in names if name in self._by_name}
        return objects.pop() if len(objects) == 1 else None


def _rank_by_length(name: str) -> tuple[int, int, str]:
    return name.count("."), len(name), name


def _add_title(name: str, text: str) -> str:
    """Return the text under its name and the words the name is made of."""
    return f"{name}\n{' '.join(re.split('[._]+', name)).strip()}\n{text}"


def _summarise(doc: str) -> str:
    """Return the first paragraph that is not a signature, as one line."""
    for paragraph in re.split(r"\n\s*\n", doc):
        line = " ".join(paragraph.split())
        if not _SIGNATURE.fullmatch(line):
            return line
    return ""


def _is_test(name: str) -> bool:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < TEST_SHARE * 2**64
