"""What one program writes, another reads back equal: our writers and readers, pandas, pyarrow, scipy and the peers."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet
from scipy import sparse

import xcwork
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.load import load_dataset
from xcwork.data.readers.arff import read_arff
from xcwork.data.writers import write_splits, write_stored, write_xc
from xcwork.errors import DataError

N_FEATURES = 6
N_LABELS = 4
# Names that a line of text can hold; labels of a dataset are different.
printable = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))
names = st.lists(
    st.text(printable, min_size=1, max_size=8).filter(lambda name: name == name.strip() and name != "\ufeff"),
    min_size=N_LABELS,
    max_size=N_LABELS,
    unique=True,
)
values = st.floats(-(2.0**100), 2.0**100, width=32).filter(lambda value: value == 0 or abs(value) > 1e-30)
positive = st.floats(0, 2.0**100, width=32).filter(lambda value: value == 0 or value > 1e-30)


def rows(entries: st.SearchStrategy[float], n_columns: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(entries, min_size=n_columns, max_size=n_columns), min_size=2, max_size=5)


def make_split(X: list[list[float]], Y: list[list[int]], labels: LabelSpace, features: Features) -> Split:
    matrices = [sparse.csr_array(np.array(matrix, np.float32)) for matrix in (X, Y)]
    return Split(*matrices, labels, features)


@st.composite
def datasets(draw: Any) -> Dataset:
    label_names = draw(names)
    labels = LabelSpace(label_names)
    features = Features(N_FEATURES, [f"f{i}" for i in range(N_FEATURES)])
    splits = []
    for _ in range(2):
        X = draw(rows(positive, N_FEATURES))
        Y = [draw(st.lists(st.integers(0, 1), min_size=N_LABELS, max_size=N_LABELS)) for _ in X]
        splits.append(make_split(X, Y, labels, features))
    return Dataset("drawn", *splits)


def assert_equal(one: Dataset, other: Dataset) -> None:
    assert one.labels.names == other.labels.names
    for a, b in ((one.train, other.train), (one.test, other.test)):
        for first, second in ((a.X, b.X), (a.Y, b.Y)):
            assert first.shape == second.shape
            np.testing.assert_array_equal(first.toarray(), second.toarray())


@settings(max_examples=25, deadline=None)
@given(datasets(), st.sampled_from([write_xc, write_splits, write_stored]))
def test_our_writers_and_readers(dataset: Dataset, write: Callable[[Dataset, Path], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(dataset, Path(folder) / "written")
        assert_equal(dataset, load_dataset(Path(folder) / "written", home=Path(folder) / "home"))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@settings(max_examples=15, deadline=None)
@given(datasets(), st.sampled_from(sorted(PACKERS)))
def test_packed_files_are_the_same_dataset(dataset: Dataset, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_splits(dataset, Path(folder) / "written")
        for file in (Path(folder) / "written").iterdir():
            content = PACKERS[suffix](file.read_bytes())
            file.rename(file.with_name(file.name + suffix)).write_bytes(content)
        assert_equal(dataset, load_dataset(Path(folder) / "written", home=Path(folder) / "home"))


def quote(name: str) -> str:
    """Return a name as Weka writes it."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'").replace("%", "\\%") + "'"


def write_arff(path: Path, dataset: Dataset, split: Split, is_sparse: bool) -> None:
    """Write a split as MEKA does, labels first."""
    lines = [f"@relation 'drawn: -C {len(dataset.labels)}'", ""]
    lines += [f"@attribute {quote(name)} {{0,1}}" for name in dataset.labels.names]
    lines += [f"@attribute {quote(name)} numeric" for name in dataset.features.names or ()]
    lines.append("@data")
    for row in np.hstack([split.Y.toarray(), split.X.toarray()]):
        cells = [str(int(value)) if i < len(dataset.labels) else repr(float(value)) for i, value in enumerate(row)]
        if is_sparse:
            lines.append("{" + ",".join(f"{i} {cell}" for i, cell in enumerate(cells) if float(cell)) + "}")
        else:
            lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n", "utf-8")


@settings(max_examples=25, deadline=None)
@given(datasets(), st.booleans())
def test_arff_as_weka_writes_it(dataset: Dataset, is_sparse: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").mkdir()
        for name, split in (("train", dataset.train), ("test", dataset.test)):
            write_arff(Path(folder) / "data" / f"x-{name}.arff", dataset, split, is_sparse)
        assert_equal(dataset, load_dataset(Path(folder) / "data", home=Path(folder) / "home"))


@settings(max_examples=15, deadline=None)
@given(rows(values, 3))
def test_scipy_reads_the_same_numbers_from_arff(X: list[list[float]]) -> None:
    from scipy.io import arff as scipy_arff

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.arff"
        header = "@relation x\n" + "".join(f"@attribute a{i} numeric\n" for i in range(3))
        path.write_text(header + "@data\n" + "".join(",".join(map(repr, row)) + "\n" for row in X))
        theirs, _ = scipy_arff.loadarff(path)
        ours = [[float(value) for _, value in row] for _, row in read_arff(path).read_rows()]
        assert ours == [[float(value) for value in row] for row in theirs]


texts = st.text(printable, min_size=1, max_size=12).filter(lambda text: text.strip())
# Without white space at the ends, which reading labels removes.
label_lists = st.lists(
    st.text(printable, min_size=1, max_size=5).filter(lambda name: name == name.strip()), max_size=3, unique=True
)
tables = st.lists(st.tuples(texts, label_lists), min_size=3, max_size=6).filter(
    lambda table: any(labels for _, labels in table[1:]) and len({text for text, _ in table}) > 1
)
WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "x.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "x.json": lambda frame, path: frame.to_json(path, orient="records"),
    "y.json": lambda frame, path: frame.to_json(path),
    "x.csv": lambda frame, path: frame.assign(labels=frame["labels"].map(json.dumps)).to_csv(path, index=False),
    "x.tsv": lambda frame, path: frame.assign(labels=frame["labels"].map(repr)).to_csv(path, index=False, sep="\t"),
    "x.csv.xz": lambda frame, path: frame.assign(labels=frame["labels"].map(json.dumps)).to_csv(path, index=False),
    "x.parquet": lambda frame, path: frame.to_parquet(path),
    "x.feather": lambda frame, path: feather.write_feather(make_arrow(frame), path),
    "x.xlsx": lambda frame, path: frame.assign(labels=frame["labels"].map(json.dumps)).to_excel(path, index=False),
}


def make_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.table(
        {"text": frame["text"].tolist(), "labels": pa.array(frame["labels"].tolist(), pa.list_(pa.string()))}
    )


def read_pairs(dataset: Dataset) -> list[tuple[str, list[str]]]:
    found = []
    for split in (dataset.train, dataset.test):
        listed = np.split(split.Y.indices, split.Y.indptr[1:-1])
        names = dataset.labels.names
        found += [(text, sorted(names[i] for i in row)) for text, row in zip(split.texts or (), listed, strict=True)]
    return sorted(found)


def load_or_sentence(path: Path) -> Dataset | None:
    """Return the dataset; None where the drawn texts hold no words, which is an error of its own."""
    try:
        return load_dataset(path, home=path.parent / "home", strip_html=False, test_share=0.3)
    except DataError as error:
        if "no words" in error.problem or "has a label" in error.problem:
            return None
        raise


@settings(max_examples=60, deadline=None)
@given(tables, st.sampled_from(sorted(WRITERS)))
def test_tables_of_pandas(table: list[tuple[str, list[str]]], name: str) -> None:
    if name == "x.xlsx":
        pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"text": [f"word {text}" for text, _ in table], "labels": [labels for _, labels in table]})
    if not any(frame["labels"]):
        return
    with tempfile.TemporaryDirectory() as folder:
        WRITERS[name](frame, Path(folder) / name)
        dataset = load_or_sentence(Path(folder) / name)
        if dataset is not None:
            assert read_pairs(dataset) == sorted((f"word {text}", sorted(labels)) for text, labels in table)


def test_parquet_and_arrow_are_equal(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": [f"words {i}" for i in range(9)], "labels": [["a", "b"][: i % 3] for i in range(9)]})
    parquet.write_table(make_arrow(frame), tmp_path / "x.parquet")
    feather.write_feather(make_arrow(frame), tmp_path / "x.feather", compression="zstd")
    loaded = [load_dataset(tmp_path / name, home=tmp_path) for name in ("x.parquet", "x.feather")]
    assert_equal(*loaded)
    assert_equal(loaded[0], xcwork.from_frame(frame))


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Dataset, Path]:
    dataset = load_dataset("synthetic:n_documents=60,n_labels=40,n_topics=4,seed=3", home=tmp_path)
    write_xc(dataset, tmp_path / "xc")
    return dataset, tmp_path / "xc"


def test_napkinxc_reads_what_we_export(exported: tuple[Dataset, Path]) -> None:
    loaders = pytest.importorskip("napkinxc.datasets", reason="napkinXC is not installed")
    dataset, folder = exported
    X, Y = loaders.load_libsvm_file(str(folder / "train.txt"), labels_format="csr_matrix")
    # It takes the largest id of the lines for the width, whatever the header says.
    for theirs, ours in ((X, dataset.train.X), (Y, dataset.train.Y)):
        assert ours[:, theirs.shape[1] :].nnz == 0
        np.testing.assert_allclose(theirs.toarray(), ours[:, : theirs.shape[1]].toarray(), rtol=1e-6)


def test_omikuji_reads_what_we_export(exported: tuple[Dataset, Path]) -> None:
    omikuji = pytest.importorskip("omikuji", reason="omikuji is not installed")
    dataset, folder = exported
    model = omikuji.Model.train_on_data(str(folder / "train.txt"))
    row = dataset.test.X[[0]]
    assert model.predict(list(zip(row.indices.tolist(), row.data.tolist(), strict=True)))


def test_pecos_reads_what_we_export(exported: tuple[Dataset, Path], tmp_path: Path) -> None:
    smat = pytest.importorskip("pecos.utils.smat_util", reason="PECOS is not installed")
    dataset, _ = exported
    sparse.save_npz(tmp_path / "Y.trn.npz", sparse.csr_matrix(dataset.train.Y))
    np.testing.assert_array_equal(smat.load_matrix(str(tmp_path / "Y.trn.npz")).toarray(), dataset.train.Y.toarray())
