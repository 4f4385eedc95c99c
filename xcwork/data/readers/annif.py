"""Annif's corpora of short texts: documents whose subjects are URIs of a vocabulary.

Three forms: TSV without a header and without quotes, `text<TAB><uri> <uri>`; CSV or TSV with a column `subject_uris`;
JSON lines with `subjects`, records with a `uri` or a `label`. A vocabulary that lies beside them (see
`subject_vocabulary`), or that `label_file` names, gives the labels names; documents that name subjects by label or
notation get the same labels as those that name them by URI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawSplit
from xcwork.data.readers.columns import JSON_SUFFIXES, read_json_records, read_table
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options
from xcwork.data.readers.label_file import NamedLabels, name_labels
from xcwork.data.readers.safe_files import get_bare_name, list_files, peek_lines, read_lines
from xcwork.data.readers.split_names import SplitChoice, choose_splits
from xcwork.data.readers.subject_vocabulary import VOCABULARY_WORDS, clean_uri, is_uri, is_vocabulary
from xcwork.data.readers.table_roles import find_text_columns, join_columns
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="annif",
    title="Annif's short texts: `text<TAB><uri> <uri>` lines, a table with subject_uris, or JSON lines with subjects",
    files=("name-train.tsv", "name-test.tsv", "subjects.tsv", "name.ttl"),
    options=describe_options("label_file", "language", "label_text", "encoding", "test", "test_share", "vectorizer"),
    example={
        "documents.tsv": "Mandy Brocklehurst\t<http://example.org/ravenclaw>\n"
        "Lavender Brown\t<http://example.org/gryffindor>\n"
        "A feast in the hall\t<http://example.org/ravenclaw> <http://example.org/gryffindor>\n",
        "subjects.tsv": "<http://example.org/gryffindor>\tGryffindor\n<http://example.org/ravenclaw>\tRavenclaw\n",
    },
)
URI_COLUMN = "subject_uris"
LABEL_COLUMN = "subject_labels"
TABLE_SUFFIXES = (".csv", ".tsv")
SUFFIXES = (".tsv", ".txt", *TABLE_SUFFIXES, *JSON_SUFFIXES)
MAX_INSPECTED_FILES = 20
MAX_INSPECTED_LINES = 200
_LAST_FIELD = re.compile(r"(.*?)[,;]\s*((?:<[^<>\s,;]+>|https?://[^\s,;]+)(?:\s+(?:<[^<>\s,;]+>|https?://[^\s,;]+))*)")
_SUBJECT_RECORDS = re.compile(r'"subjects"\s*:\s*\[\s*(?:\]|\{\s*"(?:uri|label)")')


@dataclass
class SubjectDocuments:
    """Documents of a file, their subjects as they are written, and the names that the file gives for URIs."""

    texts: list[str] = field(default_factory=list)
    subjects: list[list[str]] = field(default_factory=list)
    uids: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, text: str, subjects: list[str], uid: str = "") -> None:
        self.texts.append(text)
        self.subjects.append(subjects)
        self.uids.append(uid)


def inspect(path: Path) -> Finding:
    files = _list_candidates(path)
    forms = {file: form for file in files if (form := _find_form(file)) is not None}
    choice = _choose_files(path, forms)
    if choice is not None:
        return Finding.accept(f"{choice.train.name}: {forms[choice.train]}")
    if forms:
        missing = "one file, or files called train and test"
        return Finding.refuse(missing, seen=", ".join(file.name for file in forms), nearness=0.7)
    if any(map(is_vocabulary, files)):
        missing = "documents: `text<TAB><uri> <uri>` lines, or a column or field with subjects"
        return Finding.refuse(missing, seen="a vocabulary", nearness=0.6)
    return Finding.refuse("`text<TAB><uri> <uri>` lines, a column subject_uris or a field subjects", nearness=0.1)


def read(
    path: Path,
    name: str,
    *,
    label_file: str | None = None,
    language: str | None = None,
    label_text: str = "all",
    encoding: str = "utf-8",
    test: str | None = None,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    choice = _choose_files(path, [file for file in _list_candidates(path) if _find_form(file) is not None], test)
    assert choice is not None  # or nobody would have recognised it
    files = [choice.train, *([] if choice.test is None else [choice.test])]
    splits = [read_subject_documents(file, encoding) for file in files]
    named = name_labels(
        choice.train.parent,
        [split.subjects for split in splits],
        label_file=label_file,
        language=language,
        label_text=label_text,
        encoding=encoding,
        documents=files,
        names={uri: name for split in splits for uri, name in split.names.items()},
    )
    source = f"Annif's short texts, {' and '.join(file.name for file in files)}"
    raw = make_raw_dataset(path, splits, named, source, choice.notes)
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def make_raw_dataset(
    path: Path, splits: Sequence[SubjectDocuments], named: NamedLabels, source: str, notes: Sequence[str] = ()
) -> RawDataset:
    """Return the documents of one or two splits with their named labels."""
    raw_splits = [
        RawSplit(texts=split.texts, labels=labels, uids=split.uids if all(split.uids) else None)
        for split, labels in zip(splits, named.of_splits, strict=True)
    ]
    return RawDataset(
        train=raw_splits[0],
        test=raw_splits[1] if len(raw_splits) > 1 else None,
        labels=named.known,
        source=source,
        notes=[*notes, *(note for split in splits for note in split.notes), *named.notes],
        path=path,
    )


def read_subject_documents(file: Path, encoding: str = "utf-8") -> SubjectDocuments:
    """Return the documents of a file in one of the three forms."""
    form = _find_form(file)
    if form == "lines":
        return _read_lines_of_subjects(file, encoding)
    return _read_records(file, encoding) if form == "records" else _read_table_with_subjects(file, encoding)


def _list_candidates(path: Path) -> list[Path]:
    files = [path] if path.is_file() else list_files(path)
    return [file for file in files if Path(get_bare_name(file)).suffix.lower() in SUFFIXES][:MAX_INSPECTED_FILES]


def _choose_files(path: Path, files: Mapping[Path, str] | list[Path], test: str | None = None) -> SplitChoice | None:
    """Return what to read; of a corpus that lies there in several forms, the first one."""
    first_forms: dict[str, Path] = {}
    for file in files:
        first_forms.setdefault(Path(get_bare_name(file)).stem, file)
    choice = choose_splits(path, first_forms.values(), test)
    others = [file.name for file in files if file not in first_forms.values()]
    if choice is None or not others or path.is_file():
        return choice
    note = f"{', '.join(others)} has the same name in another form and is not used"
    return SplitChoice(choice.train, choice.test, (*choice.notes, note))


def _find_form(file: Path) -> str | None:
    """Return which of the three forms the first lines of a file have: lines, table or records."""
    lines = peek_lines(file)[:MAX_INSPECTED_LINES]
    suffix = Path(get_bare_name(file)).suffix.lower()
    if not lines:
        return None
    if suffix in JSON_SUFFIXES:
        n_records = sum(_SUBJECT_RECORDS.search(line) is not None for line in lines)
        return "records" if 2 * n_records > len(lines) else None
    columns = [column.strip().strip('"').lower() for column in re.split(r"[,;\t|]", lines[0])]
    if suffix in TABLE_SUFFIXES and (URI_COLUMN in columns or LABEL_COLUMN in columns):
        return "table"
    words = set(re.split(r"[^a-z]+", file.name.lower()))
    fits = [_split_subject_line(line) is not None for line in lines]
    # A table with an address in each record begins with the names of its columns.
    if not fits[0] or 2 * sum(fits) <= len(fits):
        return None
    return None if words & VOCABULARY_WORDS and is_vocabulary(file) else "lines"


def _split_subject_line(line: str) -> tuple[str, list[str]] | None:
    """Return (text, URIs) of a line with tabs between its fields, one of which lists URIs; None without it."""
    if "\t" not in line:
        found = _LAST_FIELD.fullmatch(line.strip())
        return None if found is None else (_unquote_text(found[1]), found[2].split())
    fields = line.split("\t")
    for place, cell in enumerate(fields[1:], start=1):
        words = cell.split()
        if words and all(map(is_uri, words)):
            return " ".join(fields[:place]).strip(), words
    return None


def _unquote_text(text: str) -> str:
    """Return the text of a CSV field that may be quoted."""
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if is_quoted else text


def _read_lines_of_subjects(file: Path, encoding: str) -> SubjectDocuments:
    documents = SubjectDocuments()
    n_without = 0
    for _, line in read_lines(file, encoding):
        if not line.strip() and "\t" not in line:
            continue
        found = _split_subject_line(line)
        if found is None:
            n_without += 1
            found = line.partition("\t")[0].strip(), line.partition("\t")[2].split()
        text, uris = found
        documents.add(text, list(dict.fromkeys(map(clean_uri, uris))))
    if n_without:
        documents.notes.append(f"{n_without:,} lines of {file.name} have no URI after a tab")
    return documents


def _read_table_with_subjects(file: Path, encoding: str) -> SubjectDocuments:
    table = read_table(file, encoding)
    column = table.find(URI_COLUMN) or table.require(LABEL_COLUMN)
    texts = join_columns(table, find_text_columns(table, None, "both"))
    uids = table.list_strings(table.find("document_id", "uid", "id"))
    documents = SubjectDocuments()
    for text, cell, uid in zip(texts, table.list_strings(column), uids, strict=True):
        subjects = cell.split() if column.lower() == URI_COLUMN else [name.strip() for name in re.split(r"[|;]", cell)]
        documents.add(text, list(dict.fromkeys(clean_uri(subject) for subject in subjects if subject)), uid)
    return documents


def _read_records(file: Path, encoding: str) -> SubjectDocuments:
    documents = SubjectDocuments()
    for number, record in read_json_records(file, encoding):
        add_record(documents, record, file, number)
    if not documents.texts:
        raise DataError("the file has no records", file=file, line=1, remedy="check that it is complete")
    return documents


def add_record(documents: SubjectDocuments, record: Mapping[str, Any], file: Path, line: int | None) -> None:
    """Add a document that a JSON object describes: `text`, `metadata`, `subjects` and `document_id`."""
    metadata = record.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else record.get("title")
    text = record.get("text")
    parts = [part for part in (title, text) if isinstance(part, str) and part]
    keys = list(_list_subjects(record.get("subjects") or [], documents.names, file, line))
    uid = record.get("document_id", record.get("id", ""))
    documents.add("\n".join(parts), list(dict.fromkeys(keys)), str(uid) if isinstance(uid, str | int) else "")


def _list_subjects(subjects: Any, names: dict[str, str], file: Path, line: int | None) -> Iterator[str]:
    """Yield the URI of each subject, or its label where it has none; `names` learns the labels of URIs."""
    for subject in subjects if isinstance(subjects, list) else [subjects]:
        record = subject if isinstance(subject, dict) else {"label": subject}
        uri, label = (value if isinstance(value := record.get(key), str) else "" for key in ("uri", "label"))
        key = clean_uri(uri) or label.strip()
        if not key:
            raise DataError(
                f"{str(subject)[:60]!r} is not a subject",
                file=file,
                line=line,
                remedy='write {"uri": "…"} or {"label": "…"}',
            )
        if uri and label:
            names.setdefault(key, label.strip())
        yield key
