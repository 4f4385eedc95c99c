"""Datasets by name or path: `load_dataset("pyseealso")`, `load_dataset("synthetic:seed=1")`, `load_dataset(path)`.

Turning text into features takes the longest, so datasets read from text are kept below `<home>/data/.cache`. An entry
is found again by the resolved path, the size and time of every file of the dataset, the options and the version of
xcwork. It appears in one step when it is complete; an entry that cannot be read is made again; a cache that cannot be
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
from xcwork.data.readers import choose_reader, find_reader, format_of, read
from xcwork.data.readers.safe_files import bare_name, find_named
from xcwork.data.readers.texts import vectorizer_with
from xcwork.errors import ConfigError, DataError, XcworkError
from xcwork.paths import home as default_home
from xcwork.storage.atomic import remove_entry

BUILT_IN = {
    "pyseealso": "documentation of the installed scientific Python packages, linked by its See Also sections",
    "synthetic": "a planted model of any size; set its parameters with synthetic:key=value,…",
}
README = "README.md"  # may lie beside datasets
CACHE_VERSION = 2  # raise it when the same files and options would give another dataset
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


def load_dataset(source: str | Path, *, home: Path | None = None, **options: Any) -> Dataset:
    """The dataset called `source`: a built-in name, a path, or the name of something in `<home>/data`.

    `options` go to the reader of the format (see data/README.md) or to the synthetic generator. Options stored with an
    upload apply unless overridden. Two are for every format: `groups`, a recipe of `xcwork.data.group_recipes`, and
    `self_links` of `xcwork.data.self_links`.
    """
    home = default_home() if home is None else Path(home)
    if (recipe := options.pop("groups", None)) is not None:
        from xcwork.data.group_recipes import regroup

        return regroup(load_dataset(source, home=home, **options), str(recipe))
    name, _, arguments = str(source).partition(":")
    if name == "pyseealso" and not arguments:
        return _pyseealso(home, **options)
    if name == "synthetic":
        return _synthetic(arguments, options)
    from xcwork.data.propensity_constants import constants_for

    path = _find(source, home)
    options = _stored_options(path) | options
    reader = choose_reader(path, options.pop("format", None))
    dataset = _cached(reader, path, options, home / "data" / ".cache")
    return replace(dataset, propensity=constants_for(dataset.name))


def list_datasets(home: Path | None = None) -> list[DatasetEntry]:
    """The built-in datasets and what lies in `<home>/data`."""
    entries = [DatasetEntry(name, "built in", description) for name, description in BUILT_IN.items()]
    folder = (default_home() if home is None else Path(home)) / "data"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith(".") or path.name == README:
            continue
        try:
            reader = find_reader(path)
        except XcworkError as failure:
            log.info("%s is left out of the list: %s", path, failure)
            continue
        if reader is not None:
            entries.append(DatasetEntry(path.name, format_of(reader), reader.TITLE, str(path)))
    return entries


def may_be_dataset(path: Path) -> bool:
    """Return whether a reader knows what `path` is; one that is damaged was a dataset once."""
    if path.name == README:
        return False
    try:
        return find_reader(path) is not None
    except XcworkError:
        return True


def options_file(path: Path) -> Path:
    """Where the options for reading an uploaded file or folder are stored."""
    return path.with_name(f".{path.name}.options.json")


def _stored_options(path: Path) -> dict[str, Any]:
    file = options_file(path)
    try:
        stored = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as damage:
        raise DataError(f"the stored options cannot be read ({damage})", file=file, remedy="delete it") from None
    return stored if isinstance(stored, dict) else {}


def check_source(source: str | Path, *, home: Path | None = None, format: str | None = None) -> None:
    """Refuse what `load_dataset` could not even begin to read; nothing is read for that."""
    if str(source).partition(":")[0] not in BUILT_IN:
        choose_reader(_find(source, default_home() if home is None else Path(home)), format)


def _find(source: str | Path, home: Path) -> Path:
    given = Path(source).expanduser()
    for path in (given, home / "data" / given):
        if path.exists():
            return path.resolve()
    names = [entry.name for entry in list_datasets(home)]
    raise DataError(
        f"there is no dataset {str(source)!r}",
        remedy=f"give a path, or one of {', '.join(names)}",
    )


def name_of(path: Path) -> str:
    """Return what a dataset is called: `eurlex57k` for a folder of that name or for `eurlex57k.jsonl.gz`."""
    return path.name if path.is_dir() else Path(bare_name(path)).stem


def _pyseealso(home: Path, *, vectorizer: Mapping[str, Any] | None = None, **unknown: Any) -> Dataset:
    if unknown:
        raise ConfigError(f"pyseealso has no option {min(unknown)!r}; it has vectorizer")
    from xcwork.data.pyseealso import load_pyseealso

    return load_pyseealso(home, vectorizer=None if vectorizer is None else vectorizer_with(vectorizer))


def parse_synthetic(arguments: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in `key=value,…` and in `options`, which hold against them."""
    from xcwork.data.planted_model import Planted

    parsed: dict[str, Any] = {}
    for item in filter(None, arguments.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"{item!r} is not key=value; write synthetic:n_labels=500,seed=1")
        parsed[key.strip()] = _number(value.strip())
    parsed |= options
    known = [parameter.name for parameter in fields(Planted)]
    for key in parsed:
        if key not in known:
            raise ConfigError(f"the synthetic dataset has no parameter {key!r}; it has {', '.join(known)}")
    return parsed


def _number(text: str) -> int | float | str:
    """The number that `text` is, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _synthetic(arguments: str, options: dict[str, Any]) -> Dataset:
    from xcwork.data.synthetic import make_synthetic

    return make_synthetic(**parse_synthetic(arguments, options))


def _cached(reader: ModuleType, path: Path, options: dict[str, Any], cache: Path) -> Dataset:
    """The dataset from the cache, or read from its files and, if that meant turning text into features, put there."""
    name = name_of(path)
    prefix = f"{_cache_prefix(path)}-{_digest([format_of(reader), options])}"
    entry = cache / f"{prefix}-{_digest([*_state_of(path, options), __version__, CACHE_VERSION])}"
    if entry.is_dir():
        try:
            return Dataset.load(entry)
        except (XcworkError, KeyError, TypeError, ValueError) as damage:
            log.warning("the cached dataset %s is damaged and made again: %s", entry.name, damage)
            _drop(entry)
    dataset = read(reader, path, name, options)
    if dataset.features.vectorizer is None or format_of(reader) == "stored":
        return dataset
    try:
        # Of two processes that get here at once, one puts its copy in place and the other keeps its own for itself.
        if not entry.exists():
            dataset.save(entry)
        for old in cache.glob(f"{glob.escape(prefix)}-*"):
            if old != entry:
                _drop(old)
    except OSError as failure:
        log.warning("the dataset could not be cached in %s: %s", cache, failure)
    return dataset


def forget_cached(path: Path, home: Path) -> None:
    """Drop what is cached of the file or folder `path`, however it was read; call it while that still exists."""
    cache = home / "data" / ".cache"
    for entry in cache.glob(f"{glob.escape(_cache_prefix(path.resolve()))}-*"):
        with suppress(FileNotFoundError):  # someone else was faster
            remove_entry(entry)


def _cache_prefix(path: Path) -> str:
    return f"{name_of(path)[:80]}-{_digest([str(path)])}"


def _drop(entry: Path) -> None:
    with suppress(OSError):  # someone else was faster, or the cache cannot be written
        remove_entry(entry)


def _state_of(path: Path, options: dict[str, Any]) -> Iterator[Any]:
    """Name, size and time of every file the dataset may be read from."""
    # No format looks further down than one folder.
    inside = [*path.glob("*"), *path.glob("*/*")] if path.is_dir() else [path]
    files = sorted(file for file in inside if file.is_file())
    label_file = options.get("label_file")
    if isinstance(label_file, str) and (named := find_named(label_file, path if path.is_dir() else path.parent)):
        files.append(named)
    for file in files:
        status = file.stat()
        yield [str(file), status.st_size, status.st_mtime_ns]


def _digest(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]
