"""Landmark label selection: the published ablation, its settings on held-out data, and how the cost grows.

    python -m benchmarks.landmarks ablation DATA … [--set name=value …] [--option name=value …] [--out FILE.json]
    python -m benchmarks.landmarks splits DATA … [--splits 5]
    python -m benchmarks.landmarks validate DATA … [--gamma 0.3,1,3]
    python -m benchmarks.landmarks growth [--labels 1000,10000,100000] [--documents 0.5] [--set name=value …]

`ablation` trains one regressor per label once and then combines them in every way: landmarks by f_pen, f_score, both
or a baseline, decoded alone; landmarks plus outliers; full one-vs-rest. Where the paper has figures for a dataset of
that name they stand beside ours. `splits` does the same with documents split again and again, and reports mean and
standard deviation. `validate` compares settings on a fifth of the *training* documents, held out: test
data choose nothing. `growth` draws synthetic data of growing size, each in a process of its own, and fits power laws to
what they cost. `--option` goes to the reader of the data, `--set` to the method. Times are those of this machine at
this load.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import conditions, described, folder_bytes, markdown_table, peak_memory_mb, timed, write_json

KS = (1, 3, 5)
PAPER = {  # nDCG@1, @3, @5 of the paper's table 7
    "bibtex": {
        "f_pen": (60.98, 54.15, 56.45),
        "f_score": (63.27, 57.16, 58.86),
        "combined": (63.29, 57.49, 59.66),
        "combined + outliers": (64.55, 60.11, 62.18),
    },
    "delicious": {
        "f_pen": (62.71, 58.31, 55.04),
        "f_score": (62.71, 58.31, 55.04),
        "combined": (64.33, 59.71, 56.16),
        "combined + outliers": (65.14, 60.54, 57.15),
    },
    "mediamill": {
        "f_pen": (81.12, 71.03, 68.65),
        "f_score": (81.83, 73.76, 70.40),
        "combined": (84.25, 75.12, 71.79),
        "combined + outliers": (84.25, 75.33, 72.03),
    },
}


def trained(train: Any, params: dict[str, Any]) -> tuple[Any, dict[str, float]]:
    """A fitted model and the seconds of its phases."""
    import xcwork
    from xcwork.methods.landmarks.method import Landmarks

    class Clock(xcwork.Callback):
        def __init__(self) -> None:
            self.seconds: dict[str, float] = {}

        def on_phase(self, phase: str, total: int | None) -> None:
            self.started = time.perf_counter()

        def on_phase_end(self, phase: str) -> None:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - self.started

    Landmarks(**params).fit(train.take(range(min(300, len(train)))))  # compiles the kernels
    clock, model = Clock(), Landmarks.from_params(params)
    with timed() as all_of_it:
        model.fit(train, callbacks=[clock])
    return model, clock.seconds | {"all": all_of_it.seconds, "all, CPU": all_of_it.cpu_seconds}


def ndcg(figures: dict[str, float], name: str) -> dict[str, float]:
    return {f"nDCG@{k}": figures[f"{name}_nDCG@{k}"] for k in KS}


def variants(model: Any, data: Any, X: Any) -> list[dict[str, Any]]:
    """Every strategy with the regressors of one model, decoded alone and with outliers."""
    from xcwork.methods.landmarks.affinity import relate_labels
    from xcwork.methods.landmarks.decoding import decode_labels, find_outliers
    from xcwork.methods.landmarks.selection import SelectionSettings, choose_landmarks

    learned = model.model_
    every = learned.one_vs_rest_scorer
    weights = every.own[:, np.argsort(every.own_labels, kind="stable")]  # (n_features + 1, n_seen), by label
    place = np.searchsorted(np.sort(every.own_labels), np.arange(data.train.n_labels))
    affinity = relate_labels(data.train.Y, model.affinity_alpha, seed=model.seed)
    rows = []
    for strategy in ("f_pen", "f_score", "combined", "random", "most_frequent", "ml_cssp"):
        settings = replace(SelectionSettings.from_params(learned.params), strategy=strategy)
        chosen = choose_landmarks(data.train.Y, affinity, learned.r2, settings)
        decoder = decode_labels(data.train.Y, chosen.landmarks, model.decoding, model.decoding_alpha)
        strays = np.setdiff1d(find_outliers(decoder, model.outlier_threshold), chosen.landmarks)
        alone = replace(
            every,
            direct=weights[:, place[chosen.landmarks]],
            decoder=decoder.Z.tocsr(),
            own=every.own[:, :0],
            own_labels=strays[:0],
        )
        decoded = np.ones(data.train.n_labels)
        decoded[strays] = 0.0
        both = replace(
            alone,
            decoder=(decoder.Z @ sparse.diags_array(decoded)).tocsr(),
            own=weights[:, place[strays]],
            own_labels=strays,
        )
        for name, scorer, n in ((strategy, alone, 0), (f"{strategy} + outliers", both, len(strays))):
            figures = ndcg(scorer.measure(data.test, X, "row"), "row")
            rows.append({"landmarks by": name, "outliers": n, **figures})
    figures = ndcg(every.measure(data.test, X, "row"), "row")
    return [*rows, {"landmarks by": "one-vs-rest", "outliers": len(every.own_labels), **figures}]


def ablation(source: str, params: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """All rows for one dataset, with what training and predicting cost."""
    import xcwork
    from xcwork.methods.landmarks.predictors import append_bias

    with timed() as loading:
        data = xcwork.load_dataset(source, **options)
    model, seconds = trained(data.train, params)
    with timed() as predicting:
        model.predict(data.test, k=5)
    memory = peak_memory_mb()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = folder_bytes(Path(folder)) / 1e6
    published = PAPER.get(Path(source).name, {})
    rows = variants(model, data, append_bias(data.test.X))
    for row in rows:
        row["paper"] = " ".join(f"{value:.2f}" for value in published.get(row["landmarks by"], ())) or "–"
    cost = {
        "documents": len(data.train),
        "features": data.train.X.shape[1],
        "labels": data.train.n_labels,
        "loading s": loading.seconds,
        **{f"{phase} s": value for phase, value in seconds.items()},
        "ms/document": 1000 * predicting.seconds / len(data.test),
        "model MB": size,
        "peak MB": memory,
    }
    return {"rows": rows, "cost": cost, "params": model.get_params()}


def over_splits(source: str, params: dict[str, Any], options: dict[str, Any], n_splits: int) -> dict[str, Any]:
    """The ablation with documents split again and again: mean and standard deviation of every row."""
    import xcwork
    from xcwork.methods.landmarks.predictors import append_bias
    from xcwork.studies.repeated_splits import draw_new_split

    data = xcwork.load_dataset(source, **options)
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in range(n_splits):
        again = draw_new_split(data, seed)
        model, _ = trained(again.train, params | {"seed": seed})
        for row in variants(model, again, append_bias(again.test.X)):
            found.setdefault(row["landmarks by"], []).append(row)
    rows = []
    for name, each in found.items():
        row = {"landmarks by": name, "outliers": float(np.mean([one["outliers"] for one in each]))}
        for k in KS:
            values = [one[f"nDCG@{k}"] for one in each]
            row |= {f"nDCG@{k}": float(np.mean(values)), f"±@{k}": float(np.std(values, ddof=1))}
        rows.append(row | {"splits": n_splits})
    return {"rows": rows, "params": params}


def validation(source: str, params: dict[str, Any], options: dict[str, Any], gammas: list[float]) -> dict[str, Any]:
    """Settings compared on a fifth of the training documents."""
    import xcwork
    from xcwork.methods.landmarks.decoding import DECODINGS
    from xcwork.methods.landmarks.method import Landmarks
    from xcwork.methods.landmarks.predictors import append_bias

    train, held = xcwork.load_dataset(source, **options).train.hold_out(0.2, seed=1)
    X, rows = append_bias(held.X), []
    for gamma, decoding in product(gammas, DECODINGS):
        model = Landmarks.from_params(params | {"gamma": gamma, "decoding": decoding}).fit(train)
        figures = model.diagnose(held) | model.model_.scorer.measure(held, X, "own")
        row = {"gamma": gamma, "decoding": decoding}
        for name in ("landmarks_only", "own", "one_vs_rest"):
            row |= {f"{name} {metric}": value for metric, value in ndcg(figures, name).items()}
        rows.append(row)
    return {"rows": rows}


def growth_of(n_labels: int, share: float, params: dict[str, Any]) -> dict[str, Any]:
    """The cost for synthetic data of one size, in this process."""
    from xcwork.data.synthetic import make_synthetic

    n_documents = max(4_000, round(share * n_labels))
    data = make_synthetic(
        n_documents=n_documents, n_labels=n_labels, n_topics=max(20, n_labels // 100), labels_per_document=5.0, seed=0
    )
    model, seconds = trained(data.train, params)
    with timed() as predicting:
        model.predict(data.test.take(range(min(1000, len(data.test)))), k=5)
    return {
        "labels": n_labels,
        "with documents": int(np.count_nonzero(data.train.label_frequencies)),
        "documents": len(data.train),
        "features": data.train.X.shape[1],
        "outliers": len(model.model_.outliers),
        **{f"{phase} s": value for phase, value in seconds.items()},
        "ms/document": 1000 * predicting.seconds / min(1000, len(data.test)),
        "peak MB": peak_memory_mb(),
    }


def growth(sizes: list[int], share: float, settings: list[str]) -> dict[str, Any]:
    """One row per size, each measured in a process of its own."""
    rows = []
    for n_labels in sizes:
        command = [
            sys.executable,
            "-m",
            "benchmarks.landmarks",
            "growth",
            "--one",
            str(n_labels),
            "--documents",
            str(share),
        ]
        command += [part for one in settings for part in ("--set", one)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode:
            print(f"{n_labels} labels: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", file=sys.stderr)
            continue
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{n_labels} labels: {rows[-1]['all s']:.1f} s", file=sys.stderr, flush=True)
    return {"rows": rows, "exponents": exponents(rows)}


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """b of the power law cost = a · labels^b through the rows, by least squares on logarithms."""
    if len(rows) < 2:
        return {}
    sizes = np.log([row["labels"] for row in rows])
    columns = [name for name in rows[0] if name not in ("labels", "features")]
    costs = {name: np.log([max(row[name], 1e-3) for row in rows]) for name in columns}
    return {name: float(np.polyfit(sizes, cost, 1)[0]) for name, cost in costs.items()}


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """name=value pairs as parameters of the method."""
    from xcwork.methods.landmarks.method import Landmarks

    known = Landmarks.parameters()
    return {name: known[name].parse(value) for name, value in (pair.split("=", 1) for pair in pairs)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ablation", "splits", "validate", "growth"))
    parser.add_argument("data", nargs="*", help="built-in names or paths")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="JSON values")
    parser.add_argument("--gamma", default="0.3,1,3")
    parser.add_argument("--splits", type=int, default=5, help="how often documents are split, in `splits`")
    parser.add_argument("--labels", default="1000,3000,10000,30000,100000")
    parser.add_argument("--documents", type=float, default=0.5, help="documents per label, in `growth`")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    params = settings_of(chosen.set)
    options = {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in chosen.option)}
    if chosen.one:
        print(json.dumps(growth_of(chosen.one, chosen.documents, params)))
        return

    facts, tables = conditions(), {}
    if chosen.what == "growth":
        tables["growth"] = growth([int(size) for size in chosen.labels.split(",")], chosen.documents, chosen.set)
    for source in chosen.data:
        if chosen.what == "ablation":
            tables[source] = ablation(source, params, options)
        elif chosen.what == "splits":
            tables[Path(source).name] = over_splits(source, params, options, chosen.splits)
        elif chosen.what == "validate":
            tables[source] = validation(source, params, options, [float(g) for g in chosen.gamma.split(",")])
    for source, table in tables.items():
        print(f"\n### {Path(source).name}\n\n{markdown_table(table['rows'])}")
        for more in ("cost", "exponents"):
            if table.get(more):
                print(f"\n{more}:\n\n{markdown_table([table[more]])}")
    print("\n" + described(facts))
    if chosen.out:
        write_json(chosen.out, {"conditions": facts, "tables": tables})


if __name__ == "__main__":
    main()
