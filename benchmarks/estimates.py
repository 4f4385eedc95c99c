"""Does a run cost what the Train page said before it began?

    python -m benchmarks.estimates [--home HOME] [--methods tfidf bm25 …] [--out FILE]

The demo runs (`xcwork app --demo`) are trained one after the other, in a new home folder unless one is given. Before
each, its cost is estimated from what is known by then: the table that comes with xcwork, the runs before it, and how
busy the machine is. Afterwards it is compared with what the run took, on the clock and in processor time. Within a
factor of 1.5 counts as right. The load of the machine before and after each run is part of the result.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from benchmarks._common import conditions, described, markdown_table, write_json
from xcwork.advice.traits import read_traits
from xcwork.cli.demo import DEMO_DATA, list_demo_trainings
from xcwork.data.load import load_dataset
from xcwork.methods.presets import list_presets
from xcwork.methods.registry import list_usable_methods
from xcwork.runs import RunStore, jobs
from xcwork.runs.estimates import Measurement, estimate_cost, measure_other_load, measure_run

MAX_FACTOR = 1.5
GOAL = 0.9  # of the runs


def measure(
    store: RunStore, method: str, preset: str, sizes: dict[str, int], known: list[Measurement]
) -> dict[str, Any]:
    """Estimate, train and compare one run, which joins the known ones."""
    presets = list_presets(method, n_labels=sizes["n_labels"])
    params = presets[preset] if preset else next(iter(presets.values()))
    load = measure_other_load(run.status for run in store.list())
    expected = estimate_cost(method, params, **sizes, known=known, other_load=load)
    if expected is None:
        raise SystemExit(f"nothing like {method} was ever measured")
    run = jobs.launch(store.create(method, params, DEMO_DATA, name=f"{method} {preset or 'demo'}"))
    status = jobs.wait(run)
    if status.state != "finished":
        raise SystemExit(f"{method} did not finish: {status.message}")
    measured = measure_run(run)
    if measured is not None:
        known.append(measured)
    factors = [expected.seconds / status.work_seconds, expected.cpu_seconds / status.cpu_seconds]
    return {
        "run": run.name,
        "estimate, s": round(expected.seconds, 1),
        "range, s": f"{expected.low:.1f}–{expected.high:.1f}",
        "took, s": round(status.work_seconds, 1),
        "estimate ÷ took": round(factors[0], 2),
        "estimate, CPU s": round(expected.cpu_seconds, 1),
        "took, CPU s": round(status.cpu_seconds, 1),
        "CPU estimate ÷ took": round(factors[1], 2),
        "others before": round(load, 1),
        "load after": round(psutil.getloadavg()[0], 1),
    }


def count_right(rows: list[dict[str, Any]], name: str) -> int:
    """Return how many factors of a column are small enough."""
    return sum(abs(math.log(row[name])) <= math.log(MAX_FACTOR) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="its finished runs are known from the start; a new one without it")
    parser.add_argument("--methods", nargs="+", help="of the demo runs, those of these methods only")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    wanted = [each for each in list_demo_trainings(list_usable_methods()) if each[0] in (options.methods or each)]
    facts = conditions(data=[DEMO_DATA])
    with tempfile.TemporaryDirectory() as temporary:
        store = RunStore(options.home or Path(temporary))
        traits = read_traits(load_dataset(DEMO_DATA, home=store.home))  # built before the first run, as for a demo
        sizes = {"n_train": traits.n_train, "n_labels": traits.n_labels, "n_features": traits.n_features}
        known = [found for run in store.list() if (found := measure_run(run)) is not None]
        rows = []
        for method, preset in wanted:
            rows.append(measure(store, method, preset, sizes, known))
            print(rows[-1], file=sys.stderr, flush=True)
    right = {name: count_right(rows, name) for name in ("estimate ÷ took", "CPU estimate ÷ took")}
    summary = {"runs": len(rows), "within": MAX_FACTOR, "goal": GOAL, "right": right}
    print(f"\n{markdown_table(rows)}\n\n{described(facts)}\n{summary}")
    if options.out:
        write_json(options.out, {"conditions": facts, "summary": summary, "runs": rows})


if __name__ == "__main__":
    main()
