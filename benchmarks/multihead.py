"""Multi-head encoding against the flat classifier: cost with growing label spaces, and accuracy.

    python -m benchmarks.multihead growth [--labels 10000,100000,1000000]
    python -m benchmarks.multihead accuracy DATA [--methods flat,mhc] [--set name=value …] [--option name=value …]
    python -m benchmarks.multihead powerset DATA [--bits 4] [--seeds 3] [--set name=value …]
    python -m benchmarks.multihead stages|orders|ensemble|pairs DATA [--seeds 3] [--set name=value …]

`growth` trains on random documents: same backbone, same batch, and each method in a process of its own, one after the
other, so that its peak memory is its own; what a process needs before the model exists is subtracted. `accuracy` trains
on the training split and reports P@k on the other; with `--methods flat,mhp,mhc,mhs --set heads=5,2` on images with one
class it is the experiment of the paper's table 7. `powerset` compares exact-match accuracy of MHP over all label sets,
MHC and MHS over those of the training split, and the flat classifier cut at probability one half. The others run a
study of `xcwork.studies` over seeds: both choices of a cascade (figure 8), label orders in networks of growing size
(figure 9), the sum of the members' scores (table 2), and pairs of documents of labels that training did not see (table
5). Settings are given to the methods that have them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import conditions, described, markdown_table, peak_memory_mb, timed, write_json

METHODS = "flat,mhp,mhc,mhs"
GROWTH_COLUMNS = (
    "labels",
    "method",
    "heads",
    "parameters",
    "train ms per step",
    "predict ms per document",
    "memory MB",
    "train ×",
    "predict ×",
)
ACCURACY_COLUMNS = ("method", "heads", "P@1", "P@3", "P@5", "train s", "ms/document", "parameters", "peak MB")


def settings_for(method: str, settings: list[str]) -> dict[str, Any]:
    """Those of `name=value …` that the method has."""
    from xcwork.methods import find_method_class

    known = find_method_class(method).parameters()
    pairs = (one.split("=", 1) for one in settings)
    return {name: known[name].parse(value) for name, value in pairs if name in known}


def measure_cost(method: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row of `growth`, in this process."""
    from xcwork.studies.multihead import measure_cost

    sizes = {"width": options.width, "batch_size": options.batch, "steps": options.steps}
    measure_cost(method, 100, **sizes)  # compiles, and brings in what every method needs
    before = peak_memory_mb()
    row = measure_cost(method, int(options.labels), **sizes, **settings_for(method, options.set))
    return row | {"memory MB": peak_memory_mb() - before}


def measure_accuracy(method: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row of `accuracy`, in this process."""
    import xcwork
    from xcwork.options import parse_data_options

    dataset = xcwork.load_dataset(options.data, **parse_data_options(options.option))
    params = settings_for(method, options.set)
    small = dataset.train.take(range(min(200, len(dataset.train))))
    xcwork.create(method, **params | {"epochs": 1, "min_steps": 0}).fit(small).predict(small, k=5)
    model = xcwork.create(method, **params)
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset)
    return {
        "method": method,
        "heads": ",".join(map(str, model.model_.head_lengths)),
        **{f"P@{k}": report.metrics[f"P@{k}"] for k in (1, 3, 5)},
        "train s": training.seconds,
        "train CPU s": training.cpu_seconds,
        "ms/document": report.predict_ms_per_document,
        "parameters": model.model_.n_head_parameters,
        "peak MB": peak_memory_mb(),
        "params": params,
        "diagnostics": model.diagnose(dataset.test),
    }


def measure_powerset(method: str, options: argparse.Namespace) -> dict[str, Any]:
    """Exact-match accuracy of label sets, in this process."""
    import xcwork
    from xcwork.options import parse_data_options
    from xcwork.studies.label_sets import measure_sets, predict_sets

    dataset = xcwork.load_dataset(options.data, **parse_data_options(options.option))
    rows = []
    for seed in range(options.seeds):
        params = settings_for(method, options.set) | ({"bits": options.bits} if method == "mhp" else {})
        found = predict_sets(method, dataset.train, dataset.test, seed=seed, **params)
        rows.append(measure_sets(found, dataset.train, dataset.test))
    names = {"mhp": f"mhp, {options.bits} bits per head", "mhc": "mhc, sets of train", "mhs": "mhs, sets of train"}
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    deviation = float(np.std([row["exact match %"] for row in rows], ddof=1)) if len(rows) > 1 else None
    each = [row["exact match %"] for row in rows]
    return {"method": names.get(method, f"{method}, cut at 0.5"), **means, "±": deviation, "each": each}


def run_study(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a study, in this process."""
    import xcwork
    from xcwork.options import parse_data_options
    from xcwork.studies.multihead import compare_ensemble, compare_label_orders, compare_stages
    from xcwork.studies.pair_verification import compare_pretraining

    dataset = xcwork.load_dataset(options.data, **parse_data_options(options.option))
    seeds = tuple(range(options.seeds))
    if options.what == "pairs":
        frame = compare_pretraining(dataset.train, seeds=seeds, **settings_for("flat", options.set))
    else:
        study = {"stages": compare_stages, "orders": compare_label_orders, "ensemble": compare_ensemble}[options.what]
        frame = study(dataset.train, dataset.test, seeds=seeds, **settings_for("mhc", options.set))
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


STUDIES = ("stages", "orders", "ensemble", "pairs")
MEASURES = {"growth": measure_cost, "accuracy": measure_accuracy, "powerset": measure_powerset}


def row_of(method: str, arguments: list[str]) -> dict[str, Any]:
    """One row, measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.multihead", *arguments, "--one", method],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{method}: {reason}", file=sys.stderr)
        return {"method": method, "failed": reason}
    return json.loads(done.stdout.splitlines()[-1])


def growth(options: argparse.Namespace, arguments: list[str]) -> list[dict[str, Any]]:
    import pandas as pd

    from xcwork.studies.multihead import add_ratios

    rows = [
        row_of(method, [*arguments, "--labels", n])
        for n in options.labels.split(",")
        for method in options.methods.split(",")
    ]
    return add_ratios(pd.DataFrame(rows)).to_dict("records")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*MEASURES, *STUDIES))
    parser.add_argument("data", nargs="?", help="built-in name or path, for accuracy and powerset")
    parser.add_argument("--methods", help="names separated by commas")
    parser.add_argument("--labels", default="10000,100000,1000000", help="numbers of labels, for growth")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1, help="how many, for powerset and studies")
    parser.add_argument("--bits", type=int, default=4, help="labels of a head, for powerset")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for methods that have NAME")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="for the reader of the data"
    )
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(MEASURES[options.what](options.one, options)))
        return
    options.methods = options.methods or METHODS
    facts, arguments = conditions(), sys.argv[1:]
    if options.what == "growth":
        rows, columns = growth(options, arguments), GROWTH_COLUMNS
    elif options.what in STUDIES:
        rows, columns = run_study(options), None
    else:
        rows = [row_of(method, arguments) for method in options.methods.split(",")]
        columns = ACCURACY_COLUMNS if options.what == "accuracy" else None
    title = options.what if options.data is None else f"{options.what}, {Path(options.data).name}"
    print(f"\n### {title}\n\n{markdown_table(rows, columns)}\n\n{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
