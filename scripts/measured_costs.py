"""Write xcwork/runs/measured_costs.json, from which costs are estimated where nothing was trained yet.

    python scripts/measured_costs.py HOME [RESULTS.json]      takes the finished runs of a home folder

Every method needs a run on a dataset of a few documents, which tells its base cost, such as
`synthetic:n_documents=60,n_labels=12,n_topics=3,labels_per_document=1.5`, and runs on larger ones, which tell how the
cost grows. Of several runs of the same training the fastest counts: the others shared the machine. What HOME has no run
of stays as it is.

On a machine that does other things, too, times on the clock say little. RESULTS.json, which `benchmarks.methods` wrote,
has processor seconds of trainings: they replace the times of runs on the same data, and the share of training in a
run, which does not depend on the load, gives the time of the whole run. Trainings on the datasets of `SIZES` that no
run repeats are taken from there, too.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xcwork.runs import RunStore
from xcwork.runs.estimates import REFERENCES_FILE, measure_run, read_references
from xcwork.storage.atomic import write_json

# Training documents, labels and features; of texts there are at most so many terms.
SIZES = {"bibtex": (4880, 159, 1836), "delicious": (12_920, 983, 500), "eurlex57k": (45_000, 4271, 100_000)}
WORKER_EXTRA_MB = 100  # that a worker has loaded beyond what a benchmark does, as the runs on pyseealso show
MIN_TELLING_SECONDS = 1.0  # of a training whose share in its run is known well enough


def main(home: str, results: str | None = None) -> None:
    slowest_first = sorted(filter(None, map(measure_run, RunStore(home).list())), key=lambda found: -found.seconds)
    measured = [*read_references(), *slowest_first]
    rows = {(each.method, each.data, each.n_train): asdict(each) for each in measured}
    if results is not None:
        tables = json.loads(Path(results).read_text("utf-8"))["tables"]
        for row in rows.values():
            use_processor_seconds(row, tables)
        params = {each.method: each.params for each in read_references()}
        for data, sizes in SIZES.items():
            for found in tables.get(data, {}).get("measured", []):
                if found.get("train CPU s") is not None and found["method"] in params:
                    row = make_row(found, params[found["method"]], data, sizes)
                    rows[row["method"], data, sizes[0]] = row
    for row in rows.values():
        row.pop("here", None)
        if row.get("work_seconds") is None:
            row.pop("work_seconds", None)
    write_json(REFERENCES_FILE, sorted(rows.values(), key=lambda row: (row["method"], row["n_train"])))


def use_processor_seconds(row: dict[str, Any], tables: dict[str, Any]) -> None:
    """Replace the times of a row by those of the same training in `tables`, if it is there."""
    found = [each for each in tables.get(row["data"], {}).get("measured", []) if each["method"] == row["method"]]
    if not found or found[0].get("train CPU s") is None:
        return
    training = found[0]["train CPU s"]
    is_known = row["work_seconds"] is not None and row["seconds"] >= MIN_TELLING_SECONDS
    row["work_seconds"] = round(training * row["work_seconds"] / row["seconds"], 3) if is_known else None
    row["seconds"] = round(training, 3)


def make_row(found: dict[str, Any], params: Any, data: str, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """Return a training of `benchmarks.methods`, which has default parameters, as a row of the table."""
    names = ("n_train", "n_labels", "n_features")
    costs = {"seconds": round(found["train CPU s"], 3), "memory_mb": round(found["peak MB"] + WORKER_EXTRA_MB, 1)}
    return {"method": found["method"], "params": params, **dict(zip(names, sizes, strict=True)), **costs, "data": data}


if __name__ == "__main__":
    main(*sys.argv[1:])
