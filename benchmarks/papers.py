"""Methods as their papers describe them beside the workbench's defaults, over several seeds: what do our parts add?

    python -m benchmarks.papers pyseealso [DATA …] [--methods a,b] [--presets paper,default] [--seeds 3]
                                [--option name=value …] [--budget SECONDS] [--out FILE.json]

One row per method, preset and seed, each in a process of its own; tables show mean ± standard deviation over the seeds.
Rows that FILE has are not measured again, so a run that was cut short goes on. What a paper's preset cannot express yet
is said by `xcwork methods NAME`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks._common import conditions, described, earlier, markdown_table, timed, write_json

METRICS = ("P@1", "P@3", "P@5", "nDCG@1", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
SHOWN = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "unseen P@1", "unseen P@5", "train CPU s")
NAMES = ("method", "preset", "seed")


def measure(method: str, preset: str, seed: int, data: str, options: list[str]) -> dict[str, Any]:
    """One row, in this process."""
    import xcwork
    from xcwork.options import parse_data_options

    dataset = xcwork.load_dataset(data, **parse_data_options(options))
    model = xcwork.create(method, preset=preset, seed=seed)
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset)
    has_unseen = bool((dataset.train.label_frequencies == 0).any())
    return {
        "method": method,
        "preset": preset,
        "seed": seed,
        **{name: report.metrics[name] for name in METRICS},
        **{f"unseen P@{k}": report.unseen[f"P@{k}"] for k in (1, 5) if has_unseen},
        "train CPU s": training.cpu_seconds,
    }


def row_of(method: str, preset: str, seed: int, data: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row, measured in a process of its own; or why there is none."""
    command = [sys.executable, "-m", "benchmarks.papers", data, "--one", f"{method},{preset},{seed}"]
    command += [part for one in options.option for part in ("--option", one)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=options.budget)
    except subprocess.TimeoutExpired:
        done = None
    names = dict(zip(NAMES, (method, preset, seed), strict=True))
    if done is None:
        return names | {"failed": f"more than {options.budget:.0f} s"}
    if done.returncode:
        return names | {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def summarise(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per method and preset: mean ± standard deviation over the seeds."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if "failed" not in row:
            groups.setdefault((row["method"], row["preset"]), []).append(row)
    table = []
    for (method, preset), members in groups.items():
        cells = {name: summarise_values([row[name] for row in members]) for name in SHOWN if name in members[0]}
        table.append({"method": method, "preset": preset, "seeds": len(members), **cells})
    return table


def summarise_values(values: Sequence[float]) -> str:
    """Mean ± standard deviation with two decimals; one value alone has no deviation."""
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--methods", help="names separated by commas; without it all that have a paper's preset")
    parser.add_argument("--presets", default="paper,default", help="names separated by commas")
    parser.add_argument("--seeds", type=int, default=3, help="how many, counted from 0")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the reader")
    parser.add_argument("--budget", type=float, help="seconds that one row may take")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, preset, seed = options.one.split(",")
        print(json.dumps(measure(method, preset, int(seed), options.data[0], options.option)))
        return

    from xcwork.methods import METHODS
    from xcwork.methods.presets import PAPER_PRESET, list_preset_names

    methods = options.methods.split(",") if options.methods else METHODS
    facts, tables = conditions(), earlier(options.out).get("tables", {})
    for data in options.data:
        rows = tables.setdefault(Path(data).name, [])
        measured = {tuple(row[name] for name in NAMES) for row in rows}
        for method in methods:
            presets = list_preset_names(method)
            if PAPER_PRESET not in presets and not options.methods:
                continue
            for preset in (name for name in options.presets.split(",") if name in presets):
                for seed in range(options.seeds):
                    if (method, preset, seed) in measured:
                        continue
                    rows.append(row_of(method, preset, seed, data, options))
                    print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                    if options.out:
                        write_json(options.out, {"conditions": facts, "tables": tables})
    for name, rows in tables.items():
        print(f"\n### {name}\n\n{markdown_table(summarise(rows))}\n\n{described(facts)}", flush=True)
        failed = [row for row in rows if "failed" in row]
        print(*(f"\nNo figures of {row['method']}, {row['preset']}: {row['failed']}" for row in failed), sep="")


if __name__ == "__main__":
    main()
