"""Label trees with one and with three trees beside omikuji, napkinXC and PECOS: the label trees of `peers.py` alone.

    pip install .[peers]
    python -m benchmarks.label_tree DATA … [--systems "a;b"] [--repeats 3] [--pecos PYTHON] [--out FILE.json]
    python -m benchmarks.label_tree DATA … --seeds 0,1,2 [--trees 3] [--prepared FOLDER] [--out FILE.json]

All programs get the same features, one after the other in one run, with the settings of Parabel: balanced halves, at
most 100 labels a leaf, a beam of 10. `peers.py` says what the columns mean and has more options, which work here too.

With `--seeds` the question is what the defaults are worth: label trees as they are by default, with the C = 1 and power
2 that Parabel has everywhere, and omikuji, each trained once a seed (omikuji has none to set, and differs from run to
run). Mean and standard deviation of P@k on the test split, and the processor seconds of training. Rows that FILE has
are not measured again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks import _peers
from benchmarks._common import conditions, described, earlier, machine, markdown_table, versions, write_json
from benchmarks.peers import features_of, main

OURS = "xcwork label_tree, defaults"
FIXED = "xcwork label_tree, C 1, power 2"
PEER = "omikuji"
OF_SEEDS: dict[str, tuple[Any, dict[str, Any]]] = {
    OURS: (_peers.xcwork_method, {"method": "label_tree"}),
    FIXED: (_peers.xcwork_method, {"method": "label_tree", "C": 1.0, "power": 2}),
    PEER: (_peers.omikuji, {}),
}
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
COSTS = ("train CPU s", "CPU ms/document")


def train_once(system: str, place: Path, seed: int, trees: int) -> dict[str, Any]:
    """Precision and processor time of one training, in this process."""
    run, params = OF_SEEDS[system]
    _peers.K = int((place / _peers.RANKED).read_text())
    trained = run(place, trees=trees, **params, **({} if system == PEER else {"seed": seed}))
    test = _peers.matrix(place, "test")
    with _peers.timed() as prediction:
        ids = trained.predict(test)
    np.save(place / "ids.npy", ids.astype(np.int32))
    costs = (trained.training.cpu_seconds, 1000 * prediction.cpu_seconds / test.shape[0])
    figures = _peers.metrics_of(place) | dict(zip(COSTS, costs, strict=True))
    return {"seed": seed, "trees": trees, **figures, "load": machine()["load"]}


def summary(system: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the trainings of a system, of the metrics with their standard deviations."""
    spread = {name: stdev(row[name] for row in rows) if len(rows) > 1 else 0.0 for name in METRICS}
    metrics = {name: f"{mean(row[name] for row in rows):.2f} ± {spread[name]:.2f}" for name in METRICS}
    costs = {name: mean(row[name] for row in rows) for name in COSTS}
    return {"system": system, "trees": rows[0]["trees"], "runs": len(rows), **metrics, **costs}


def compare_defaults() -> None:
    """Train every system once a seed on every dataset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--seeds", required=True, help="separated by commas")
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--prepared", type=Path, help="keep the features of all data in this folder")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    facts = conditions(versions=versions("omikuji"))
    tables = earlier(options.out).get("tables", {})
    for source in options.data:
        name = Path(source).name
        with tempfile.TemporaryDirectory() as place:
            folder = (options.prepared or Path(place)) / name
            table = tables.setdefault(name, {"size": features_of(source, folder), "raw": {}})
            for seed in map(int, options.seeds.split(",")):
                for system in OF_SEEDS:
                    rows = table["raw"].setdefault(system, [])
                    if any((row["seed"], row["trees"]) == (seed, options.trees) for row in rows):
                        continue
                    rows.append(train_once(system, folder, seed, options.trees))
                    print(name, system, rows[-1], file=sys.stderr, flush=True)
                    measured = {each: of for each, of in table["raw"].items() if of}
                    table["rows"] = [summary(each, of) for each, of in measured.items()]
                    if options.out:
                        write_json(options.out, {"conditions": facts, "tables": tables})
        print(f"\n### {name}\n\n{markdown_table(tables[name]['rows'])}\n\n{described(facts)}", flush=True)


if __name__ == "__main__":
    if any(argument.startswith("--seeds") for argument in sys.argv):
        compare_defaults()
    else:
        main(__doc__, [name for name in _peers.SYSTEMS if "tree" in name])
