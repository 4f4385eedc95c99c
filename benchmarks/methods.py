"""All methods of the workbench on the same data, beside published figures: precision, time, memory and size.

    python -m benchmarks.methods pyseealso [DATA …] [--methods a,b] [--set name=value …] [--option name=value …]
                                 [--repeats 3] [--once-above 30] [--budget SECONDS] [--out FILE.json]

Every method runs in a process of its own with default parameters, so that its peak memory is its own and one that
fails, or takes longer than the budget, does not end the table. Kernels are compiled on a small part of the data before
the clock starts. *ms/document* is a batch of all test documents, *ms alone* the median of documents asked for one by
one. A method that trains in less than `--once-above` processor seconds is repeated; then the median is shown, and the
spread of training (largest over smallest, in processor seconds). Times are those of this machine at this load; the
processor seconds beside them are less sensitive to what else runs. Rows that FILE has are not measured again, so a run
that was cut short goes on. `xcwork export DATA FOLDER --format stored` saves reading large texts for every method.

Published figures come from their papers' own splits and features: for orientation, not a race.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._common import (
    combined,
    conditions,
    described,
    earlier,
    folder_bytes,
    machine,
    markdown_table,
    median_alone,
    peak_memory_mb,
    timed,
    write_json,
)

PRECISIONS = tuple(f"{metric}@{k}" for metric in ("P", "PSP") for k in (1, 3, 5))
COLUMNS = (
    "method",
    *PRECISIONS,
    "unseen P@5",
    "train s",
    "train CPU s",
    "spread",
    "ms/document",
    "ms alone",
    "model MB",
    "peak MB",
    "load",
)
WARM_UP = 200  # documents


def measure(method: str, data: str, settings: list[str], options: list[str]) -> dict[str, Any]:
    """One row of the table, in this process."""
    import xcwork
    from xcwork.methods import find_method_class
    from xcwork.options import parse_data_options

    dataset = xcwork.load_dataset(data, **parse_data_options(options))
    known = find_method_class(method).parameters()
    params = {
        name: known[name].parse(value) for name, value in (one.split("=", 1) for one in settings) if name in known
    }
    small = dataset.train.take(range(min(WARM_UP, len(dataset.train))))
    xcwork.create(method, **params).fit(small).predict(small, k=5)
    model = xcwork.create(method, **params)
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset)
    alone = median_alone(lambda row: model.predict(row, k=5), dataset.test.X)
    peak = peak_memory_mb()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = folder_bytes(Path(folder))
    unseen = report.unseen["P@5"] if (dataset.train.label_frequencies == 0).any() else None
    return {
        "method": method,
        **{name: report.metrics[name] for name in PRECISIONS},
        "unseen P@5": unseen,
        "train s": training.seconds,
        "train CPU s": training.cpu_seconds,
        "ms/document": report.predict_ms_per_document,
        "ms alone": alone,
        "model MB": size / 1e6,
        "peak MB": peak,
    }


def row_of(method: str, data: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row, measured in a process of its own; or why there is none."""
    command = [sys.executable, "-m", "benchmarks.methods", data, "--one", method]
    for flag in ("set", "option"):
        command += [part for one in getattr(options, flag) for part in (f"--{flag}", one)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=options.budget)
    except subprocess.TimeoutExpired:
        return {"method": method, "failed": f"more than {options.budget:.0f} s"}
    if done.returncode:
        return {"method": method, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def repeated(method: str, data: str, options: argparse.Namespace) -> dict[str, Any]:
    """The row of a method over all repeats; one is enough for what takes long, or fails."""
    load, rows = machine()["load"], [row_of(method, data, options)]
    if rows[0].get("train CPU s", options.once_above) < options.once_above:
        rows += [row_of(method, data, options) for _ in range(options.repeats - 1)]
    return combined(rows, spread_of="train CPU s") | {"load": load, "repeats": len(rows)}


def published(data: str) -> list[dict[str, Any]]:
    """What papers report for this dataset."""
    from xcwork.published import find_published_results

    table = find_published_results(Path(data).name)
    table = table[["method", "setting", *PRECISIONS, "source"]].astype(object)
    return table.where(table.notna(), None).to_dict("records")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--methods", help="names separated by commas; all registered ones without it")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for methods that have NAME")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the reader")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--once-above", type=float, default=30, help="processor seconds of what is not repeated")
    parser.add_argument("--budget", type=float, help="seconds that one row may take")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.data[0], options.set, options.option)))
        return

    from xcwork.methods import METHODS

    methods = options.methods.split(",") if options.methods else list(METHODS)
    facts, tables = conditions(), earlier(options.out).get("tables", {})
    for data in options.data:
        rows = tables.setdefault(Path(data).name, {"measured": [], "published": published(data)})["measured"]
        for method in methods:
            if method not in [row["method"] for row in rows]:
                rows.append(repeated(method, data, options))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                if options.out:
                    write_json(options.out, {"conditions": facts, "tables": tables})
    for name, table in tables.items():
        measured, failed = ([row for row in table["measured"] if ("failed" in row) is which] for which in (False, True))
        print(f"\n### {name}\n\n{markdown_table(measured, COLUMNS)}\n\n{described(facts)}", flush=True)
        print(*(f"\nNo figures of {row['method']}: {row['failed']}" for row in failed), sep="")
        if table["published"]:
            print(f"\nPublished:\n\n{markdown_table(table['published'])}", flush=True)


if __name__ == "__main__":
    main()
