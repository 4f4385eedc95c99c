"""A small valid sample of every format that is read, as {file name: content}."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tests.support.fuzzing.mutations import Files

RECORDS = [{"uid": str(i), "title": f"Title {i}", "content": "some words", "labels": [f"l{i % 3}"]} for i in range(8)]
TARGETS = [{"uid": str(i), "title": f"Title {i}", "content": "some words", "target_ind": [i % 3]} for i in range(5)]
ARFF = b"@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute l {0,1}\n@data\n{0 2.5,2 1}\n1,0,1\n{1 1}\n"
BAGS = (
    b"@relation bags\n@attribute id {b1,b2}\n@attribute bag relational\n@attribute f1 numeric\n@attribute f2 {x,y}\n"
    b"@end bag\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@data\nb1,\"1,x\\n2,y\",1,0\nb2,'3,x',0,1\n"
)
XC = b"3 4 5\n0,2 1:0.5 3:2\n 0:1e-3\n4,3 2:.25 1:3\n"
SPLITS = {
    "trn_X_Xf.txt": b"2 3\n0:1 2:0.5\n\n",
    "trn_X_Y.txt": b"2 2\n1:1\n0:1\n",
    "tst_X_Xf.txt": b"1 3\n1:2\n",
    "tst_X_Y.txt": b"1 2\n0:1 1:1\n",
    "Xf.txt": b"one\ntwo\nthree\n",
    "Y.txt": b"a\nb\n",
    "trn_X.txt": b"x\ny\n",
    "filter_labels_test.txt": b"0 1\n",
}
CSV = b"id,text,tags\n" + b"".join(b'%d,"word%d, x","a|b"\n' % (i, i) for i in range(6))


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def npz(rows: list[list[float]]) -> bytes:
    buffer = io.BytesIO()
    sparse.save_npz(buffer, sparse.csr_matrix(np.array(rows, np.float32)), compressed=False)
    return buffer.getvalue()


def zipped(files: Files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    columns = {"text": [f"word{i} common" for i in range(8)], "labels": [[f"l{i % 3}"] for i in range(8)]}
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@cache
def datasets() -> dict[str, Files]:
    """One folder a format; where it holds one file, that file alone is a dataset too."""
    return {
        "xc": {"train.txt": XC, "test.txt": b"1 4 5\n1 0:1\n", "Y.txt": b"a\nb\nc\nd\ne\n"},
        "xc file": {"data.txt": XC},
        "xc gzipped": {"train.txt.gz": gzip.compress(XC, mtime=0), "test.txt": b"1 4 5\n1 0:1\n"},
        "splits": {**SPLITS, "lbl_X_Xf.txt": b"2 3\n0:1\n1:1\n"},
        "splits with matrix": {**SPLITS, "Yf.txt": b"2 3\n0:1\n1:1\n", "pos_trn_tst.txt": b"1 2\n1:1\n"},
        "zestxml": {**SPLITS, "Y_Yf.txt": b"2 2\n0:1\n1:1\n", "Yf.txt": b"__label__0__x\ny\n"},
        "svmlight": {"train.svm": b"# c\n3,7 1:0.5 4:1\n7 2:1 # c\n", "test.svm": b"9 3:1\n"},
        "pecos": {
            "X.trn.npz": npz([[0, 1], [2, 0]]),
            "Y.trn.npz": npz([[1, 0], [0, 1]]),
            "X.tst.npz": npz([[1, 1]]),
            "Y.tst.npz": npz([[1, 0]]),
            "output-items.txt": b"a\nb\n",
        },
        "pecos texts": {"Y.trn.npz": npz([[1, 0], [0, 1]]), "X.trn.txt": b"some words\nmore words\n"},
        "mulan": {"a.arff": ARFF, "a.xml": b'<labels><label name="l"></label></labels>'},
        "meka": {"a.arff": ARFF.replace(b"@relation r", b"@relation 'r: -C -1'")},
        "bags": {"a.arff": BAGS},
        "idx": {
            "train-images-idx3-ubyte": struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 2) + bytes(range(8)),
            "train-labels-idx1-ubyte": struct.pack(">4BI", 0, 0, 8, 1, 2) + b"\1\0",
        },
        "lf json": {
            "trn.json.gz": gzip.compress(lines(TARGETS), mtime=0),
            "tst.json": lines(TARGETS[:2]),
            "lbl.json": lines(RECORDS[:3]),
        },
        "jsonl": {"train.jsonl": lines(RECORDS), "test.jsonl": lines(RECORDS[:2]), "labels.csv": b"uid,title\nl0,z\n"},
        "csv": {"data.csv": CSV},
        "csv lists": {"data.csv": b"text,tags\n" + b"".join(b"word%d,\"['a', 'b']\"\n" % i for i in range(6))},
        "tsv": {"data.tsv": CSV.replace(b",", b"\t")},
        "csv zipped": {"data.csv.zip": zipped({"data.csv": CSV})},
        "csv gzipped": {"data.csv.gz": gzip.compress(CSV, mtime=0)},
        "parquet": {"data.parquet": parquet()},
        "options": {"data.csv": CSV, ".data.csv.options.json": b'{"text_column": "text", "labels_column": "tags"}'},
    }


SMALL: dict[str, dict[str, Any]] = {
    "deep_miml": {"epochs": 1, "width": 4, "concepts": 2},
    **{name: {"epochs": 1, "min_steps": 0, "width": 4, "label_dimension": 4} for name in ("flat", "mhc", "mhp", "mhs")},
    "siamesexml": {"epochs": 1, "classifier_epochs": 1, "dimension": 4},
}
QUICK = ("bm25", "label_tree", "nearest_documents", "one_vs_all", "popularity", "tfidf", "zestxml")
TEXTS = ("red square leaf", "black circle", "", "unknown")


def _small(name: str) -> dict[str, Any]:
    from xcwork.methods.registry import method_class

    declared = method_class(name).parameters()
    return {parameter: value for parameter, value in SMALL.get(name, {}).items() if parameter in declared}


@cache
def corpus() -> Any:
    """Documents about red squares and black circles; a label that no training document carries is known by its text."""
    from xcwork.data.build import build_dataset
    from xcwork.data.raw import RawDataset, RawLabels, RawSplit

    kinds = ("red square", "black circle")
    carried = [[f"L{label}" for label in range(i % 2, 8, 2)] for i in range(24)]
    raw = RawDataset(
        train=RawSplit(texts=[f"{kinds[i % 2]} {kinds[i % 2]} note{i}" for i in range(24)], labels=carried),
        test=RawSplit(texts=["red square", "violet star"], labels=[carried[0], ["L8"]]),
        labels=RawLabels(
            names=[f"L{label}" for label in range(9)],
            texts=[*(kinds[label % 2] for label in range(8)), "violet star"],
        ),
    )
    return build_dataset(raw, name="corpus")


def model(name: str, folder: Path) -> Files:
    """A tiny trained model of one method, as its folder holds it."""
    from xcwork.methods.registry import create

    create(name, **_small(name)).fit(corpus().train).save(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def run_folder(folder: Path) -> Files:
    """A finished run of the cheapest method, as its folder holds it; `folder` becomes its home."""
    from xcwork.runs import RunStore, worker

    source = folder / "fruit.csv"
    rows = [f"{fruit} number {i},{fruit}" for i in range(8) for fruit in ("apple", "pear")]
    source.write_text("\n".join(["text,labels", *rows]) + "\n")
    run = RunStore(folder).create("popularity", {}, source, name="fruit")
    if worker.main(run.folder):
        raise RuntimeError(run.log())
    files = (file for file in sorted(run.folder.rglob("*")) if file.is_file() and file.stat().st_size)
    return {str(file.relative_to(run.folder)): file.read_bytes() for file in files}
