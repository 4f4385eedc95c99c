"""A marker that planted code would leave; installed packages are looked through once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import prepare_pages_once
from tests.support.planted_code import Planted


@pytest.fixture(scope="session", autouse=True)
def known_packages() -> Iterator[None]:
    with prepare_pages_once():
        yield


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Any]:
    """An object that, once unpickled, leaves a file; after the test there must be none."""
    marker = tmp_path / "code-was-run"
    yield Planted(marker)
    assert not marker.exists(), "planted code was run"
