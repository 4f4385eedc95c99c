"""Where things are: the home folder with datasets, runs and caches, and files that options name."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def find_home() -> Path:
    """Return the folder that holds `data/` and `runs/`: that of XCWORK_HOME, else the current one."""
    named = Path(os.environ.get("XCWORK_HOME") or "").expanduser()
    return _resolve_folder(named if named.is_absolute() else Path.cwd() / named)


@lru_cache(maxsize=16)  # a page asks for it some sixty times, and each time every part of the path would be looked at
def _resolve_folder(folder: Path) -> Path:
    return folder.resolve()


def find_named_file(name: str, folder: Path) -> Path | None:
    """Return the file that an option names: in the user's home (`~`), here or in `folder`; None if there is none."""
    try:
        given = Path(name).expanduser()
    except RuntimeError:  # `~somebody` whom this machine does not know
        given = Path(name)
    return next((file.resolve() for file in (given, folder / name) if file.is_file()), None)
