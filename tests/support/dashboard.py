"""A dashboard in a process of its own, as browser tests visit it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.paths import PLUGIN
from tests.support.server import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Locator

ROW_HEIGHT = 35  # pixels
TICK_BOX = 14  # pixels from the left edge of a table


@contextmanager
def dashboard_server_over(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Serve a dashboard over the home `folder`, which knows the method of the tests."""
    python_path = os.pathsep.join(filter(None, (str(PLUGIN), os.environ.get("PYTHONPATH"))))
    settings = {"XCWORK_HOME": "", "PYTHONPATH": python_path, **(environment or {})}
    with serving(folder, settings, folder / "server.log") as server:
        yield server


@contextmanager
def dashboard_over(folder: Path) -> Iterator[str]:
    """Serve a dashboard over the home `folder` and yield its address."""
    with dashboard_server_over(folder) as server:
        yield server.address


def tick_row(table: Locator, row: int) -> None:
    """Choose a row of a table; it is drawn on a canvas, so there is nothing else to click."""
    table.scroll_into_view_if_needed()
    table.click(position={"x": TICK_BOX, "y": ROW_HEIGHT * (row + 1.5)})
