"""Label trees on EURLEX57K: xcwork beside omikuji and napkinXC, on the same features and in one run.

    pip install .[peers]
    python benchmarks/label_tree.py EURLEX_FOLDER [--trees 1,3] [--systems a;b] [--set name=value …] [--out FILE.json]

The texts become 50,000 single words and 50,000 pairs (and the terms of the labels) once. Every system gets the same
unit rows, appends its bias feature, and trains and predicts in a process of its own on all cores, with the settings of
Parabel: balanced halves, at most 100 labels a leaf, weights below 0.1 dropped, a beam of 10. napkinXC is measured with
its own defaults, which are logistic loss and an exact search, and with squared hinge loss and a beam.

Times are those of training and of prediction alone. Reading the data is left out for all, and so is the compilation of
kernels, which xcwork does once a machine. omikuji has no call for many documents: its calls, one a document and without
the overhead of its Python wrapper, come from as many threads as there are cores, on weights made dense for speed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _common import conditions, described, folder_bytes, markdown_table, peak_memory_mb, timed, versions, write_json

VECTORIZER = {"max_features": 50_000}
K, WARM_UP = 5, 2000  # labels a document; documents on which kernels are compiled
TEXT_FILE = "train.txt"  # the training part as omikuji reads it
COLUMNS = (
    "system", "trees", "P@1", "P@3", "P@5", "train s", "train CPU s", "ms/document", "CPU ms/document", "peak MB",
    "model MB",
)  # fmt: skip
HINGE = {"loss": "l2", "liblinear_c": 1, "liblinear_max_iter": 20, "tree_search_type": "beam"}

Ranking = np.ndarray  # (n_documents, K) label ids
Measured = tuple[Any, Callable[[], Ranking], Callable[[Path], None]]  # training time, prediction, saving


def xcwork_tree(dataset: Any, place: Path, trees: int, params: dict[str, Any]) -> Measured:
    import xcwork

    params = {"trees": trees, **params}
    small = dataset.train.take(range(WARM_UP))
    for leaf_size in (5, 50):  # so that every kind of node occurs
        xcwork.create("label_tree", **params | {"leaf_size": leaf_size, "trees": 1}).fit(small).predict(small, k=K)
    model = xcwork.create("label_tree", **params)
    with timed() as training:
        model.fit(dataset.train)
    return training, lambda: model.predict(dataset.test.X, k=K).ids, model.save


def omikuji(dataset: Any, place: Path, trees: int, params: dict[str, Any]) -> Measured:
    from omikuji import Model
    from omikuji._libomikuji import ffi, lib

    cores = len(os.sched_getaffinity(0))
    pool = lib.init_omikuji_thread_pool(cores)
    data = lib.load_omikuji_data_set(ffi.new("char[]", str(place / TEXT_FILE).encode()), pool)
    settings = Model.default_hyper_param()
    settings.n_trees = trees
    with timed() as training:
        trained = lib.train_omikuji_model(data, settings, pool)
    model = Model(trained)
    X = dataset.test.X.sorted_indices()
    terms, values = X.indices.astype(np.uint32), X.data.astype(np.float32)

    def best(row: int) -> list[int]:
        start, size = int(X.indptr[row]), int(X.indptr[row + 1] - X.indptr[row])
        pointers = ffi.cast("uint32_t*", terms.ctypes.data) + start, ffi.cast("float*", values.ctypes.data) + start
        labels, scores = ffi.new("uint32_t[]", K), ffi.new("float[]", K)
        lib.omikuji_predict(trained, 10, size, *pointers, K, labels, scores, pool)
        return list(labels)

    def predict() -> Ranking:
        with ThreadPoolExecutor(cores) as threads:
            return np.array(list(threads.map(best, range(X.shape[0]))))

    def save(folder: Path) -> None:
        model.save(str(folder))

    model.densify_weights()
    return training, predict, save


def napkinxc(dataset: Any, place: Path, trees: int, params: dict[str, Any]) -> Measured:
    from napkinxc.models import PLT
    from scipy.sparse import csr_matrix

    X, Y, test = (csr_matrix(part) for part in (dataset.train.X, dataset.train.Y, dataset.test.X))
    folder = place / f"napkinxc-{os.getpid()}"
    model = PLT(str(folder), ensemble=trees if trees > 1 else 0, seed=1, threads=len(os.sched_getaffinity(0)), **params)
    with timed() as training:
        model.fit(X, Y)
    model.load()

    def predict() -> Ranking:
        return np.array([[*found, *[-1] * K][:K] for found in model.predict(test, top_k=K)])

    return training, predict, folder.rename


SYSTEMS = {
    "xcwork": (xcwork_tree, {}),
    "omikuji": (omikuji, {}),
    "napkinxc, squared hinge": (napkinxc, HINGE),
    "napkinxc, logistic": (napkinxc, {}),
}


def row_of(system: str, trees: int, place: Path, settings: list[str]) -> dict[str, Any]:
    """One row of the table, measured in this process."""
    from xcwork.data.dataset import Dataset
    from xcwork.metrics import evaluate_topk
    from xcwork.results import TopK

    run, params = SYSTEMS[system]
    if system == "xcwork":
        from xcwork.methods import method_class

        known = method_class("label_tree").parameters()
        params = {name: known[name].parse(value) for name, value in (one.split("=", 1) for one in settings)}
    dataset = Dataset.load(place / "matrices")
    training, predict, save = run(dataset, place, trees, params)
    predict()  # once without a clock: threads start, pages are touched
    with timed() as prediction:
        ids = predict()
    peak = peak_memory_mb()
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "model")
        size = folder_bytes(Path(folder))
    ranking = TopK(ids.astype(np.int32), np.tile(-np.arange(K, dtype=np.float32), (len(ids), 1)))
    metrics = evaluate_topk(
        ranking, dataset.test.Y, frequencies=dataset.train.label_frequencies, n_train=len(dataset.train),
        propensity=dataset.propensity,
    )  # fmt: skip
    documents = len(dataset.test)
    return {
        "system": system, "trees": trees, **{name: metrics[name] for name in ("P@1", "P@3", "P@5")},
        "train s": training.seconds, "train CPU s": training.cpu_seconds,
        "ms/document": 1000 * prediction.seconds / documents,
        "CPU ms/document": 1000 * prediction.cpu_seconds / documents, "peak MB": peak, "model MB": size / 1e6,
    }  # fmt: skip


def in_own_process(*arguments: str) -> dict[str, Any]:
    """A row measured in a process of its own; a system that is not installed or fails says so in its row."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{arguments[2]}: {reason}", file=sys.stderr)
        return {"system": arguments[2], "trees": int(arguments[4]), "failed": reason}
    print(done.stdout.splitlines()[-1], file=sys.stderr, flush=True)  # a long run that is cut short is not lost
    return json.loads(done.stdout.splitlines()[-1])


def prepare(folder: str, place: Path) -> None:
    """The features, made once, as matrices and as the text file that omikuji reads."""
    import xcwork
    from xcwork.data.writers import write_xc

    dataset = xcwork.load_dataset(folder, vectorizer=VECTORIZER)
    bare = replace(dataset, train=replace(dataset.train, texts=None), test=replace(dataset.test, texts=None))
    bare.save(place / "matrices")
    write_xc(bare, place / "text")
    (place / "text" / "train.txt").rename(place / TEXT_FILE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="the folder of EURLEX57K")
    parser.add_argument("--trees", default="1,3", help="numbers of trees, separated by commas")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="separated by semicolons")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameters of xcwork")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(row_of(options.one, int(options.trees), Path(options.data), options.set)))
        return
    more = [part for one in options.set for part in ("--set", one)]
    facts = conditions(versions=versions("omikuji", "napkinxc"))
    with tempfile.TemporaryDirectory() as place:
        prepare(options.data, Path(place))
        rows = [
            in_own_process(place, "--one", system, "--trees", trees, *more)
            for trees in options.trees.split(",")
            for system in options.systems.split(";")
        ]
    print(f"{markdown_table(rows, COLUMNS)}\n\n{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
