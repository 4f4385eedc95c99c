"""Folders with one file per document: `NNN.txt`, and its labels in a file of the same name with another suffix.

Annif's full texts have `NNN.tsv` (`<uri><TAB>name` lines) or `NNN.key` (names, one per line), Maui and KEA have
`NNN.key`, magpie has `NNN.lab`; Annif also writes one JSON file per document. Where a document has several of these,
the first of LABEL_SUFFIXES counts. Folders called train and test are the splits. Subjects that are URIs get their names
from a vocabulary, as in `annif`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.readers.annif import SubjectDocuments, add_record, make_raw_dataset
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options
from xcwork.data.readers.label_file import name_labels
from xcwork.data.readers.safe_files import get_bare_name, list_files, read_lines
from xcwork.data.readers.split_names import choose_folders
from xcwork.data.readers.subject_vocabulary import clean_uri, is_uri
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import DataError
from xcwork.progress import track

FORMAT = FormatDeclaration(
    name="documents",
    title="one file per document: 1.txt with 1.key, 1.lab or 1.tsv, or 1.json; also in folders train and test",
    files=("1.txt", "1.key", "2.txt", "2.key", "subjects.tsv"),
    options=describe_options("label_file", "language", "label_text", "encoding", "test_share", "vectorizer"),
    example={
        "1.txt": "Pyramids are monuments of ancient times.\n",
        "1.key": "monuments\npyramids\n",
        "2.txt": "A novel about the Middle Ages.\n",
        "2.key": "novels\n",
    },
)
TEXT_SUFFIX = ".txt"
LABEL_SUFFIXES = (".tsv", ".key", ".lab", ".labels", ".keys")
LABELS_ONLY = frozenset(LABEL_SUFFIXES) - {".tsv"}  # a .tsv file without a text may be a vocabulary
NOTICE_NAMES = frozenset({"readme", "license", "licence", "copying", "notice", "changelog"})
RECORD_SUFFIX = ".json"
MAX_RECORD_BYTES = 64 * 2**20  # of a JSON file that holds one document
MIN_PAIRED_SHARE = 0.5  # of the texts, from which on a folder is one of documents


def inspect(path: Path) -> Finding:
    if not path.is_dir():
        return Finding.refuse("a folder with files such as 1.txt and 1.key")
    folders = choose_folders(path)
    groups = _group_files(folders[0])
    texts = [stem for stem, files in groups.items() if TEXT_SUFFIX in files]
    paired = [stem for stem in texts if _find_labels_suffix(groups[stem]) is not None]
    if paired and len(paired) >= MIN_PAIRED_SHARE * len(texts):
        return Finding.accept(f"{len(paired):,} texts with a file of labels, such as {paired[0]}{TEXT_SUFFIX}")
    if _list_records(groups):
        return Finding.accept(f"{len(_list_records(groups)):,} JSON files with a text and subjects")
    missing = "a file of labels beside each text, such as 1.key beside 1.txt"
    return Finding.refuse(missing, seen=f"{len(texts):,} texts, {len(paired):,} of them with labels")


def read(
    path: Path,
    name: str,
    *,
    label_file: str | None = None,
    language: str | None = None,
    label_text: str = "all",
    encoding: str = "utf-8",
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    splits = [_read_folder(folder, encoding) for folder in choose_folders(path)]
    named = name_labels(
        path,
        [split.subjects for split in splits],
        label_file=label_file,
        language=language,
        label_text=label_text,
        encoding=encoding,
        names={uri: name for split in splits for uri, name in split.names.items()},
    )
    raw = make_raw_dataset(path, splits, named, "one file per document")
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _group_files(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the files of each document by their suffixes."""
    groups: dict[str, dict[str, Path]] = {}
    for file in list_files(folder):
        bare = Path(get_bare_name(file))
        groups.setdefault(bare.stem, {})[bare.suffix.lower()] = file
    return groups


def _find_labels_suffix(files: Mapping[str, Path]) -> str | None:
    return next((suffix for suffix in LABEL_SUFFIXES if suffix in files), None)


def _is_document(stem: str, files: Mapping[str, Path]) -> bool:
    """Return whether a text belongs to the data; one about the data, such as README.txt, has no labels."""
    return _find_labels_suffix(files) is not None or stem.lower() not in NOTICE_NAMES


def _list_records(groups: Mapping[str, Mapping[str, Path]]) -> list[Path]:
    """Return the JSON files of a folder if there are several and the first one is a document with subjects."""
    files = [files[RECORD_SUFFIX] for files in groups.values() if RECORD_SUFFIX in files]
    if len(files) < 2 or len(files) < len(groups) / 2 or files[0].stat().st_size > MAX_RECORD_BYTES:
        return []
    try:
        record = json.loads(files[0].read_text("utf-8-sig"))
    except (ValueError, RecursionError):
        return []
    return files if isinstance(record, dict) and "text" in record and "subjects" in record else []


def _read_folder(folder: Path, encoding: str) -> SubjectDocuments:
    groups = _group_files(folder)
    documents = SubjectDocuments()
    records = _list_records(groups)
    for file in track(records, f"reading {folder.name}"):
        add_record(documents, _read_record(file, encoding), file, None)
        documents.uids[-1] = documents.uids[-1] or Path(get_bare_name(file)).stem
    if records:
        return documents
    texts = {stem: files for stem, files in groups.items() if TEXT_SUFFIX in files and _is_document(stem, files)}
    for stem, files in track(list(texts.items()), f"reading {folder.name}"):
        suffix = _find_labels_suffix(files)
        labels = [] if suffix is None else _read_label_lines(files[suffix], encoding, documents.names)
        text = "\n".join(line for _, line in _read_lines_or_none(files[TEXT_SUFFIX], encoding))
        documents.add(text.strip(), labels, stem)
    if n_unlabelled := sum(_find_labels_suffix(files) is None for files in texts.values()):
        documents.notes.append(f"{n_unlabelled:,} texts of {folder.name} have no file of labels")
    orphans = [stem for stem, files in groups.items() if stem not in texts and not files.keys().isdisjoint(LABELS_ONLY)]
    if orphans:
        documents.notes.append(
            f"{len(orphans):,} files of labels in {folder.name} have no text and are left out, such as {orphans[0]}"
        )
    return documents


def _read_lines_or_none(file: Path, encoding: str) -> list[tuple[int, str]]:
    """Return the lines of a file, which may be empty."""
    return list(read_lines(file, encoding)) if file.stat().st_size else []


def _read_label_lines(file: Path, encoding: str, names: dict[str, str]) -> list[str]:
    """Return the labels in a file, one per line: a name, a URI, or both with a tab between; `names` learns names."""
    labels: dict[str, None] = {}
    for _, line in _read_lines_or_none(file, encoding):
        first, _, rest = line.strip().partition("\t")
        key = clean_uri(first) if is_uri(first) else " ".join(first.split())
        if not key:
            continue
        labels[key] = None
        if is_uri(first) and (name := " ".join(rest.partition("\t")[0].split())):
            names.setdefault(key, name)
    return list(labels)


def _read_record(file: Path, encoding: str) -> Mapping[str, Any]:
    """Return the JSON object that a file holds."""
    if file.stat().st_size > MAX_RECORD_BYTES:
        raise DataError("the file is too large for one document", file=file, remedy="write one file per document")
    try:
        record = json.loads("\n".join(line for _, line in _read_lines_or_none(file, encoding)))
    except (ValueError, RecursionError) as failure:
        raise DataError(f"the file is not JSON ({failure})", file=file, remedy="check that it is complete") from None
    if not isinstance(record, dict):
        raise DataError(
            "the file is not a JSON object", file=file, remedy='write {"text": "…", "subjects": [{"uri": "…"}]}'
        )
    return record
