"""Python imports this file at start-up when its folder is on PYTHONPATH; packages in XCWORK_TEST_HIDE are not found.

Finders are asked about everything else as before, so a hidden package looks exactly like one that is not installed.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from typing import Any

HIDDEN = frozenset(os.environ.get("XCWORK_TEST_HIDE", "").split())


class HidingFinder:
    """A finder that does not find hidden packages."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if name.partition(".")[0] in HIDDEN else self._finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


if HIDDEN:
    sys.meta_path[:] = [HidingFinder(finder) for finder in sys.meta_path]
