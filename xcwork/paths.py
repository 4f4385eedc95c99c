"""Where datasets, runs and caches live: the folder of the environment variable XCWORK_HOME, else the current folder."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder that holds `data/` and `runs/`."""
    return Path(os.environ.get("XCWORK_HOME") or Path.cwd()).expanduser().resolve()
