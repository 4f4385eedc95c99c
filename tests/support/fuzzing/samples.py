"""A small valid sample of every format that is read, as {file name: content}."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
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
MEKA = (
    b"% made up\n@relation 'm: -C 2 -split-number 3'\n@attribute 'l 1' {0,1}\n@attribute l2 {a,'b c',d}\n"
    b'@attribute n numeric\n@attribute k {x,"y z"}\n@attribute day date yyyy-MM-dd\n@attribute words string\n@data\n'
    b"1,a,2.5,x,2020-01-01,'some words'\n?,d,?,'y z',?,'more words', {2.5}\n0\ta\t1\t?\t2020-01-02\tword % comment\n"
    b"{0 1, 1 'b c', 2 3, 5 'words'}\n{2 4}\n"
)
NESTED_XML = b'<labels><label name="l"><label name="b"></label></label></labels>'
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


def arrow_table() -> Any:
    """Return a table as `datasets` of Hugging Face writes it, with names of classes in its schema."""
    import pyarrow as pa

    kinds = {"names": ["a", "b", "c"], "_type": "ClassLabel"}
    features = {"text": {"dtype": "string", "_type": "Value"}, "labels": {"feature": kinds, "_type": "List"}}
    labels = pa.array([[i % 3] for i in range(8)], pa.list_(pa.int64()))
    table = pa.table(
        {"text": [f"word{i} common" for i in range(8)], "labels": labels, "kind": [i % 2 for i in range(8)]}
    )
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def arrow(is_file: bool = False, compression: str | None = None) -> bytes:
    import pyarrow as pa

    buffer = io.BytesIO()
    table = arrow_table()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(buffer, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=5)
    return buffer.getvalue()


def workbook() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in [("title", "labels", "id"), *((f"words {i}", "a|b" if i % 2 else "c", i) for i in range(6))]:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


SAVED = {
    "data-00000-of-00001.arrow": arrow(),
    "state.json": b'{"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": null}',
    "dataset_info.json": b'{"features": {"kind": {"names": ["n", "y"], "_type": "ClassLabel"}}}',
}
NESTED = [{"text": f"some words {i}", "meta": {"tags": [{"name": f"t{i % 3}"}], "n": i}} for i in range(6)]
FILMS = b"text,genres\n" + b"".join(
    b"\"some words %d\",\"[{'id': %d, 'name': 'n%d'}]\"\n" % (i, i, i % 3) for i in range(6)
)


SUBJECTS = "<http://example.org/{}>"
CORPUS = "".join(f"some words {i}\t{SUBJECTS.format(i % 3)} {SUBJECTS.format(3)}\n" for i in range(6)).encode()
TURTLE = (
    b"@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix e: <http://example.org/> .\n"
    b'e:0 a skos:Concept ; skos:prefLabel "zero"@en, "nolla"@fi ; skos:altLabel "none"@en ; skos:broader e:3 .\n'
    b'e:1 a skos:Concept ; skos:prefLabel "one"@en .\ne:2 a skos:Concept ; skos:prefLabel "two"@en .\n'
    b'e:3 a skos:Concept ; skos:prefLabel "numbers"@en ; skos:notation "3.1" .\n'
)
RDF_XML = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    b'xmlns:skos="http://www.w3.org/2004/02/skos/core#">\n<skos:Concept rdf:about="http://example.org/0">'
    b'<skos:prefLabel xml:lang="en">zero</skos:prefLabel><skos:broader rdf:resource="http://example.org/3"/>'
    b'</skos:Concept>\n<skos:Concept rdf:about="http://example.org/3"><skos:prefLabel xml:lang="en">numbers'
    b"</skos:prefLabel></skos:Concept>\n</rdf:RDF>\n"
)


def list_examples() -> dict[str, Files]:
    """Return the example that each reader declares, so that a new format is fuzzed from its first day on."""
    from xcwork.data.readers import FORMATS, import_reader

    declared = {name: import_reader(name).FORMAT.example for name in FORMATS}
    return {
        f"{name} example": {file: content.encode() for file, content in example.items()}
        for name, example in declared.items()
        if example
    }


@cache
def datasets() -> dict[str, Files]:
    """One folder a format; where it holds one file, that file alone is a dataset too."""
    return list_examples() | {
        "annif turtle": {"documents.tsv": CORPUS, "subjects.ttl": TURTLE},
        "annif rdf": {"documents.tsv": CORPUS, "subjects.rdf": RDF_XML},
        "annif entities": {
            "documents.tsv": CORPUS,
            "yso.rdf": RDF_XML.replace(
                b"<rdf:RDF", b'<!DOCTYPE rdf:RDF [\n<!ENTITY e "http://example.org/">\n]>\n<rdf:RDF', 1
            ).replace(b'"http://example.org/0', b'"&e;0'),
        },
        "annif csv": {
            "documents.csv": b"text,subject_uris\n"
            + b"".join(b"words %d,<http://e.org/%d>\n" % (i, i % 2) for i in range(6)),
            "subjects.csv": b"uri,notation,label_en\n<http://e.org/0>,1.1,zero\n<http://e.org/1>,1.2,one\n",
        },
        "annif jsonl": {
            "documents.jsonl": lines(
                [{"text": f"words {i}", "subjects": [{"uri": f"http://e.org/{i % 2}", "label": "x"}]} for i in range(6)]
            )
        },
        "documents tsv": {
            **{f"{i}.txt": b"some words %d\n" % i for i in range(3)},
            **{f"{i}.tsv": b"<http://e.org/%d>\tname %d\n" % (i, i) for i in range(3)},
        },
        "pecos named": {
            "X.npz": npz([[0, 1], [2, 0]]),
            "Y.npz": npz([[1, 0], [0, 1]]),
            "Xt.npz": npz([[1, 1]]),
            "Yt.npz": npz([[1, 0]]),
        },
        "text2text relevance": {"train.txt": b"".join(b"%d::0.5,2::1\tsome words %d\n" % (i % 2, i) for i in range(6))},
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
        "mulan packed": {
            "a-train-sparse.arff.bz2": bz2.compress(ARFF),
            "a-test-sparse.arff.xz": lzma.compress(ARFF),
            "a.xml": NESTED_XML,
        },
        "meka gaps": {"a.arff": MEKA},
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
        "tsv headerless": {
            "data.tsv": b"".join(b"some more words %d\tl%d|l%d\n" % (i, i % 2, i % 3) for i in range(6))
        },
        "csv indicators": {
            "data.csv": b"sep=;\ntext;a;b\n" + b"".join(b"word %d;%d;1\n" % (i, i % 2) for i in range(6))
        },
        "json keys": {"data.json": json.dumps({f"d{i}": record for i, record in enumerate(RECORDS)}).encode()},
        "tsv": {"data.tsv": CSV.replace(b",", b"\t")},
        "csv zipped": {"data.csv.zip": zipped({"data.csv": CSV})},
        "csv gzipped": {"data.csv.gz": gzip.compress(CSV, mtime=0)},
        "csv packed": {"data.csv.bz2": bz2.compress(CSV)},
        "csv xz": {"data.csv.xz": lzma.compress(CSV)},
        "records": {"data.csv": FILMS, ".data.csv.options.json": b'{"labels_column": "genres"}'},
        "json list": {"data.json": json.dumps(RECORDS, indent=1).encode()},
        "json document": {"data.json": json.dumps({"version": 1, "data": RECORDS}).encode()},
        "json columns": {
            "data.json": json.dumps(
                {key: {str(i): r[key] for i, r in enumerate(RECORDS)} for key in RECORDS[0]}
            ).encode()
        },
        "json paths": {"data.jsonl": lines(NESTED), ".data.jsonl.options.json": b'{"labels_column": "meta.tags.name"}'},
        "arrow": {"data.arrow": arrow()},
        "feather": {"data.feather": arrow(is_file=True, compression="lz4")},
        "huggingface saved": SAVED,
        "huggingface splits": {
            "dataset_dict.json": b'{"splits": ["train", "test"]}',
            **{f"{split}/{name}": content for split in ("train", "test") for name, content in SAVED.items()},
        },
        "huggingface hub": {
            "data/train-00000-of-00001.parquet": parquet(),
            "data/test-00000-of-00001.parquet": parquet(),
        },
        "excel": {"data.xlsx": workbook()},
        "parquet": {"data.parquet": parquet()},
        "options": {"data.csv": CSV, ".data.csv.options.json": b'{"text_column": "text", "labels_column": "tags"}'},
    }


SMALL: dict[str, dict[str, Any]] = {
    "deep_miml": {"epochs": 1, "min_steps": 0, "width": 4, "concepts": 2},
    **{name: {"epochs": 1, "min_steps": 0, "width": 4, "label_dimension": 4} for name in ("flat", "mhc", "mhp", "mhs")},
    "siamesexml": {"epochs": 1, "classifier_epochs": 1, "dimension": 4},
}
QUICK = ("bm25", "label_tree", "nearest_documents", "one_vs_all", "popularity", "tfidf", "zestxml")
TEXTS = ("red square leaf", "black circle", "", "unknown")


def _small(name: str) -> dict[str, Any]:
    from xcwork.methods.registry import find_method_class

    declared = find_method_class(name).parameters()
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
        raise RuntimeError(run.read_log())
    files = (file for file in sorted(run.folder.rglob("*")) if file.is_file() and file.stat().st_size)
    return {str(file.relative_to(run.folder)): file.read_bytes() for file in files}
