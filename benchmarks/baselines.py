"""All registered methods on the same data: accuracy, unseen labels, time, memory and size.

    python benchmarks/baselines.py pyseealso [DATA …] [--methods a,b] [--set name=value …] [--out FILE.json]

Every method runs in a process of its own with default parameters, so that its peak memory is its own and one that
fails does not end the table. Kernels are compiled on a small part of the data before the clock starts. Times are those
of this machine at this load; the processor seconds beside them are less sensitive to what else runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import conditions, described, folder_bytes, markdown_table, peak_memory_mb, timed, write_json

COLUMNS = (
    "method", "P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "unseen P@5", "train s", "train CPU s", "ms/document", "model MB",
    "peak MB",
)  # fmt: skip
WARM_UP = 200  # documents


def measure(method: str, data: str, settings: list[str]) -> dict[str, Any]:
    """One row of the table, in this process."""
    import xcwork
    from xcwork.methods import method_class

    dataset = xcwork.load_dataset(data)
    known = method_class(method).parameters()
    params = {
        name: known[name].parse(value) for name, value in (one.split("=", 1) for one in settings) if name in known
    }
    small = dataset.train.take(range(min(WARM_UP, len(dataset.train))))
    xcwork.create(method, **params).fit(small).predict(small, k=5)
    model = xcwork.create(method, **params)
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = folder_bytes(Path(folder))
    figures = {name: report.metrics[name] for name in ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")}
    return {
        "method": method, **figures, "unseen P@5": report.unseen["P@5"], "train s": training.seconds,
        "train CPU s": training.cpu_seconds, "ms/document": report.predict_ms_per_document,
        "model MB": size / 1e6, "peak MB": peak_memory_mb(), "params": params, "seen": report.seen,
        "unseen": report.unseen, "metrics": report.metrics,
    }  # fmt: skip


def row_of(method: str, data: str, settings: list[str]) -> dict[str, Any]:
    """One row, measured in a process of its own."""
    command = [sys.executable, __file__, data, "--one", method, *(part for one in settings for part in ("--set", one))]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{method}: {reason}", file=sys.stderr)
        return {"method": method, "failed": reason}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--methods", help="names separated by commas; all registered ones without it")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for methods that have NAME")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.data[0], options.set)))
        return

    from xcwork.methods import METHODS

    methods = options.methods.split(",") if options.methods else list(METHODS)
    facts = conditions()
    tables: dict[str, list[dict[str, Any]]] = {}
    for data in options.data:
        tables[data] = [row_of(method, data, options.set) for method in methods]
        print(f"\n### {Path(data).name}\n\n{markdown_table(tables[data], COLUMNS)}\n\n{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "tables": tables})


if __name__ == "__main__":
    main()
