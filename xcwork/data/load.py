"""Datasets by name or path: `load_dataset("pyseealso")`, `load_dataset("synthetic:seed=1")`, `load_dataset(path)`.

`resolve_source` decides once what a name means: which built-in dataset or which file, with which options, read by which
reader. Nothing is read before `DatasetSource.load`, so a source can be checked, recorded and passed on.

Turning text into features takes the longest, so datasets read from text are kept below `<home>/data/.cache`. An entry
is found again by the resolved path, the size and time of every file of the dataset, the options and the version of
xcwork. It appears in one step when it is complete; an entry that cannot be read is rebuilt; a cache that cannot be
written is only worth a line in the log.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from xcwork import __version__
from xcwork.core.dataset import Dataset
from xcwork.data.propensity_constants import find_constants
from xcwork.data.readers import choose_reader, explain_choice, find_reader, get_format_name, read
from xcwork.data.readers.declaration import Finding
from xcwork.data.readers.safe_files import get_bare_name
from xcwork.data.readers.subject_vocabulary import list_vocabulary_candidates
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.data.readers.unknown_format import describe_content
from xcwork.errors import ConfigError, DataError, XcworkError
from xcwork.options import parse_pairs
from xcwork.paths import find_home, find_named_file
from xcwork.storage.atomic import remove_entry
from xcwork.storage.embedding_cache import EmbeddingCache

BUILT_IN = {
    "pyseealso": "documentation of the installed scientific Python packages, linked by its See Also sections",
    "synthetic": "a planted model of any size; set its parameters with synthetic:key=value,…",
}
README = "README.md"  # may lie beside datasets
REVIEW_FOLDER = "reviews"  # of the data folder: what people said about labels
REVIEW_MARKER = ".xcwork-reviews"  # tells it from a dataset of that name
CACHE_VERSION = 5  # raise it when the same files and options would give another dataset
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset that `load_dataset` would find by this name."""

    name: str
    format: str
    description: str
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class DatasetSource:
    """A dataset that was found but not read yet."""

    location: str  # a built-in name, or an absolute path: `resolve_source` understands it in every working directory
    home: Path
    options: Mapping[str, Any]  # of the reader or of the built-in dataset; stored options of an upload are among them
    path: Path | None = None  # without links; None: built in
    reader: ModuleType | None = None  # None: built in
    groups: str | None = None  # a recipe of `xcwork.data.group_recipes`

    @property
    def name(self) -> str:
        """What the dataset is called."""
        return self.location.partition(":")[0] if self.path is None else choose_name(self.path)

    def load(self) -> Dataset:
        """Return the dataset: built, read, or taken from the cache."""
        dataset = self._load_files() if self.path is not None else self._make_built_in()
        if self.groups is None:
            return dataset
        from xcwork.data.group_recipes import regroup_dataset

        return regroup_dataset(dataset, self.groups)

    def _make_built_in(self) -> Dataset:
        if self.name == "synthetic":
            from xcwork.data.synthetic import make_synthetic

            return make_synthetic(**self.options)
        from xcwork.data.pyseealso import load_pyseealso

        vectorizer = self.options.get("vectorizer")
        dataset = load_pyseealso(self.home, vectorizer=None if vectorizer is None else make_vectorizer(vectorizer))
        embeddings = EmbeddingCache(self.home / "data" / ".cache", self.name, _hash_values([dataset.source]))
        return dataset.keep_embeddings_in(embeddings)

    def _load_files(self) -> Dataset:
        """Return the dataset from the cache, or from its files; then text that became features is cached."""
        assert self.path is not None
        assert self.reader is not None
        cache = self.home / "data" / ".cache"
        format = get_format_name(self.reader)
        prefix = f"{make_cache_prefix(self.path)}-{_hash_values([format, self.options])}"
        files = list(_list_file_states(self.path, self.options))
        entry = cache / f"{prefix}-{_hash_values([*files, __version__, CACHE_VERSION])}"
        dataset = _load_entry(entry)
        if dataset is None:
            dataset = read(self.reader, self.path, self.name, self.options)
            if dataset.features.vectorizer is not None and format != "stored":
                _save_entry(dataset, entry, prefix)
        embeddings = EmbeddingCache(cache, make_cache_prefix(self.path), _hash_values(files))
        return replace(dataset, propensity=find_constants(dataset.name)).keep_embeddings_in(embeddings)


def load_dataset(source: str | Path, *, home: Path | None = None, **options: Any) -> Dataset:
    """Return a dataset by its name or path.

    Parameters
    ----------
    source : str or Path
        A built-in name (`pyseealso`, `synthetic:n_labels=500`), a path, or the name of something in `<home>/data`.
    home : Path, optional
        The folder with `data/` and `runs/`; by default `$XCWORK_HOME`, else the current folder.
    **options
        Options of the format, such as `text_column="question"`. Options stored with an upload apply unless overridden.
        Two are for every format: `groups`, a recipe of `xcwork.data.group_recipes`, and `self_links`. Formats with
        texts have `language` (such as "de", recognised if not given), `label_language` (of names in a vocabulary) and
        `char_ngrams` (pieces of long words).

    Raises
    ------
    DataError
        Names the file, the line and what to do.

    Examples
    --------
    >>> import xcwork
    >>> xcwork.load_dataset("synthetic:n_labels=200,n_documents=400")
    <synthetic: 320 train and 80 test documents, <200 labels with texts>>
    """
    return resolve_source(source, home=home, **options).load()


def resolve_source(source: str | Path, *, home: Path | None = None, **options: Any) -> DatasetSource:
    """Return what `load_dataset` would load, without reading it; what it could not even begin to read is rejected."""
    home = find_home() if home is None else Path(home)
    recipe = options.pop("groups", None)
    groups = None if recipe is None else str(recipe)
    name, _, arguments = str(source).partition(":")
    if name == "synthetic":
        return DatasetSource(str(source), home, parse_synthetic(arguments, options), groups=groups)
    if name == "pyseealso" and not arguments:
        if unknown := sorted(set(options) - {"vectorizer"}):
            raise ConfigError(f"pyseealso has no option {unknown[0]!r}; it has vectorizer")
        return DatasetSource(str(source), home, options, groups=groups)
    location = _find_location(source, home)
    path = location.resolve()
    options = _read_stored_options(path) | options
    reader = choose_reader(path, options.pop("format", None))
    return DatasetSource(str(location), home, options, path, reader, groups)


@dataclass(frozen=True)
class FormatExplanation:
    """What each format saw in a file or folder, in the order in which they are tried; the first match reads it."""

    path: Path
    content: str
    findings: Mapping[str, Finding]

    @property
    def chosen(self) -> str | None:
        """The format that reads it, or None."""
        return next((name for name, finding in self.findings.items() if finding.is_match), None)

    def to_dict(self) -> dict[str, Any]:
        findings = [{"format": name} | asdict(finding) for name, finding in self.findings.items()]
        return {"path": str(self.path), "content": self.content, "chosen": self.chosen, "formats": findings}


def explain_source(source: str | Path, *, home: Path | None = None) -> FormatExplanation:
    """Return what each format sees in a file or folder, without reading it."""
    if str(source).partition(":")[0] in BUILT_IN:
        raise ConfigError(f"{source} is built in, so no file is read")
    path = _find_location(source, find_home() if home is None else Path(home)).resolve()
    return FormatExplanation(path, describe_content(path), explain_choice(path))


def list_datasets(home: Path | None = None) -> list[DatasetEntry]:
    """Return the built-in datasets and what is in `<home>/data`."""
    entries = [DatasetEntry(name, "built in", description) for name, description in BUILT_IN.items()]
    folder = (find_home() if home is None else Path(home)) / "data"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith(".") or path.name == README or is_review_folder(path):
            continue
        try:
            reader = find_reader(path)
        except XcworkError as failure:
            log.info("%s is left out of the list: %s", path, failure)
            continue
        if reader is not None:
            entries.append(DatasetEntry(path.name, get_format_name(reader), reader.FORMAT.title, str(path)))
    return entries


def may_be_dataset(path: Path) -> bool:
    """Return whether a reader knows what `path` is; one that is damaged was a dataset once."""
    if path.name == README or is_review_folder(path):
        return False
    try:
        return find_reader(path) is not None
    except XcworkError:
        return True


def is_review_folder(path: Path) -> bool:
    """Return whether `path` is the folder of review files, which a reader could take for a dataset of JSON lines."""
    return path.name == REVIEW_FOLDER and (path / REVIEW_MARKER).exists()


def locate_options(path: Path) -> Path:
    """Return where the options for reading an uploaded file or folder are stored."""
    return path.with_name(f".{path.name}.options.json")


def _read_stored_options(path: Path) -> dict[str, Any]:
    """Return the options stored with an upload; nothing where there are none."""
    file = locate_options(path)
    try:
        stored = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as damage:
        raise DataError(f"the stored options cannot be read ({damage})", file=file, remedy="delete it") from None
    return stored if isinstance(stored, dict) else {}


def _find_location(source: str | Path, home: Path) -> Path:
    """Return the absolute path of `source`, which may be the name of something in the data folder."""
    given = Path(source).expanduser()
    for path in (given, home / "data" / given):
        if path.exists():
            return path.absolute()
    names = [entry.name for entry in list_datasets(home)]
    raise DataError(
        f"there is no dataset {str(source)!r}",
        remedy=f"give a path, or one of {', '.join(names)}",
    )


def choose_name(path: Path) -> str:
    """Return what a dataset is called: `eurlex57k` for a folder of that name or for `eurlex57k.jsonl.gz`."""
    return path.name if path.is_dir() else Path(get_bare_name(path)).stem


def parse_synthetic(arguments: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters in `key=value,…` and in `options`, which override them."""
    from xcwork.data.planted_model import Planted

    pairs = parse_pairs(filter(None, arguments.split(",")), "synthetic", example="synthetic:n_labels=500,seed=1")
    parsed: dict[str, Any] = {name: _parse_number(value.strip()) for name, value in pairs.items()}
    parsed |= options
    known = [parameter.name for parameter in fields(Planted)]
    for key in parsed:
        if key not in known:
            raise ConfigError(f"the synthetic dataset has no parameter {key!r}; it has {', '.join(known)}")
    return parsed


def _parse_number(text: str) -> int | float | str:
    """Return the number that `text` is, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _load_entry(entry: Path) -> Dataset | None:
    """Return the dataset that is cached in `entry`; None if there is none or it is damaged."""
    if not entry.is_dir():
        return None
    try:
        return Dataset.load(entry)
    except (XcworkError, KeyError, TypeError, ValueError) as damage:
        log.warning("the cached dataset %s is damaged and rebuilt: %s", entry.name, damage)
        _drop_entry(entry)
        return None


def _save_entry(dataset: Dataset, entry: Path, prefix: str) -> None:
    """Cache a dataset instead of what was read from the same path with the same options before."""
    try:
        # Of two processes that get here together, one puts its copy in place and the other keeps its own for itself.
        if not entry.exists():
            dataset.save(entry)
        for old in entry.parent.glob(f"{glob.escape(prefix)}-*"):
            if old != entry:
                _drop_entry(old)
    except OSError as failure:
        log.warning("the dataset could not be cached in %s: %s", entry.parent, failure)


def drop_cache(path: Path, home: Path) -> None:
    """Drop what is cached of the file or folder `path`, however it was read; call it while that still exists."""
    cache = home / "data" / ".cache"
    for entry in cache.glob(f"{glob.escape(make_cache_prefix(path.resolve()))}-*"):
        with suppress(FileNotFoundError):  # someone else was faster
            remove_entry(entry)


def make_cache_prefix(path: Path) -> str:
    """Return how the names of all entries begin that are cached of the file or folder `path`."""
    return f"{choose_name(path)[:80]}-{_hash_values([str(path)])}"


def _drop_entry(entry: Path) -> None:
    with suppress(OSError):  # someone else was faster, or the cache cannot be written
        remove_entry(entry)


def _list_file_states(path: Path, options: Mapping[str, Any]) -> Iterator[Any]:
    """Yield name, size and time of every file the dataset may be read from."""
    # No format looks further down than two folders.
    inside = [*path.glob("*"), *path.glob("*/*"), *path.glob("*/*/*")] if path.is_dir() else [path]
    files = sorted(file for file in inside if file.is_file())
    if path.is_file():  # a vocabulary beside it may name its labels
        files.extend(list_vocabulary_candidates(path.parent))
    label_file = options.get("label_file")
    if isinstance(label_file, str) and (named := find_named_file(label_file, path if path.is_dir() else path.parent)):
        files.append(named)
    for file in files:
        status = file.stat()
        yield [str(file), status.st_size, status.st_mtime_ns]


def _hash_values(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]
