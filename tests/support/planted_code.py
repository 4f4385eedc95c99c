"""An object that runs a command when it is unpickled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


class Planted:
    """Unpickling this runs a command."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch '{self.marker}'",)
