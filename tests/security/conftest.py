"""Makes the fuzzer importable, and gives tests a marker that planted code would leave."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).resolve().parents[2]


class Planted:
    """Unpickling this runs a command."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch '{self.marker}'",)


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Any]:
    """An object that, once unpickled, leaves a file; after the test there must be none."""
    marker = tmp_path / "code-was-run"
    yield Planted(marker)
    assert not marker.exists(), "planted code was run"
