"""README and docs are true: tables are what the methods declare, commands and files exist, printed Python runs."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text("utf-8")
TEXTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
TEXTS += [file for folder in ("data", "benchmarks", "notebooks") for file in (ROOT / folder).glob("*.md")]
TEXTS += sorted((ROOT / "docs").rglob("*.md"))
MAX_README_BYTES = 7_000
MAX_PARAGRAPH_LINES = 4
# Pages that scripts/site_pages.py writes; links inside docs/ may lead to them.
GENERATED = ("data.md", "commands.md", "security.md", "contributing.md", "changelog.md", "notebooks.md")


def test_readme_is_short() -> None:
    assert len(README.encode()) <= MAX_README_BYTES
    prose = re.sub(r"```.*?```|^[|<].*$|^- .*$", "", README, flags=re.DOTALL | re.MULTILINE)
    assert all(len(block.strip().splitlines()) <= MAX_PARAGRAPH_LINES for block in prose.split("\n\n"))


def test_the_methods_table_is_what_the_methods_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import methods_table

    assert methods_table.with_table(README) == README, "run: python scripts/methods_table.py"


def test_every_method_has_a_page_in_the_documentation() -> None:
    from xcwork.methods.registry import METHODS

    listed = re.findall(r": methods/(\w+)\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert set(METHODS) <= set(listed)


def test_the_page_about_devices_is_what_methods_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import devices_docs

    assert devices_docs.PAGE.read_text("utf-8") == devices_docs.render_page(), "run: python scripts/devices_docs.py"


def test_every_command_that_texts_show_exists() -> None:
    from xcwork.cli import app

    blocks = [
        block for file in TEXTS for block in re.findall(r"```sh\n(.*?)```", file.read_text("utf-8"), flags=re.DOTALL)
    ]
    verbs = set(re.findall(r"^(?:[^#\n]*; )?xcwork ([a-z]+)", "\n".join(blocks), flags=re.MULTILINE))
    assert len(verbs) >= 10
    for verb in verbs:
        assert CliRunner().invoke(app, [verb, "--help"]).exit_code == 0, verb


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_file_it_links_to_exists(file: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", file.read_text("utf-8")):
        path = file.parent / target
        is_generated = "docs" in file.parts and (
            path.name in GENERATED or path.parent.name in ("methods", "results") or path.name in ("index.md",)
        )
        assert path.exists() or is_generated, target  # links between pages of the site are checked by mkdocs


def test_names_and_parameters_in_all_texts_exist() -> None:
    from xcwork.methods.registry import METHODS, find_method_class

    texts = "\n".join(file.read_text("utf-8") for file in TEXTS if file.name != "CONTRIBUTING.md")  # made-up names
    names = set(re.findall(r"\bxcwork(?:\.[A-Za-z_]\w*)+", texts))
    assert names
    for name in names:
        pkgutil.resolve_name(name)
    settings = set(re.findall(r"--set (\w+)=", texts))
    assert settings
    assert settings <= {parameter for method in METHODS for parameter in find_method_class(method).parameters()}
    paths = set(re.findall(r"\b(?:xcwork|app|tests|benchmarks|scripts)/[\w/]+\.\w+", texts))
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_python_in_all_texts_imports_what_exists() -> None:
    texts = "\n".join(file.read_text("utf-8") for file in TEXTS if file.name != "CONTRIBUTING.md")  # made-up modules
    blocks = re.findall(r"```python\n(.*?)```", texts, flags=re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("xcwork"):
                for name in node.names:
                    pkgutil.resolve_name(f"{node.module}:{name.name}")


def test_names_that_notebooks_mention_exist() -> None:
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(file.read_text("utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        for name in set(re.findall(r"\bxcwork(?:\.[A-Za-z_]\w*)+", text)):
            pkgutil.resolve_name(name)


@pytest.mark.slow
def test_its_python_runs_as_printed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "P@1" in printed  # the table of metrics
    assert "numpy.linalg.eigvalsh" in printed  # the labels of the question
    assert "compute eigenvalues" in printed  # the evidence for the first of them
    added = "fast Fourier transform on a GPU"
    assert added in names["model"].predict(added, k=1).to_frame().to_string()  # the loaded model knows the new label
    assert (tmp_path / "my-model").is_dir()
    assert (home / "data").is_dir()
