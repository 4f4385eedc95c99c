"""A dashboard in a process of its own, as browser tests visit it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.serving import serving
from tests.support.paths import PLUGIN


@contextmanager
def dashboard_over(folder: Path) -> Iterator[str]:
    """Serve a dashboard over the home `folder` and yield its address."""
    python_path = os.pathsep.join(filter(None, (str(PLUGIN), os.environ.get("PYTHONPATH"))))
    with serving(folder, {"XCWORK_HOME": "", "PYTHONPATH": python_path}, folder / "server.log") as server:
        yield server.address
