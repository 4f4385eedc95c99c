"""Whatever happens to the bytes of a dataset, loading it gives a sound dataset or one `DataError`, nothing else."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.errors import DataError

Files = dict[str, bytes]


def npz(rows: list[list[float]]) -> bytes:
    buffer = io.BytesIO()
    sparse.save_npz(buffer, sparse.csr_matrix(np.array(rows, np.float32)))
    return buffer.getvalue()


def parquet_table() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    columns = {"text": [f"word{i} common" for i in range(8)], "labels": [[f"l{i % 3}"] for i in range(8)]}
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def lines(records: list[dict]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


RECORDS = [{"uid": str(i), "title": f"Title {i}", "content": "some words", "labels": [f"l{i % 3}"]} for i in range(8)]
LF = [{"uid": str(i), "title": f"Title {i}", "content": "some words", "target_ind": [i % 3]} for i in range(5)]
ARFF = b"@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute l {0,1}\n@data\n{0 2.5,2 1}\n1,0,1\n{1 1}\n"
XC = b"3 4 5\n0,2 1:0.5 3:2\n 0:1e-3\n4,3 2:.25 1:3\n"
SPLITS = {
    "trn_X_Xf.txt": b"2 3\n0:1 2:0.5\n\n",
    "trn_X_Y.txt": b"2 2\n1:1\n0:1\n",
    "tst_X_Xf.txt": b"1 3\n1:2\n",
    "tst_X_Y.txt": b"1 2\n0:1 1:1\n",
    "Xf.txt": b"one\ntwo\nthree\n",
    "filter_labels_test.txt": b"0 1\n",
}

VALID: dict[str, Callable[[], Files]] = {
    "xc": lambda: {"train.txt": XC, "test.txt": b"1 4 5\n1 0:1\n", "Y.txt": b"a\nb\nc\nd\ne\n"},
    "xc gzipped": lambda: {"train.txt.gz": gzip.compress(XC, mtime=0), "test.txt": b"1 4 5\n1 0:1\n"},
    "splits": lambda: {**SPLITS, "lbl_X_Xf.txt": b"2 3\n0:1\n1:1\n"},
    "zestxml": lambda: {**SPLITS, "Y_Yf.txt": b"2 2\n0:1\n1:1\n", "Yf.txt": b"__label__0__x\ny\n"},
    "svmlight": lambda: {"train.svm": b"# c\n3,7 1:0.5 4:1\n7 2:1 # c\n", "test.svm": b"9 3:1\n"},
    "pecos": lambda: {
        "X.trn.npz": npz([[0, 1], [2, 0]]),
        "Y.trn.npz": npz([[1, 0], [0, 1]]),
        "X.tst.npz": npz([[1, 1]]),
        "Y.tst.npz": npz([[1, 0]]),
        "output-items.txt": b"a\nb\n",
    },
    "mulan": lambda: {"a.arff": ARFF, "a.xml": b'<labels><label name="l"></label></labels>'},
    "idx": lambda: {
        "train-images-idx3-ubyte": struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 2) + bytes(range(8)),
        "train-labels-idx1-ubyte": struct.pack(">4BI", 0, 0, 8, 1, 2) + b"\1\0",
    },
    "lf json": lambda: {
        "trn.json.gz": gzip.compress(lines(LF), mtime=0),
        "tst.json": lines(LF[:2]),
        "lbl.json": lines(RECORDS[:3]),
    },
    "folder": lambda: {
        "train.jsonl": lines(RECORDS),
        "test.jsonl": lines(RECORDS[:2]),
        "labels.csv": b"uid,title\nl0,zero\nl1,one\n",
    },
    "csv": lambda: {"data.csv": b"id,text,tags\n" + b"".join(b'%d,"word%d, x","a|b"\n' % (i, i) for i in range(6))},
    "csv lists": lambda: {"data.csv": b"text,tags\n" + b"".join(b"word%d,\"['a', 'b']\"\n" % i for i in range(6))},
    "parquet": lambda: {"data.parquet": parquet_table()},
}


@st.composite
def damage(draw: st.DrawFn, files: Files) -> Files:
    """The files with one to three edits of their bytes."""
    files = dict(files)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(files)))
        content = files[name]
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        interesting = [
            b"",
            b"\n",
            b" ",
            b"-1",
            b"0",
            b"9" * 20,
            b"nan",
            b"1e400",
            b":",
            b",",
            b'"',
            b"[",
            b"\xff",
            b"\0",
        ]
        filler = draw(st.sampled_from(interesting) | st.binary(max_size=6))
        files[name] = draw(
            st.sampled_from([content[:start] + filler + content[end:], content[:start], content + content[start:end]])
        )
    return files


def check_sound(dataset: Dataset) -> None:
    """What every method relies on."""
    for split in (dataset.train, dataset.test):
        assert len(split) > 0
        for matrix in (split.X, split.Y):
            matrix.check_format(full_check=True)
            assert matrix.dtype == np.float32
            assert np.isfinite(matrix.data).all()
            assert matrix.has_canonical_format
        assert (split.Y.data == 1).all()
    assert len(dataset.labels.names) == dataset.train.n_labels


def load_files(files: Files) -> Dataset:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        before = sorted(Path(folder).rglob("*"))
        try:
            return load_dataset(folder, home=Path(folder) / "home")
        except DataError as error:
            assert error.remedy, f"{error} does not say what to do"  # noqa: PT017
            assert sorted(Path(folder).rglob("*")) == before, "a failed load left files behind"
            raise


@pytest.mark.parametrize("form", sorted(VALID))
def test_undamaged_files_load(form):
    check_sound(load_files(VALID[form]()))


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(VALID))
def test_damaged_files_give_a_sound_dataset_or_one_data_error(form):
    files = VALID[form]()

    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(damage(files))
    def run(damaged: Files) -> None:
        with contextlib.suppress(DataError):
            check_sound(load_files(damaged))

    run()


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from(["a.txt", "a.csv", "a.jsonl", "a.svm", "a.arff", "a.csv.gz", "a.parquet"])
)
def test_random_bytes(content, name):
    with contextlib.suppress(DataError):
        check_sound(load_files({name: content}))


entries = st.dictionaries(st.integers(0, 30), st.floats(0, 1e6, width=32), max_size=6)
rows = st.lists(st.tuples(st.sets(st.integers(0, 9), max_size=4), entries), min_size=2, max_size=8)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])


@settings(max_examples=80, deadline=None)
@given(rows, blanks, st.sampled_from(["\n", "\r\n", " \n"]), st.randoms())
def test_order_and_blanks_do_not_matter(documents, blank, end, random):
    """Rows written in any order of entries, with any blanks, are the rows that were meant."""
    text = f"{len(documents)} 31 10{end}"
    for labels, values in documents:
        shuffled = random.sample(sorted(values.items()), len(values))
        line = blank.join(f"{i}:{value!r}" for i, value in shuffled)
        text += ",".join(map(str, random.sample(sorted(labels), len(labels)))) + blank + line + end
    dataset = load_files({"train.txt": text.encode(), "test.txt": b"1 31 10\n0 0:1\n"})
    for row, (labels, values) in enumerate(documents):
        expected = np.zeros(31, np.float32)
        expected[list(values)] = list(values.values())
        np.testing.assert_array_equal(dataset.train.X[[row]].toarray()[0], expected)
        assert set(np.flatnonzero(dataset.train.Y[[row]].toarray()[0])) == labels
