"""The README is true: its table is what the methods declare, its commands and files exist, its Python runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import xcwork
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_the_methods_table_is_what_the_methods_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import methods_table

    assert methods_table.with_table(README) == README, "run: python scripts/methods_table.py"


def test_every_command_it_shows_exists() -> None:
    from xcwork.cli import app

    verbs = set(re.findall(r"^(?:[^#\n]*; )?xcwork (\w+)", README, flags=re.MULTILINE))
    assert len(verbs) > 10
    for verb in verbs:
        assert CliRunner().invoke(app, [verb, "--help"]).exit_code == 0, verb


def test_every_file_it_links_to_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from xcwork.data.synthetic import make_synthetic

    small = make_synthetic(n_documents=200, n_labels=30, n_topics=3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["xcwork"], "load_dataset", lambda name: small, raising=False)
    code = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert code is not None
    # The words of the example are not those of the small dataset, so it asks about one of its documents.
    source = code.group(1).replace('"Compute the eigenvalues of a symmetric matrix"', "data.test.texts[0]")
    exec(compile(source, "README.md", "exec"), {})
    assert "P@1" in capsys.readouterr().out
    assert xcwork.load_method(tmp_path / "my-model").predict(small.test.texts[0], k=1).ids[0, 0] >= 0
