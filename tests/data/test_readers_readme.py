"""The examples of data/README.md load as it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.paths import ROOT
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.data.readers import FORMATS

README = (ROOT / "data" / "README.md").read_text()


def examples(section: str) -> list[str]:
    """The code blocks of a section."""
    text = re.split(r"^## ", README, flags=re.MULTILINE)
    (found,) = [part for part in text if part.startswith(f"{section}\n")]
    return re.findall(r"^```\w*\n(.*?)^```", found, flags=re.MULTILINE | re.DOTALL)


def load(folder: Path, **files: str) -> Dataset:
    for name, content in files.items():
        (folder / name.replace("__", "-").replace("_dot_", ".")).write_text(content)
    return load_dataset(folder, home=folder / "home")


def labels_of(dataset: Dataset) -> list[str]:
    return sorted(dataset.labels.names)


def test_every_format_has_a_section():
    for form in FORMATS:
        assert examples(form), form


def test_tables(tmp_path):
    csv, json_lines, labels = examples("table")
    for name, content in (("a", {"recipes_dot_csv": csv}), ("b", {"recipes_dot_jsonl": json_lines})):
        (tmp_path / name).mkdir()
        dataset = load(tmp_path / name, **content)
        assert labels_of(dataset) == ["baking", "meat", "oven", "sweet"]
        assert sorted(dataset.train.texts + dataset.test.texts)[0] == "Chewy cookies\nSoft sugar, butter"
    (tmp_path / "c").mkdir()
    dataset = load(tmp_path / "c", train_dot_jsonl=json_lines, test_dot_jsonl=json_lines, labels_dot_jsonl=labels)
    assert dataset.labels.names[0] == "Baking"
    assert "pastry" in dataset.labels.texts[0]


def test_sparse_text(tmp_path):
    (xc,) = examples("xc")
    X, Y, pairs = examples("splits")
    (Z,) = examples("zestxml")
    for name in "abcd":
        (tmp_path / name).mkdir()
    assert load(tmp_path / "a", train_dot_txt=xc, test_dot_txt=xc).train.Y.nnz == 3
    files = {f"{part}_X_{kind}_dot_txt": text for part in ("trn", "tst") for kind, text in (("Xf", X), ("Y", Y))}
    dataset = load(tmp_path / "b", **files, filter_labels_test_dot_txt=pairs)
    assert dataset.train.X.shape == (2, 3)
    assert dataset.test.filter_pairs.tolist() == [[0, 1], [1, 0]]
    assert load(tmp_path / "c", **files, Y_Yf_dot_txt=Z).labels.Z.shape == (2, 4)
    assert labels_of(load(tmp_path / "d", train_dot_svm=examples("svmlight")[0])) == ["3", "7"]


def test_lf_json(tmp_path):
    documents, labels = examples("lf_json")
    assert labels_of(load(tmp_path, trn_dot_json=documents, lbl_dot_json=labels)) == ["Tea", "Wine"]


def test_arff(tmp_path):
    arff, xml, bags = examples("mulan")
    (tmp_path / "bags").mkdir()
    assert labels_of(load(tmp_path, tags__train_dot_arff=arff, tags_dot_xml=xml)) == ["TAG_blue", "TAG_red"]
    dataset = load(tmp_path / "bags", bags_dot_arff=bags)
    assert sorted(dataset.train.groups + dataset.test.groups) == ["bag1", "bag1", "bag2"]
