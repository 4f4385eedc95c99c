"""Every benchmark can be started as the documents say: `python -m benchmarks.NAME`."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from tests.support.paths import ROOT

NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_it_starts_and_says_what_it_takes(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.delitem(sys.modules, f"benchmarks.{name}", raising=False)
    with pytest.raises(SystemExit) as end:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")
    assert end.value.code == 0
    assert "usage:" in capsys.readouterr().out


def test_documents_name_benchmarks_that_exist() -> None:
    files = [file for pattern in ("*.md", "docs/*.md", "benchmarks/*.md") for file in ROOT.glob(pattern)]
    texts = [file.read_text("utf-8") for file in files]
    named = {name for text in texts for name in re.findall(r"(?:xcwork bench|-m benchmarks\.) ?([a-z_]+)", text)}
    assert len(named) > 5
    assert named <= set(NAMES)
    assert not any(re.search(r"python benchmarks/\w+\.py", text) for text in texts)
