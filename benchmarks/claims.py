"""Claims of the papers that are a comparison of a few settings, on any dataset and over several seeds.

    python -m benchmarks.claims NAME DATA [--seeds 3] [--option name=value …] [--out FILE.json]

NAME is one of `COMPARISONS`; every setting is trained once per seed. The table has mean ± standard deviation, and says
of each setting by how much its P@1 differs from that of the first: *within the noise* where the difference of the means
is less than twice its standard error. FILE keeps what other names have measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from benchmarks._common import conditions, described, earlier, markdown_table, timed, write_json

METRICS = ("P@1", "P@3", "P@5", "nDCG@1", "nDCG@3", "nDCG@5", "PSP@1", "PSP@5")
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5")


class Setting(NamedTuple):
    """A method with a preset and parameters that differ from it."""

    method: str
    preset: str = "default"
    params: dict[str, Any] = {}  # noqa: RUF012  # never changed


PLAIN = {"variant": "xhtp", "plain": True, "columns": False}
SMALL_HEADS = {"epochs": 10}
COMPARISONS: dict[str, dict[str, Setting]] = {
    "zestxml-constants": {
        "without ε and δ": Setting("zestxml", params=PLAIN | {"smoothing": 0.0, "shift": 0.0}),
        "ε = 0.1": Setting("zestxml", params=PLAIN | {"smoothing": 0.1}),
        "ε = 1": Setting("zestxml", params=PLAIN | {"smoothing": 1.0}),
        "δ = 0.1": Setting("zestxml", params=PLAIN | {"shift": 0.1}),
    },
    "zestxml-voters": {
        f"{pairs} weights per feature": Setting("zestxml", params=PLAIN | {"pairs": pairs})
        for pairs in (80, 40, 20, 10, 5)
    },
    "siamesexml-plus": {
        "frozen tokens": Setting("siamesexml", "paper"),
        "tokens learn on (++)": Setting("siamesexml", "paper", {"plus": True}),
    },
    "siamesexml-members": {
        "one encoder": Setting("siamesexml", "paper"),
        "three encoders": Setting("siamesexml", "paper", {"members": 3}),
    },
    "landmarks-columns": {
        "both criteria": Setting("landmarks", params={"outlier_threshold": 1.0}),
        "columns drawn by leverage": Setting("landmarks", params={"outlier_threshold": 1.0, "selection": "ml_cssp"}),
        "columns drawn at random": Setting("landmarks", params={"outlier_threshold": 1.0, "selection": "random"}),
    },
    "landmarks-weight": {
        "penalised cut alone": Setting("landmarks", params={"outlier_threshold": 1.0, "selection": "f_pen"}),
        "both, weight 1": Setting("landmarks", params={"outlier_threshold": 1.0}),
        "both, weight by validation": Setting("landmarks", params={"outlier_threshold": 1.0, "score_weight": None}),
    },
    "heads-sampled": {
        "flat": Setting("flat", params=SMALL_HEADS),
        "one head per document": Setting("mhs", params=SMALL_HEADS | {"sampled": 1, "sampling": "document"}),
        "two heads per document": Setting("mhs", params=SMALL_HEADS | {"sampled": 2, "sampling": "document"}),
        "heads of the batch": Setting("mhs", params=SMALL_HEADS | {"sampled": 1}),
    },
    "heads-number": {
        "flat": Setting("flat", params=SMALL_HEADS),
        "two heads": Setting("mhc", params=SMALL_HEADS),
        "three heads": Setting("mhc", params=SMALL_HEADS | {"n_heads": 3}),
        "four heads": Setting("mhc", params=SMALL_HEADS | {"n_heads": 4}),
    },
    "bottleneck": {
        "no bottleneck": Setting("flat", params=SMALL_HEADS),
        **{f"{r} units": Setting("flat", params=SMALL_HEADS | {"bottleneck": r}) for r in (128, 32, 8, 2)},
    },
}


def measure(setting: Setting, seed: int, dataset: Any) -> dict[str, float]:
    """One training: what it ranks right, and what it costs."""
    import xcwork

    model = xcwork.create(setting.method, preset=setting.preset, **setting.params | {"seed": seed})
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset)
    unseen = {f"unseen {name}": value for name, value in report.unseen.items() if name in ("P@1", "P@5")}
    return {name: report.metrics[name] for name in METRICS} | unseen | {"train CPU s": training.cpu_seconds}


def summarise(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per setting: mean ± standard deviation, and the difference from the first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["setting"], []).append(row)
    first = [row["P@1"] for row in next(iter(groups.values()))]
    table = []
    for name, members in groups.items():
        cells = {metric: spread([row[metric] for row in members]) for metric in SHOWN if metric in members[0]}
        own = [row["P@1"] for row in members]
        table.append({"setting": name, "seeds": len(members), **cells, "to the first": compare(own, first)})
    return table


def spread(values: Sequence[float]) -> str:
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def compare(values: Sequence[float], others: Sequence[float]) -> str:
    """The difference of two means, and whether it is more than the noise."""
    if values is others or list(values) == list(others):
        return "–"
    difference = mean(values) - mean(others)
    if min(len(values), len(others)) < 2:
        return f"{difference:+.2f}, one seed"
    error = math.sqrt(stdev(values) ** 2 / len(values) + stdev(others) ** 2 / len(others))
    return f"{difference:+.2f}" + (", within the noise" if abs(difference) < 2 * error else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(COMPARISONS))
    parser.add_argument("data", help="built-in name or path")
    parser.add_argument("--seeds", type=int, default=3, help="how many, counted from 0")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the reader")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()

    import xcwork
    from xcwork.options import parse_data_options

    dataset = xcwork.load_dataset(options.data, **parse_data_options(options.option))
    facts, tables = conditions(), earlier(options.out).get("tables", {})
    key = f"{options.name}, {Path(options.data).name}"
    rows = tables.setdefault(key, [])
    measured = {(row["setting"], row["seed"]) for row in rows}
    for seed in range(options.seeds):
        for name, setting in COMPARISONS[options.name].items():
            if (name, seed) not in measured:
                rows.append({"setting": name, "seed": seed, **measure(setting, seed, dataset)})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                if options.out:
                    shown = [
                        {"comparison": name, **line}
                        for name, each in tables.items()
                        if each
                        for line in summarise(each)
                    ]
                    write_json(options.out, {"conditions": facts, "tables": tables, "rows": shown})
    print(f"\n### {key}\n\n{markdown_table(summarise(rows))}\n\n{described(facts)}", flush=True)


if __name__ == "__main__":
    main()
