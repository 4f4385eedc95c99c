"""Datasets as the dashboard names them: a source with its reading options, written as one id.

    pyseealso                                   a built-in dataset
    reviews.csv                                 something in <home>/data
    /data/reviews.csv?text_column=body          a path on this machine, with options for its reader

The id stands in the address and in the side bar; `load_options` and `arguments` give the same to the engine and to the
command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

import streamlit as st

from xcwork.data.load import BUILT_IN, list_datasets
from xcwork.paths import find_home


@dataclass(frozen=True)
class Source:
    """A dataset that can be loaded: `data` as `load_dataset` takes it, and options as text."""

    data: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_data(cls, data: str | Path, options: Mapping[str, Any] | None = None) -> Source:
        """Return the source of `data`; what lies in the data folder goes by its name there."""
        text, folder = str(data), find_home() / "data"
        if not is_built_in(text) and Path(text).is_absolute() and Path(text).parent == folder:
            text = Path(text).name
        return cls(text, tuple(sorted((name, _format_option(value)) for name, value in (options or {}).items())))

    @classmethod
    def from_id(cls, identity: str) -> Source:
        """Return the source of an id, or of an address that somebody wrote."""
        data, _, options = identity.partition("?")
        return cls.from_data(unquote(data), dict(parse_qsl(options)))

    @property
    def id(self) -> str:
        return quote(self.data, safe="/:,=. ") + (f"?{urlencode(self.options)}" if self.options else "")

    @property
    def title(self) -> str:
        """A short name for people."""
        name = self.data.replace(":", " ").replace(",", ", ") if is_built_in(self.data) else Path(self.data).name
        return name + (" (" + ", ".join(f"{key} {value}" for key, value in self.options) + ")" if self.options else "")

    @property
    def path(self) -> Path | None:
        """Where it lies; None for built-in ones."""
        return None if is_built_in(self.data) else find_home() / "data" / self.data  # an absolute path stays as it is

    @property
    def location(self) -> str:
        """The source as a run records it: independent of the working directory."""
        return self.data if self.path is None else str(self.path)

    def load_options(self) -> dict[str, Any]:
        from xcwork.options import parse_data_options

        return parse_data_options(f"{name}={value}" for name, value in self.options)

    def list_arguments(self) -> list[str]:
        """Return what follows `--data` on a command line."""
        return [self.data, *(part for name, value in self.options for part in ("--option", f"{name}={value}"))]

    def make_stamp(self) -> str:
        """Return a text that changes when the files do."""
        if self.path is None:
            return ""
        hidden = self.path.with_name(f".{self.path.name}.options.json")
        inside = [*self.path.glob("*"), *self.path.glob("*/*")] if self.path.is_dir() else [self.path]
        states = [file.stat() for file in (*inside, hidden) if file.is_file()]
        return f"{len(states)}-{sum(s.st_size for s in states)}-{max((s.st_mtime_ns for s in states), default=0)}"


def is_built_in(data: str) -> bool:
    return data.partition(":")[0] in BUILT_IN


def _format_option(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)


def list_sources(*more: Source) -> list[Source]:
    """Return the built-in datasets, those in the data folder, and `more`, each once."""
    folder = find_home() / "data"
    changed = folder.stat().st_mtime_ns if folder.is_dir() else 0
    return list(dict.fromkeys([*map(Source, _list_names(str(find_home()), changed)), *more]))


@st.cache_data(max_entries=4, show_spinner=False)
def _list_names(folder: str, changed: int) -> list[str]:
    return [entry.name for entry in list_datasets(Path(folder))]
