"""ARFF files of MULAN and MEKA: splits that the relation names, and attributes that only name the rows."""

from __future__ import annotations

import bz2
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.errors import DataError


def load(path: Path, **options: object) -> Dataset:
    return load_dataset(path, home=path.parent, **options)


def numbered(path: Path, relation: str, n_rows: int = 40) -> Path:
    rows = "".join(f"{i % 2},{i + 1}\n" for i in range(n_rows))
    path.write_text(f"@relation '{relation}'\n@attribute odd {{0,1}}\n@attribute x numeric\n@data\n{rows}")
    return path


@pytest.mark.parametrize(
    ("words", "n_training"), [("-split-number 30", 30), ("-split-percentage 25", 10), ("-split-percentage 12.5", 5)]
)
def test_the_relation_of_meka_says_which_rows_train(tmp_path: Path, words: str, n_training: int) -> None:
    dataset = load(numbered(tmp_path / "set.arff", f"Set: -C 1 {words}"))
    assert dataset.train.X.toarray().ravel().tolist() == list(range(1, n_training + 1))
    assert dataset.test.X.toarray().ravel().tolist() == list(range(n_training + 1, 41))
    assert words in dataset.source


def test_test_share_goes_before_the_relation(tmp_path: Path) -> None:
    dataset = load(numbered(tmp_path / "set.arff", "Set: -C 1 -split-number 30"), test_share=0.5)
    assert dataset.train.X.toarray().ravel().tolist() != list(range(1, 31))
    assert "held out" in dataset.source


def test_the_relation_does_not_tear_a_pair_of_files(tmp_path: Path) -> None:
    for part in ("train", "test"):
        numbered(tmp_path / f"set-{part}.arff", "Set: -C 1 -split-number 30")
    dataset = load_dataset(tmp_path, home=tmp_path / "home")
    assert (len(dataset.train), len(dataset.test)) == (40, 40)


@pytest.mark.parametrize("words", ["-split-number 40", "-split-number 0", "-split-percentage 100"])
def test_a_split_without_training_or_test_rows_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(DataError, match=r"leaves no training or no test documents of 40; .*test_share"):
        load(numbered(tmp_path / "set.arff", f"Set: -C 1 {words}"))


def test_the_relation_counts_bags(tmp_path: Path) -> None:
    rows = "".join(f'bag{i},"{i},1\\n{i},2",{i % 2}\n' for i in range(30))
    (tmp_path / "bags.arff").write_text(
        "@relation 'bags: -split-number 20'\n@attribute id string\n@attribute bag relational\n"
        "  @attribute x numeric\n  @attribute y numeric\n@end bag\n@attribute odd {0,1}\n@data\n" + rows
    )
    dataset = load(tmp_path / "bags.arff")
    assert dataset.train.groups == [f"bag{i}" for i in range(20) for _ in range(2)]
    assert len(dataset.test) == 20
    assert dataset.notes == ()


def with_names(path: Path, kind: str, names: list[str]) -> Path:
    rows = "".join(f"{name},{i % 2},{i}\n" for i, name in enumerate(names))
    header = f"@relation x\n@attribute name {kind}\n@attribute label {{0,1}}\n@attribute x numeric\n@data\n"
    path.write_text(header + rows)
    path.with_suffix(".xml").write_text('<labels><label name="label"/></labels>')
    return path


def nominal(values: list[str]) -> str:
    return "{" + ",".join(dict.fromkeys(values)) + "}"


@pytest.mark.parametrize("n_repeated", [0, 3])
@pytest.mark.parametrize("is_text", [False, True])
def test_an_attribute_that_names_the_rows_is_left_out(tmp_path: Path, n_repeated: int, is_text: bool) -> None:
    names = [f"P{i}" for i in range(40 - n_repeated)] + ["P0"] * n_repeated
    dataset = load(with_names(tmp_path / "set.arff", "string" if is_text else nominal(names), names))
    assert dataset.features.names == ["x"]
    values = np.vstack([dataset.train.X.toarray(), dataset.test.X.toarray()]).ravel()
    assert sorted(values.tolist()) == list(range(40))
    assert dataset.notes == ("the attribute 'name' names the rows, so it is left out of the features",)


@pytest.mark.parametrize("names", [[f"P{i % 25}" for i in range(40)], [f"P{i}" for i in range(10)]])
def test_an_attribute_whose_values_recur_or_are_few_stays(tmp_path: Path, names: list[str]) -> None:
    dataset = load(with_names(tmp_path / "set.arff", nominal(names), names))
    assert dataset.features.size == 1 + len(set(names))
    assert dataset.notes == ()
    with pytest.raises(DataError, match="line 2: attribute 'name' is of type 'string', which cannot become features"):
        load(with_names(tmp_path / "text.arff", "string", names))


@needs_shared_data("formats/mulan-genbase", "formats/meka-yeast")
def test_the_files_of_mulan_and_meka(tmp_path: Path) -> None:
    genbase = load_dataset(SHARED_DATA / "formats" / "mulan-genbase", home=tmp_path)
    assert (len(genbase.train), len(genbase.test), len(genbase.labels)) == (463, 199, 27)
    assert genbase.features.size == 1185  # all attributes that are no labels, but `protein`
    assert "'protein' names the rows" in genbase.notes[0]
    yeast = tmp_path / "Yeast.arff"
    yeast.write_bytes(bz2.decompress((SHARED_DATA / "formats" / "meka-yeast" / "Yeast.arff.bz2").read_bytes()))
    dataset = load(yeast)
    assert (len(dataset.train), len(dataset.test)) == (1500, 917)
    assert (dataset.features.size, len(dataset.labels)) == (103, 14)
