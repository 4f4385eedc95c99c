"""SiameseXML beside other methods, its ablation, its speed, and how prediction grows with the label set.

    python -m benchmarks.siamesexml accuracy DATA [--text title] [--methods a,b] [--set name=value …] [--out FILE.json]
    python -m benchmarks.siamesexml ablation DATA [--text title] [--set name=value …] [--out FILE.json]
    python -m benchmarks.siamesexml speed DATA [--text title] [--out FILE.json]
    python -m benchmarks.siamesexml growth --labels 10000,100000,1000000 [--out FILE.json]

`accuracy` trains every method in a process of its own on the same features. `ablation` takes the searches for
candidates away from models without classifiers, with them, and with classifiers over words as well. `speed` trains the
same batches with a plain torch implementation (dense gradients, one gather for each pair) in the same process, in
turns. `growth` predicts synthetic documents among more and more labels with search graphs, and compares the best 100
labels with those of exact search.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._common import conditions, described, markdown_table, peak_memory_mb, timed, write_json

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
RIVALS = ("one_vs_all", "zestxml", "label_tree", "siamesexml")
STEPS = 20  # timed for each side and module
REPEATS = 3
GROWTH = {
    "dimension": 64,
    "epochs": 1,
    "classifier_epochs": 0,
    "batch_size": 2048,
    "search": "hnsw",
    "start": "random",
    "shortlist": 200,
    "terms": False,
    "validation": 0.0,
}
COMPARED, TIMED = 200, 2000  # documents


def load(data: str, text: str | None) -> Any:
    import xcwork

    return xcwork.load_dataset(data, **({} if text is None else {"text": text}))


def parsed(method: str, settings: list[str]) -> dict[str, Any]:
    from xcwork.methods import find_method_class

    known = find_method_class(method).parameters()
    pairs = [one.split("=", 1) for one in settings]
    return {name: known[name].parse(value) for name, value in pairs if name in known}


def accuracy_row(method: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train and evaluate one method."""
    import xcwork

    dataset = load(options.data, options.text)
    model = xcwork.create(method, **parsed(method, options.set if method == "siamesexml" else []))
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset)
    return {
        "method": method,
        **{name: report.metrics[name] for name in METRICS},
        "unseen P@1": report.unseen["P@1"],
        "unseen P@5": report.unseen["P@5"],
        "train s": training.seconds,
        "train CPU s": training.cpu_seconds,
        "ms/document": report.predict_ms_per_document,
        "peak MB": peak_memory_mb(),
        "diagnostics": {name: float(value) for name, value in report.diagnostics.items()},
    }


def in_own_process(method: str) -> dict[str, Any]:
    """A row measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.siamesexml", *sys.argv[1:], "--one", method]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def accuracy(options: argparse.Namespace) -> list[dict[str, Any]]:
    from xcwork.methods import METHODS

    names = options.methods.split(",") if options.methods else [name for name in RIVALS if name in METHODS]
    return [in_own_process(name) for name in names]


def ablation(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Models with more and more classifiers; of each, what remains when searches for candidates are taken away."""
    import xcwork

    dataset, rows = load(options.data, options.text), []
    for classifiers, changes in (
        ("none", {"classifier_epochs": 0, "terms": False}),
        ("dense, the paper's", {"likelihood": "exponential", "token_dropout": 0.0, "terms": False}),
        ("dense", {"terms": False}),
        ("dense and over words", {}),
    ):
        model = xcwork.create("siamesexml", **parsed("siamesexml", options.set) | changes).fit(dataset.train)
        for graphs in ("text", "text,centroids", "text,centroids,documents"):
            report = xcwork.evaluate(changed(model, {"graphs": graphs}), dataset)
            rows.append(
                {
                    "classifiers": classifiers,
                    "candidates from": graphs.replace(",", ", "),
                    **{metric: report.metrics[metric] for metric in METRICS},
                    "unseen P@5": report.unseen["P@5"],
                    "candidate recall": report.diagnostics["candidate recall"],
                }
            )
    return rows


def changed(model: Any, params: dict[str, Any]) -> Any:
    """A copy of a trained model with other parameters; search graphs are built when needed."""
    from xcwork.methods.base import Method

    state = model.to_state()
    members = [member | {"indices": {}} for member in state["learned"]["members"]]
    learned = state["learned"] | {"members": members}
    return Method.from_state(state | {"params": state["params"] | params, "learned": learned})


def speed(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Seconds of a step, ours and plain, in turns."""
    from benchmarks._plain_siamese import PlainClassifiers, PlainEncoder, trainers
    from xcwork.methods.model import Params
    from xcwork.methods.siamesexml.method import SiameseXML

    method = SiameseXML(**parsed("siamesexml", options.set))
    dataset = load(options.data, options.text)
    encoder, classifiers = trainers(Params(method.get_params()), dataset.train)
    rows = []
    for name, ours, plain in (
        ("module I", encoder, PlainEncoder(encoder)),
        ("module IV", classifiers, PlainClassifiers(classifiers)),
    ):
        ours.begin(0)
        seconds = {"xcwork": [], "plain torch": []}
        for _ in range(REPEATS):
            seconds["xcwork"].append(_timed_steps(ours.step, ours.steps))
            seconds["plain torch"].append(_timed_steps(plain.step, ours.steps))
        medians = {side: sorted(values)[REPEATS // 2] for side, values in seconds.items()}
        rows += [
            {
                "training": name,
                "side": side,
                "ms per step": 1000 * value,
                "times as fast": medians["plain torch"] / value,
            }
            for side, value in medians.items()
        ]
    return rows


def _timed_steps(step: Callable[[int], float], steps: int) -> float:
    step(0)
    started = time.perf_counter()
    for number in range(STEPS):
        step(number % max(1, steps - 1))  # the last batch is a small one
    return (time.perf_counter() - started) / STEPS


def growth(options: argparse.Namespace) -> list[dict[str, Any]]:
    return [in_own_process(size) for size in options.labels.split(",")]


def growth_row(n_labels: int) -> dict[str, Any]:
    """Train briefly on synthetic data, predict with graphs, compare with exact search."""
    import numpy as np

    from xcwork.data.synthetic import make_synthetic
    from xcwork.methods.siamesexml.method import SiameseXML

    n_documents = n_labels // 4 + 4 * TIMED
    dataset = make_synthetic(n_documents=n_documents, n_labels=n_labels, test_share=2 * TIMED / n_documents, seed=1)
    model = SiameseXML(**GROWTH)
    with timed() as training:
        model.fit(dataset.train)
    X = dataset.test.X[:TIMED]
    model.predict(X[:10], k=100)
    with timed() as predicting:
        found = model.predict(X, k=100)
    exact = changed(model, {"search": "exact"})
    exact.predict(X[:10], k=100)
    with timed() as searching:
        true = exact.predict(X[:COMPARED], k=100)
    hits = [len(np.intersect1d(found.ids[i], true.ids[i])) for i in range(COMPARED)]
    return {
        "labels": n_labels,
        "documents": len(dataset.train),
        "train s": training.seconds,
        "ms/document": 1000 * predicting.seconds / TIMED,
        "exact, ms/document": 1000 * searching.seconds / COMPARED,
        "recall@100": sum(hits) / (100 * COMPARED),
        "peak MB": peak_memory_mb(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "ablation", "speed", "growth"))
    parser.add_argument("data", nargs="?", help="a built-in name or a path")
    parser.add_argument("--text", choices=("title", "content", "both"), help="which text of the documents")
    parser.add_argument("--methods", help="names separated by commas")
    parser.add_argument("--labels", default="10000,100000,1000000", help="sizes, separated by commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameters of SiameseXML")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.what != "growth" and options.data is None:
        parser.error("give a dataset")
    if options.one:
        print(
            json.dumps(growth_row(int(options.one)) if options.what == "growth" else accuracy_row(options.one, options))
        )
        return
    rows = {"accuracy": accuracy, "ablation": ablation, "speed": speed, "growth": growth}[options.what](options)
    facts = conditions()
    columns = [name for name in rows[0] if name != "diagnostics"]
    print(f"{markdown_table(rows, columns)}\n\n{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
