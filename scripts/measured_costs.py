"""Write xcwork/runs/measured_costs.json, from which costs are estimated where nothing was trained yet.

    python scripts/measured_costs.py HOME [RESULTS.json]      takes the finished runs of a home folder

Every method needs a run on a dataset of a few documents, which tells its base cost, such as
`synthetic:n_documents=60,n_labels=12,n_topics=3,labels_per_document=1.5`, and runs on larger ones, which tell how the
cost grows. All times are processor seconds. Of several runs of the same training the one with the fewest counts, be it
in HOME or in the table: a busy machine needs more of them, and so does the first run of a method, which compiles. What
HOME has no run of stays as it is.

RESULTS.json, which `benchmarks.methods` wrote, has processor seconds of trainings, too. Where they are fewer they
replace those of runs on the same data; trainings on the datasets of `SIZES` that no run repeats are taken from there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xcwork.errors import ConfigError
from xcwork.methods.presets import PAPER_PRESET, recognise_preset
from xcwork.runs import RunStore
from xcwork.runs.estimates import REFERENCES_FILE, Measurement, measure_run, read_references
from xcwork.storage.atomic import write_json

# Training documents, labels and features; of texts there are at most so many terms.
SIZES = {"bibtex": (4880, 159, 1836), "delicious": (12_920, 983, 500), "eurlex57k": (45_000, 4271, 100_000)}
WORKER_EXTRA_MB = 100  # that a worker has loaded beyond what a benchmark does, as the runs on pyseealso show


def main(home: str, results: str | None = None) -> None:
    by_time = sorted(filter(None, map(measure_run, RunStore(home).list())), key=lambda each: -each.train_cpu_seconds)
    rows = {find_place(each): asdict(each) for each in read_references()}
    for each in by_time:
        place = find_place(each)
        known = rows.get(place)
        if known is None or not is_same_training(known, each) or each.train_cpu_seconds < known["train_cpu_seconds"]:
            rows[place] = asdict(each)
        else:
            known["params"] = dict(each.params)  # with those that are newer than the row
    if results is not None:
        tables = json.loads(Path(results).read_text("utf-8"))["tables"]
        for row in rows.values():
            take_fewer_seconds(row, tables)
        params = {each.method: each.params for each in read_references()}
        for data, sizes in SIZES.items():
            for found in tables.get(data, {}).get("measured", []):
                if found.get("train CPU s") is not None and found["method"] in params:
                    row = make_row(found, params[found["method"]], data, sizes)
                    rows.setdefault((row["method"], data, sizes[0], False), row)
    for row in rows.values():
        row.pop("here", None)
        if row.get("cpu_seconds") is None:
            row.pop("cpu_seconds", None)
    write_json(REFERENCES_FILE, sorted(rows.values(), key=lambda row: (row["method"], row["n_train"])))


def find_place(run: Measurement) -> tuple[str, str, int, bool]:
    """Return what a row is about: training as in the paper may cost much more or less, so it has a row of its own."""
    try:
        is_paper = recognise_preset(run.method, run.params) == PAPER_PRESET
    except ConfigError:  # measured with parameters that are gone
        is_paper = False
    return (run.method, run.data, run.n_train, is_paper)


def is_same_training(row: Mapping[str, Any], run: Measurement) -> bool:
    """Return whether a row of the table has the settings of a run; newer ones count if somebody chose them."""
    chosen = {name: value for name, value in run.params.items() if name in row["params"] or value != "auto"}
    return all(row["params"].get(name) == value for name, value in chosen.items())


def take_fewer_seconds(row: dict[str, Any], tables: dict[str, Any]) -> None:
    """Take the time of the same training in `tables`, if it is there and shorter; then the whole run was not quiet."""
    for found in tables.get(row["data"], {}).get("measured", []):
        seconds = found.get("train CPU s")
        if found["method"] == row["method"] and seconds is not None and seconds < row["train_cpu_seconds"]:
            row |= {"train_cpu_seconds": round(seconds, 3), "cpu_seconds": None}


def make_row(found: dict[str, Any], params: Any, data: str, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """Return a training of `benchmarks.methods`, which has default parameters, as a row of the table."""
    names = ("n_train", "n_labels", "n_features")
    costs = {
        "train_cpu_seconds": round(found["train CPU s"], 3),
        "memory_mb": round(found["peak MB"] + WORKER_EXTRA_MB, 1),
    }
    return {"method": found["method"], "params": params, **dict(zip(names, sizes, strict=True)), **costs, "data": data}


if __name__ == "__main__":
    main(*sys.argv[1:])
