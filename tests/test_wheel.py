"""The wheel holds the dashboard with everything it shows, and works from an empty folder."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import xcwork
from tests.support.paths import ROOT
from tests.support.server import serving

BUILD = "from setuptools import build_meta; print(build_meta.build_wheel('out'))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built as `python -m build` builds it, without asking the network for anything."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("app", "xcwork"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "out" / done.stdout.splitlines()[-1]


def test_it_holds_every_file_of_the_packages(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    kinds = (".py", ".md", ".svg", ".toml", ".csv", ".json", ".js", ".css", ".typed")
    wanted = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in (("app", "xcwork_app"), ("xcwork", "xcwork"))
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds and "__pycache__" not in path.parts
    } | {"xcwork/py.typed", "xcwork_app/.streamlit/config.toml"}
    assert wanted - inside == set()
    assert {"xcwork_app/teach/home.md", "xcwork_app/static/mark.svg", "xcwork/published/results.csv"} <= inside
    assert {name.split("/")[0].split("-")[0] for name in inside} == {"xcwork_app", "xcwork"}


def test_its_description_has_no_link_that_leads_nowhere(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    description = metadata.get_payload()
    assert isinstance(description, str)
    assert "# xcwork" in description
    assert "```python" in description
    assert "<img" not in description
    assert re.findall(r"\]\((?!https?:)", description) == []
    assert metadata["Version"] == xcwork.__version__
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.slow
def test_the_dashboard_starts_from_it_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed, home = tmp_path / "installed", tmp_path / "empty"
    home.mkdir()
    zipfile.ZipFile(wheel).extractall(installed)
    environment = os.environ | {"PYTHONPATH": str(installed), "XCWORK_HOME": ""}
    found = subprocess.run(
        [sys.executable, "-P", "-c", "import xcwork, xcwork_app; print(xcwork_app.__file__, xcwork.__file__)"],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(Path(file).is_relative_to(installed) for file in found.stdout.split())
    with serving(Path(), environment, tmp_path / "log", cwd=home, interpreter_options=("-P",)) as server:
        assert server.process.poll() is None, (tmp_path / "log").read_text()
