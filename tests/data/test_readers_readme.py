"""Declarations of formats: data/README.md is made from them, their examples load, and their options exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset, resolve_source
from xcwork.data.readers import FORMATS, get_format_name, import_reader, list_options

README = (ROOT / "data" / "README.md").read_text("utf-8")


def find_blocks(section: str) -> list[str]:
    """Return the code blocks of a section."""
    (found,) = [part for part in re.split(r"^## ", README, flags=re.MULTILINE) if part.startswith(f"{section}\n")]
    return re.findall(r"^```\w*\n(.*?)^```", found, flags=re.MULTILINE | re.DOTALL)


def load_files(folder: Path, files: dict[str, str]) -> Dataset:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, "utf-8")
    return load_dataset(folder, home=folder / "home")


def test_the_readme_is_what_the_readers_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import format_docs

    assert format_docs.fill_readme(README) == README, "run: python scripts/format_docs.py"
    for name in FORMATS:
        assert f"<!-- format: {name} -->" in README, f"data/README.md has no section {name}"


@pytest.mark.parametrize("name", FORMATS)
def test_a_reader_declares_its_name_and_every_option(name: str) -> None:
    declared = import_reader(name).FORMAT
    assert declared.name == name
    assert set(declared.options) == set(list_options(import_reader(name)))
    assert declared.files


@pytest.mark.parametrize("name", FORMATS)
def test_the_example_of_a_format_loads_in_that_format(name: str, tmp_path: Path) -> None:
    declared = import_reader(name).FORMAT
    folder = tmp_path / "data"
    folder.mkdir()
    for file, content in declared.example.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(content, "utf-8")
    if declared.example_code:
        environment = os.environ | {"XCWORK_HOME": str(tmp_path / "home")}
        subprocess.run([sys.executable, "-c", declared.example_code], cwd=folder, env=environment, check=True)
    path = folder / "small" if (folder / "small").is_dir() else folder
    source = resolve_source(path, home=tmp_path / "home")
    assert get_format_name(source.reader) == name
    dataset = source.load()
    assert dataset.train.Y.nnz
    assert len(dataset.train) + len(dataset.test) >= 2


def test_other_examples_of_tables(tmp_path: Path) -> None:
    _, json_lines, labels = find_blocks("table")
    dataset = load_files(tmp_path / "one", {"recipes.jsonl": json_lines})
    assert sorted(dataset.labels.names) == ["baking", "meat", "oven", "sweet"]
    assert sorted(dataset.train.texts + dataset.test.texts)[0] == "Chewy cookies\nSoft sugar, butter"
    files = {"train.jsonl": json_lines, "test.jsonl": json_lines, "labels.jsonl": labels}
    dataset = load_files(tmp_path / "three", files)
    assert dataset.labels.names[0] == "Baking"
    assert "pastry" in dataset.labels.texts[0]


def test_the_example_of_filter_pairs(tmp_path: Path) -> None:
    X, Y, pairs = find_blocks("splits")
    files = {f"{split}_X_{kind}.txt": text for split in ("trn", "tst") for kind, text in (("Xf", X), ("Y", Y))}
    dataset = load_files(tmp_path / "data", files | {"filter_labels_test.txt": pairs})
    assert dataset.test.filter_pairs.tolist() == [[0, 1], [1, 0]]


def test_the_example_of_bags(tmp_path: Path) -> None:
    dataset = load_files(tmp_path / "bags", {"bags.arff": find_blocks("mulan")[-1]})
    assert sorted(dataset.train.groups + dataset.test.groups) == ["bag1", "bag1", "bag2"]
