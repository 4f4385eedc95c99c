"""Whether a recommendation agrees with full trainings: the best of its three methods beside the best of all.

    python -m benchmarks.recommend pyseealso [DATA …] [--minutes 5] [--full methods.json] [--out FILE.json]

Full results are those of `benchmarks.methods` (P@1 on the test split, default parameters); the pilot sees the training
split only, and its minutes are those of the processor, so that other work on the machine does not count. *At once* is
the rule without any training. *Best of three* is the P@1 that the best of the recommended methods reaches in the full
results, *short by* what it lacks to the best of all, *expected* what the pilot said about it. A dataset without full
results is left out. Rows that FILE has are not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks._common import conditions, cpu_seconds, described, earlier, markdown_table, timed, write_json

FULL_RESULTS = Path(__file__).parent / "results" / "methods.json"
COLUMNS = (
    "data",
    "best of all",
    "P@1",
    "at once",
    "at once short by",
    "pilot",
    "best of three",
    "short by",
    "expected",
    "pilot s",
    "pilot CPU s",
)


def read_full(path: Path) -> dict[str, dict[str, float]]:
    """P@1 of every method that was trained in full, by dataset."""
    tables = json.loads(path.read_text("utf-8"))["tables"]
    return {
        name: {row["method"]: row["P@1"] for row in table["measured"] if row.get("P@1") is not None}
        for name, table in tables.items()
    }


def compare(data: str, name: str, full: dict[str, float], minutes: float) -> dict[str, Any]:
    """One row: rule and pilot beside the full results."""
    import xcwork

    dataset = xcwork.load_dataset(data)
    best = max(full, key=full.__getitem__)
    ruled = [each.method for each in xcwork.recommend(dataset).suggestions]
    with timed() as spent:
        found = xcwork.recommend(dataset, minutes=minutes, clock=cpu_seconds)
    three = [each.method for each in found.suggestions]
    reached = max((method for method in three if method in full), key=full.__getitem__)
    at_once = max(full[method] for method in ruled if method in full)
    expected = next(each.expected for each in found.suggestions if each.method == reached)
    return {
        "data": name,
        "best of all": best,
        "P@1": full[best],
        "at once": ", ".join(ruled),
        "at once short by": full[best] - at_once,
        "pilot": ", ".join(three),
        "best of three": full[reached],
        "short by": full[best] - full[reached],
        "expected": None if expected is None else f"{expected.value:.1f} ({expected.low:.1f} to {expected.high:.1f})",
        "pilot s": spent.seconds,
        "pilot CPU s": spent.cpu_seconds,
        "found": found.to_dict(),
        "full": full,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths; NAME=PATH where full results call it NAME")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--full", type=Path, default=FULL_RESULTS, help="what `benchmarks.methods` wrote")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    full, facts = read_full(options.full), conditions()
    rows = earlier(options.out).get("rows", [])
    for given in options.data:
        name, _, data = given.rpartition("=")
        name = name or Path(data).name
        if name not in full:
            print(f"no full results of {name} in {options.full}", file=sys.stderr)
            continue
        if name not in [row["data"] for row in rows]:
            rows.append(compare(data, name, full[name], options.minutes))
            print(json.dumps({key: rows[-1][key] for key in COLUMNS}), file=sys.stderr, flush=True)
            if options.out:
                write_json(options.out, {"conditions": facts, "rows": rows})
    print(f"{markdown_table(rows, COLUMNS)}\n\n{described(facts)}", flush=True)


if __name__ == "__main__":
    main()
