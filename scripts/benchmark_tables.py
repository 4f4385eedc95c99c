"""Write the tables of benchmark results into the texts that show them, so that no figure is copied by hand.

    python scripts/benchmark_tables.py [--check]

`benchmarks/results/*.json` is what the benchmarks wrote with `--out`. Wherever a text has

    <!-- table: methods pyseealso -->
    …
    <!-- /table -->

what stands between is replaced by that table. `--check` changes nothing and fails if a text is not up to date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from markdown_tables import Columns, figure, table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TEXTS = (
    "README.md",
    "benchmarks/README.md",
    "benchmarks/RESULTS.md",
    "docs/cluster.md",
    "docs/label_map.md",
    "docs/results/methods.md",
)
PLACE = re.compile(r"<!-- table: (.+?) -->\n.*?<!-- /table -->", re.DOTALL)
NOT_MEASURED = "Not measured here."
HEADLINE_METHODS = ("tfidf", "one_vs_all", "label_tree", "mhc", "zestxml", "siamesexml")
SETTINGS = {"paper": "as in the paper", "default": "xcwork", "quick": "quick look"}
PRECISION: Columns = {f"P@{k}": (f"P@{k}", max) for k in (1, 3, 5)}
METHODS: Columns = {
    "method": ("method", None),
    **PRECISION,
    "PSP@1": ("PSP@1", max),
    "PSP@5": ("PSP@5", max),
    "unseen P@5": ("unseen P@5", max),
    "training, CPU s": ("train CPU s", None),
    "spread": ("spread", None),
    "ms per document": ("ms/document", None),
    "alone": ("ms alone", None),
    "model, MB": ("model MB", None),
    "peak, MB": ("peak MB", None),
}
PEERS: Columns = {
    "system": ("system", None),
    **PRECISION,
    "PSP@1": ("PSP@1", max),
    "PSP@5": ("PSP@5", max),
    "training, s": ("train s", min),
    "×": ("train ×", None),
    "CPU s": ("train CPU s", min),
    "spread": ("spread", None),
    "ms per document": ("ms/document", min),
    "alone, ms": ("ms alone", min),
    "load, ms": ("load ms", min),
    "peak, MB": ("peak MB", min),
    "model, MB": ("model MB", min),
}
FILES: Columns = {
    "file": ("file", None),
    "reader": ("reader", None),
    "CPU s": ("CPU s", None),
    "least": ("least", None),
    "peak, MB": ("peak MB", None),
}
STANDING: dict[str, tuple[str, Callable]] = {
    "P@1": ("P@1", max),
    "P@5": ("P@5", max),
    "PSP@5": ("PSP@5", max),
    "training, s": ("train s", min),
    "ms per document": ("ms/document", min),
    "one document, ms": ("ms alone", min),
    "loading, ms": ("load ms", min),
    "peak, MB": ("peak MB", min),
    "model, MB": ("model MB", min),
}
LEVEL_POINTS, LEVEL_SHARE = 0.35, 1.1  # seeds of a tree differ by that many points; ten percent of a time or size
NAMES = {"eurlex57k": "EURLEX57K", "bibtex": "Bibtex", "delicious": "Delicious", "pyseealso": "`pyseealso`"}
APP: Columns = {
    name: (name, None)
    for name in (
        "page",
        "first visit, s",
        "change, median s",
        "change, largest s",
        "target, s",
        "rerun, median s",
        "rerun, largest s",
        "rerun, CPU s",
        "memory, MB",
        "growth, MB",
    )
}
PUBLISHED: Columns = {
    "published": ("method", None),
    "setting": ("setting", None),
    **{name: (name, None) for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")},
    "source": ("source", None),
}


@cache
def results(name: str) -> dict[str, Any]:
    """What a benchmark has written."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def methods(dataset: str) -> str:
    """All methods on a dataset, with a line for each that has no figures."""
    rows = results("methods")["tables"].get(dataset, {}).get("measured")
    if not rows:
        return NOT_MEASURED
    measured = [row for row in rows if "failed" not in row]
    return "\n\n".join([table(measured, METHODS), *_missing(rows, "method")])


def papers(dataset: str) -> str:
    """Methods as in their papers and as in the workbench: mean ± standard deviation over the seeds."""
    columns = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "unseen P@5", "train CPU s")
    rows = [
        {"method": method, "settings": SETTINGS[preset], "seeds": str(len(members))} | _summarise(members, columns)
        for (method, preset), members in _group_seeds(dataset).items()
    ]
    return table(rows, {name: (name, None) for name in rows[0]}) if rows else NOT_MEASURED


def headline(dataset: str) -> str:
    """The methods of README with their defaults, in few columns."""
    columns = ("P@1", "P@5", "PSP@5", "unseen P@5", "train CPU s")
    found = _group_seeds(dataset)
    rows = [
        {"method": f"`{method}`", "seeds": str(len(members))} | _summarise(members, columns)
        for method in HEADLINE_METHODS
        if (members := found.get((method, "default")))
    ]
    return table(rows, {name: (name, None) for name in rows[0]}) if rows else NOT_MEASURED


def _group_seeds(dataset: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows of every seed by method and preset."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results("papers")["tables"].get(dataset, ()):
        if "failed" not in row:
            groups.setdefault((row["method"], row["preset"]), []).append(row)
    return groups


def _summarise(members: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, str]:
    return {name: _mean_and_deviation([row[name] for row in members]) for name in columns if name in members[0]}


def _mean_and_deviation(values: Sequence[float]) -> str:
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def published(dataset: str) -> str:
    """What papers report."""
    rows = results("methods")["tables"].get(dataset, {}).get("published")
    return table(rows, PUBLISHED) if rows else NOT_MEASURED


def peers(dataset: str) -> str:
    """xcwork and other programs on a dataset."""
    rows = results("peers")["tables"].get(dataset, {}).get("rows")
    if not rows:
        return NOT_MEASURED
    measured = [row for row in rows if "failed" not in row]
    return "\n\n".join([table(measured, PEERS), *_missing(rows, "system")])


def _missing(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """A line about those that have no figures; a sentence of the workbench without its remedy."""
    reasons = {row[name]: row["failed"].split(": ", 1)[-1].split("; ")[0] for row in rows if "failed" in row}
    return ["No figures: " + "; ".join(f"{who} ({why})" for who, why in reasons.items()) + "."] if reasons else []


def standing(ours: str, *theirs: str) -> str:
    """A system of ours beside the best of others in every measure and dataset: leads, level or behind."""
    lines = []
    for dataset, found in results("peers")["tables"].items():
        rows = {row["system"]: row for row in found["rows"] if "failed" not in row}
        peers_ = [rows[name] for name in map(_spaced, theirs) if name in rows]
        if (mine := rows.get(_spaced(ours))) is None or not peers_:
            continue
        line = {"dataset": NAMES.get(dataset, dataset)}
        for heading, (column, choose) in STANDING.items():
            best = choose(row[column] for row in peers_)
            line[heading] = _verdict(mine[column], best, choose)
        lines.append(line)
    return table(lines, {name: (name, None) for name in lines[0]})


def _spaced(name: str) -> str:
    """The name of a system, in which a line stands for a space."""
    return name.replace("_", " ").replace("label tree", "label_tree").replace("one vs all", "one_vs_all")


def _verdict(mine: float, best: float, choose: Callable) -> str:
    if choose is max:  # percentages
        word = "level" if abs(mine - best) <= LEVEL_POINTS else "leads" if mine > best else "behind"
        return f"{word} ({mine:.2f}, {best:.2f})"
    word = "level" if max(mine, best) <= LEVEL_SHARE * min(mine, best) else "leads" if mine < best else "behind"
    return f"{word} ({figure(mine)}, {figure(best)})"


def growth(measure: str, series: str = "labels") -> str:
    """One measure of every method over the sizes of a series, with the exponent that was fitted."""
    column = {"time": "CPU s", "memory": "memory MB", "prediction": "CPU ms/document"}[measure]
    found = results("growth")
    rows = [row for row in found["rows"] if row["series"] == series]
    sizes = sorted({row[series] for row in rows})
    fitted = {row["method"]: row for row in found["exponents"][series]}
    shown = []
    for method in dict.fromkeys(row["method"] for row in rows):
        line: dict[str, Any] = {"method": f"`{method}`"}
        mine = {row[series]: row for row in rows if row["method"] == method}
        for size in sizes:
            row = mine.get(size, {})
            line[f"{size:,}"] = f"*{row['stopped']}*" if row.get("stopped") else row.get(column)
        line["exponent"] = fitted.get(method, {}).get(column)
        if measure == "time":
            line["last step"] = fitted.get(method, {}).get("last step")
        shown.append(line)
    return table(shown, {name: (name, None) for name in shown[0]})


def expected(*lines: str) -> str:
    """The exponents that the arithmetic of a method foretells beside the measured ones."""
    found = {row["method"]: row for row in results("growth")["exponents"]["labels"]}
    shown = []
    for line in lines:
        method, time, memory = line.split("=")
        row = found.get(method, {})
        shown.append(
            {
                "method": f"`{method}`",
                "expected: time": time,
                "measured": row.get("CPU s"),
                "between the two largest sizes": row.get("last step"),
                "largest size": row.get("largest"),
                "expected: memory": memory,
                "measured, memory": row.get("memory MB"),
            }
        )
    return table(shown, {name: (name, None) for name in shown[0]})


def app(dataset: str) -> str:
    """How quickly every page of the dashboard answers on a dataset."""
    rows = results("app")["tables"].get(dataset)
    return table(rows, APP) if rows else NOT_MEASURED


def label_map() -> str:
    """The label map at every size, a line per measure."""
    rows = results("label_map")["rows"]
    names = [name for name in rows[0] if name != "labels"]
    turned = [{"measure": name} | {figure(row["labels"]): figure(row[name]) for row in rows} for name in names]
    columns: Columns = {name: (name, None) for name in turned[0]}
    return table(turned, columns).replace("| --- | --- | --- | --- | --- |", "| --- | --: | --: | --: | --: |")


def start() -> str:
    """From the command to a usable dashboard."""
    found = results("app")["start"]
    spread = f"{min(found['all']):.2f} to {max(found['all']):.2f}"
    return f"Start to a usable page: {found['start, s']:.2f} s ({spread}; target {found['target, s']:g} s)."


def files() -> str:
    """How long other projects' files take to read, and how much memory."""
    rows = [
        {
            "file": file,
            "reader": reader,
            "CPU s": run["median_cpu_seconds"],
            "least": run["least_cpu_seconds"],
            "peak MB": run["peak_bytes"] / 1e6,
        }
        for file, found in results("files")["files"].items()
        for reader, run in found["readers"].items()
    ]
    return table(rows, FILES)


def stored_rows(benchmark: str, key: str = "rows") -> str:
    """The rows of a result with all columns that have one value per row."""
    rows = results(benchmark)[key]
    return table(rows, {name: (name, None) for name in rows[0] if not isinstance(rows[0][name], list)})


def stored_by_data(benchmark: str) -> str:
    """The rows of all datasets of a result."""
    rows = [
        {"data": data} | {name: value for name, value in row.items() if name not in ("trees", "runs", "PSP@3")}
        for data, found in results(benchmark)["tables"].items()
        for row in found["rows"]
    ]
    return table(rows, {name: (name, None) for name in rows[0]})


def recorded(name: str) -> str:
    """A table that was printed before its benchmark stored what it measured, with its command and seeds."""
    found = results("recorded")["tables"][name]
    columns: Columns = {heading: (heading, None) for heading in found["rows"][0]}
    seeds = "one seed" if found["seeds"] == 1 else f"seeds: {found['seeds']}"
    return f"`{found['command']}` ({found['data']}; {seeds})\n\n{table(found['rows'], columns)}"


def decisions(part: str = "table") -> str:
    """Calibration errors, asked against achieved precision and costs, as a table; or what falls short, as sentences."""
    if str(ROOT) not in sys.path:  # benchmarks are not installed
        sys.path.insert(0, str(ROOT))
    from benchmarks._decision_figures import describe_shortfalls, list_rows

    cells = results("decisions")["cells"]
    if part == "shortfalls":
        return describe_shortfalls(cells)
    rows = list_rows(cells)
    return table(rows, {name: (name, None) for name in rows[0]})


def conditions(benchmark: str) -> str:
    """Machine, load and versions of a result."""
    found = results(benchmark)
    facts = found.get("conditions", found)
    machine, versions = facts["machine"], facts["versions"]
    loads = _loads(found)
    cores = "one core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    load = f"{min(loads)} to {max(loads)}" if len(set(loads)) > 1 else f"{loads[0]}"
    numbers = ", ".join(f"{name} {number}" for name, number in versions.items() if name != "xcwork")
    return f"{machine['processor']}, {cores}, {machine['memory_gib']} GiB, load {load}; {numbers}."


def _loads(found: Any) -> list[float]:
    """All loads that a result mentions."""
    if isinstance(found, dict):
        own = [found["load"]] if isinstance(found.get("load"), int | float) else []
        return own + [load for value in found.values() for load in _loads(value)]
    return [load for item in found for load in _loads(item)] if isinstance(found, list) else []


TABLES: dict[str, Callable[..., str]] = {
    "methods": methods,
    "papers": papers,
    "headline": headline,
    "published": published,
    "peers": peers,
    "standing": standing,
    "growth": growth,
    "expected": expected,
    "app": app,
    "label_map": label_map,
    "start": start,
    "files": files,
    "stored": stored_rows,
    "stored_by_data": stored_by_data,
    "recorded": recorded,
    "decisions": decisions,
    "conditions": conditions,
}


def filled(text: str) -> str:
    """`text` with all its tables written again."""

    def written(place: re.Match[str]) -> str:
        name, *arguments = place[1].split()
        return f"<!-- table: {place[1]} -->\n{TABLES[name](*arguments)}\n<!-- /table -->"

    return PLACE.sub(written, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a text is not up to date")
    check = parser.parse_args().check
    for name in TEXTS:
        before = (path := ROOT / name).read_text("utf-8")
        after = filled(before)
        if check and before != after:
            raise SystemExit(f"{name} is not up to date: run python scripts/benchmark_tables.py")
        if before != after:
            path.write_text(after, "utf-8")


if __name__ == "__main__":
    main()
