"""Training and prediction of xcwork and of other programs on the same matrices, each in a process of its own.

`prepare` writes the features once: as scipy files, as a dataset of xcwork, and as the text file that omikuji reads.
`in_own_process` runs one system on them, with the interpreter it needs, and computes its metrics here. A system is a
function that trains and returns its time, how to rank the rows of a matrix, and how to save and to load the model.

Times are those of training and of prediction alone. Reading the data is left out for all, and so is the compilation of
kernels, once per machine. omikuji has no call for many documents: its calls, one per document and without
the overhead of its Python wrapper, come from as many threads as there are cores, on weights made dense for speed.
PECOS wants an old numpy, so it lives in an environment of its own, in which there is neither xcwork nor this program's
other needs; nothing outside of the functions may be imported here but numpy and scipy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks._common import Timing, folder_bytes, median_alone, peak_memory_mb, timed

VECTORIZER = {"max_features": 50_000}  # words, and as many pairs
K = 5  # labels per document
WARM_UP = 1000  # documents on which kernels are compiled
RANKED = "ranked.txt"  # labels to rank: more than K where some must not be counted, such as a document's own
TEXT_FILE = "train.txt"  # the training split as omikuji reads it
HINGE = {"loss": "l2", "liblinear_c": 1, "liblinear_max_iter": 20, "tree_search_type": "beam"}

Ranking = np.ndarray  # (n_documents, K) label ids, -1 where there are fewer
Ranker = Callable[[sparse.csr_matrix], Ranking]


class Trained(NamedTuple):
    """What a system gives back."""

    training: Timing
    predict: Ranker
    save: Callable[[Path], object]
    load: Callable[[Path], Ranker]


def cores() -> int:
    return len(os.sched_getaffinity(0))


def matrix(place: Path, name: str) -> sparse.csr_matrix:
    return sparse.load_npz(place / f"{name}.npz")


def xcwork_method(place: Path, method: str, **params: Any) -> Trained:
    import xcwork
    from xcwork.core.dataset import Dataset

    train = Dataset.load(place / "dataset").train
    small = train.take(range(min(WARM_UP, len(train))))
    sizes = ({"trees": 1, "leaf_size": 5}, {"trees": 1, "leaf_size": 50})  # so that every kind of node occurs
    for changed in sizes if method == "label_tree" else ({},):
        xcwork.create(method, **params | changed).fit(small).predict(small, k=K)
    model = xcwork.create(method, **params)
    with timed() as training:
        model.fit(train)

    def ranker(model: xcwork.Method) -> Ranker:
        return lambda X: model.predict(X, k=K).ids

    return Trained(training, ranker(model), model.save, lambda folder: ranker(xcwork.load_method(folder)))


def omikuji(place: Path, trees: int = 3) -> Trained:
    from omikuji import Model
    from omikuji._libomikuji import ffi, lib

    pool = lib.init_omikuji_thread_pool(cores())
    data = lib.load_omikuji_data_set(ffi.new("char[]", str(place / TEXT_FILE).encode()), pool)
    settings = Model.default_hyper_param()
    settings.n_trees = trees
    with timed() as training:
        trained = lib.train_omikuji_model(data, settings, pool)
    model = Model(trained)
    model.densify_weights()

    def ranker(trained: Any) -> Ranker:
        def predict(X: sparse.csr_matrix) -> Ranking:
            terms, values = X.indices.astype(np.uint32), X.data.astype(np.float32)
            first_term, first_value = (
                ffi.cast(kind, at.ctypes.data) for kind, at in (("uint32_t*", terms), ("float*", values))
            )

            def best(row: int) -> list[int]:
                start, size = int(X.indptr[row]), int(X.indptr[row + 1] - X.indptr[row])
                labels, scores = ffi.new("uint32_t[]", K), ffi.new("float[]", K)
                n = lib.omikuji_predict(
                    trained, 10, size, first_term + start, first_value + start, K, labels, scores, pool
                )
                return [*list(labels)[:n], *[-1] * (K - n)]

            if X.shape[0] == 1:
                return np.array([best(0)])
            with ThreadPoolExecutor(cores()) as threads:
                return np.array(list(threads.map(best, range(X.shape[0]))))

        return predict

    def load(folder: Path) -> Ranker:
        loaded = Model.load(str(folder))
        loaded.densify_weights()
        kept.append(loaded)  # it frees its trees when it goes
        return ranker(loaded._model_ptr)

    kept: list[Any] = []
    return Trained(training, ranker(trained), lambda folder: model.save(str(folder)), load)


def napkinxc(place: Path, kind: str = "PLT", **params: Any) -> Trained:
    from napkinxc import models

    X, Y, folder = matrix(place, "X"), matrix(place, "Y"), place / f"napkinxc-{os.getpid()}"
    model = getattr(models, kind)(str(folder), seed=1, threads=cores(), **params)
    with timed() as training:
        model.fit(X, Y)
    model.load()

    def ranker(model: Any) -> Ranker:
        return lambda rows: filled(model.predict(rows, top_k=K))

    def load(folder: Path) -> Ranker:
        loaded = getattr(models, kind)(str(folder), seed=1, threads=cores(), **params)
        loaded.load()
        return ranker(loaded)

    return Trained(training, ranker(model), folder.rename, load)


def pecos(place: Path) -> Trained:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    X, Y = matrix(place, "X").astype(np.float32), matrix(place, "Y").astype(np.float32)
    with timed() as training:
        clusters = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"))
        model = XLinearModel.train(X, Y, C=clusters)

    def ranker(model: Any) -> Ranker:
        def predict(rows: sparse.csr_matrix) -> Ranking:
            found = model.predict(rows.astype(np.float32), only_topk=K, beam_size=10)
            ends = zip(found.indptr, found.indptr[1:])  # noqa: B905 - by intention
            return filled(found.indices[a:b][np.argsort(-found.data[a:b])] for a, b in ends)

        return predict

    def load(folder: Path) -> Ranker:
        return ranker(XLinearModel.load(str(folder), is_predict_only=True))

    return Trained(training, ranker(model), lambda folder: model.save(str(folder)), load)


def filled(rows: Any) -> Ranking:
    return np.array([[*row, *[-1] * K][:K] for row in rows])


SYSTEMS: dict[str, tuple[Callable[..., Trained], dict[str, Any]]] = {
    "xcwork label_tree, 1 tree": (xcwork_method, {"method": "label_tree", "trees": 1}),
    "omikuji, 1 tree": (omikuji, {"trees": 1}),
    "napkinXC, 1 tree, squared hinge": (napkinxc, HINGE),
    "napkinXC, 1 tree, logistic": (napkinxc, {}),
    "PECOS XR-Linear, 1 tree": (pecos, {}),
    "xcwork label_tree, 1 tree, branching 4, power 3": (
        xcwork_method,
        {"method": "label_tree", "trees": 1, "branching": 4, "power": 3},
    ),
    "xcwork label_tree, 3 trees": (xcwork_method, {"method": "label_tree", "trees": 3}),
    "omikuji, 3 trees": (omikuji, {"trees": 3}),
    "napkinXC, 3 trees, squared hinge": (napkinxc, HINGE | {"ensemble": 3}),
    "xcwork one_vs_all": (xcwork_method, {"method": "one_vs_all"}),
    "napkinXC, one-vs-all": (napkinxc, {"kind": "BR", "loss": "l2", "liblinear_c": 1}),
    "xcwork zestxml": (xcwork_method, {"method": "zestxml"}),
}


def prepare(source: str, place: Path) -> dict[str, int]:
    """The features of a dataset for all systems; how large it is."""
    from dataclasses import replace

    import xcwork
    from xcwork.data.writers import write_xc
    from xcwork.sparse import normalise_rows

    dataset = xcwork.load_dataset(source)
    if dataset.train.texts is not None and Path(source).exists():  # a built-in dataset says itself how its text is read
        dataset = xcwork.load_dataset(source, vectorizer=VECTORIZER)
    train, test = (replace(part, texts=None, X=normalise_rows(part.X)) for part in (dataset.train, dataset.test))
    bare = replace(dataset, train=train, test=test)
    bare.save(place / "dataset")
    write_xc(bare, place / "text")
    (place / "text" / "train.txt").rename(place / TEXT_FILE)
    spare = 0 if test.filter_pairs is None or not len(test.filter_pairs) else np.bincount(test.filter_pairs[:, 0]).max()
    (place / RANKED).write_text(str(K + int(spare)))
    for name, part in {"X": train.X, "Y": train.Y, "test": test.X}.items():
        sparse.save_npz(place / f"{name}.npz", sparse.csr_matrix(part.sorted_indices()))
    return {"train": len(train), "test": len(test), "labels": len(dataset.labels), "features": train.X.shape[1]}


def measure(system: str, place: Path, more: dict[str, Any]) -> dict[str, Any]:
    """Train and predict in this process; rankings go to a file."""
    global K
    K = int((place / RANKED).read_text()) if (place / RANKED).is_file() else K
    run, params = SYSTEMS[system]
    training, predict, save, load = run(place, **params | more)
    test = matrix(place, "test")
    predict(test)  # once without a clock: threads start, pages are touched
    with timed() as prediction:
        ids = predict(test)
    alone = median_alone(predict, test)
    peak = peak_memory_mb()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        model = Path(folder) / "model"
        save(model)
        size = folder_bytes(model)
        with timed() as loading:
            load(model)(test[[0]])
    np.save(place / "ids.npy", ids.astype(np.int32))
    return {
        "train s": training.seconds,
        "train CPU s": training.cpu_seconds,
        "ms/document": 1000 * prediction.seconds / test.shape[0],
        "CPU ms/document": 1000 * prediction.cpu_seconds / test.shape[0],
        "ms alone": alone,
        "load ms": 1000 * loading.seconds,
        "peak MB": peak,
        "model MB": size / 1e6,
    }


def in_own_process(
    system: str,
    place: Path,
    more: dict[str, Any] | None = None,
    python: str = sys.executable,
    budget: float | None = None,
) -> dict[str, Any]:
    """A row measured in a process of its own; one that is not installed, fails or takes too long says so."""
    command = [python, "-m", "benchmarks._peers", system, str(place), json.dumps(more or {})]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=budget)
    except subprocess.TimeoutExpired:
        return {"system": system, "failed": f"more than {budget:.0f} s"}
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{system}: {reason}", file=sys.stderr)
        return {"system": system, "failed": reason}
    row = {"system": system, **metrics_of(place), **json.loads(done.stdout.splitlines()[-1])}
    print(json.dumps(row), file=sys.stderr, flush=True)  # a long run that is cut short is not lost
    return row


def metrics_of(place: Path) -> dict[str, float]:
    """P@k and PSP@k of the rankings that a system has written."""
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK
    from xcwork.metrics import evaluate_topk

    ids = np.load(place / "ids.npy")
    dataset = Dataset.load(place / "dataset")
    ranking = TopK(ids, np.where(ids < 0, -np.inf, -np.arange(ids.shape[1])).astype(np.float32))
    if dataset.test.filter_pairs is not None:
        ranking = ranking.drop_pairs(dataset.test.filter_pairs)
    ranking = ranking.head(K)
    found = evaluate_topk(
        ranking,
        dataset.test.Y,
        frequencies=dataset.train.label_frequencies,
        n_train=len(dataset.train),
        propensity=dataset.propensity,
    )
    return {f"{metric}@{k}": found[f"{metric}@{k}"] for metric in ("P", "PSP") for k in (1, 3, 5)}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))))
