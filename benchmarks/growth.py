"""How time and memory grow with labels and with documents, for every method, on synthetic data.

    python -m benchmarks.growth [--methods a,b] [--labels 1000,10000,100000,1000000] [--documents-per-label 1]
                                [--documents 10000,30000,100000] [--fixed-labels 10000] [--data FOLDER]
                                [--budget 300] [--memory GIB] [--out growth] [--png]

Two series: labels grow and documents with them (as many per label each time), and documents grow over a fixed number of
labels. The data of a size are made once; every method then trains on all sizes in a process of its own, with a limit on
processor seconds (of one training) and on memory. A method that exceeds it stops growing, and its row says so.

Kernels are compiled on a small dataset first. Memory is what training adds to the process that holds the data. Neural
methods take one epoch; the time of those that are trained in steps is extended from few documents to all (`_growth`),
`measured CPU s` is what was measured, and they show no precision. The exponent b of y ≈ a·nᵇ is fitted to the
logarithms by least squares, over the rows of a series that finished; `last step` is the exponent between the two
largest sizes, with which the time of a size that was not measured is estimated. `labels` and `documents` grow together
in the first series, so an exponent of 2 there means labels times documents.

Writes OUT.json after every method, OUT.md and OUT.html (a chart) at the end, and OUT.png with --png where chromium is.
Rows that OUT.json has are not measured again, so a run that was cut short goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import conditions, described, earlier, machine, markdown_table, write_json
from benchmarks._growth import EXCEEDED, write_data

MEASURES = ("CPU s", "memory MB", "CPU ms/document")
COLUMNS = (
    "method",
    "labels",
    "documents",
    "CPU s",
    "measured CPU s",
    "memory MB",
    "CPU ms/document",
    "model MB",
    "P@1",
    "stopped",
)
LARGEST = 10**6  # labels or documents for which a time is given, measured or estimated
MEASUREMENT = "benchmarks._growth"

Size = tuple[str, int, int]  # series, labels, documents


def rows_of(method: str, sizes: list[Size], folders: list[Path], options: argparse.Namespace) -> list[dict[str, Any]]:
    """The measured rows of a method, the last one saying why there are no more."""
    command = [sys.executable, "-m", MEASUREMENT, method, str(options.budget), str(options.memory), *map(str, folders)]
    load = machine()["load"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(lines) < len(sizes):
        lines.append({"stopped": _reason(done, options)})
    return [
        {"series": series, "method": method, "labels": labels, "documents": documents, "load": load, **line}
        for (series, labels, documents), line in zip(sizes, lines, strict=False)
    ]


def _reason(done: subprocess.CompletedProcess[str], options: argparse.Namespace) -> str:
    if done.returncode == -signal.SIGXCPU:
        return f"more than {options.budget:.0f} CPU s"
    said = (done.stderr.strip().splitlines() or ["no message"])[-1]
    if done.returncode in (EXCEEDED, -signal.SIGKILL) or "allocate memory" in said or "bad_alloc" in said:
        return f"more than {options.memory:.3g} GiB"
    return f"failed: {said}"


def exponents(rows: Iterable[dict[str, Any]], series: str) -> list[dict[str, Any]]:
    """A row a method with the fitted exponents of one series, which is called as what grows in it."""
    rows = [row for row in rows if row["series"] == series and not row.get("stopped")]
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        if len(mine) < 2:
            continue
        sizes = [row[series] for row in mine]
        fitted: dict[str, Any] = {"method": method, "sizes": len(mine), "largest": sizes[-1]}
        for name in MEASURES:
            slope, intercept = np.polyfit(np.log(sizes), np.log([_positive(row[name]) for row in mine]), 1)
            fitted[name] = round(float(slope), 2)
            fitted[f"{name} at 1"] = float(np.exp(intercept))
        times = [_positive(row["CPU s"]) for row in mine]
        last = math.log(times[-1] / times[-2]) / math.log(sizes[-1] / sizes[-2])
        fitted["last step"] = round(last, 2)
        fitted["CPU s at 10⁶"] = times[-1] * (LARGEST / sizes[-1]) ** last
        fitted["measured"] = "yes" if sizes[-1] == LARGEST else "estimated"
        found.append(fitted)
    return found


def _positive(number: float) -> float:
    return max(number, 1e-6)


def chart(rows: list[dict[str, Any]], path: Path) -> None:
    """Time and memory over labels, on logarithmic axes."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from xcwork.viz import COLOURS, DASHES, MARKERS

    figure = make_subplots(1, 2, subplot_titles=("training, CPU seconds", "memory that training adds, MB"))
    shown = [row for row in rows if row["series"] == "labels" and not row.get("stopped")]
    for number, method in enumerate(dict.fromkeys(row["method"] for row in shown)):
        mine = [row for row in shown if row["method"] == method]
        style = {
            "name": method,
            "legendgroup": method,
            "mode": "lines+markers",
            "line": {"color": COLOURS[number % len(COLOURS)], "dash": DASHES[number // len(COLOURS) % len(DASHES)]},
            "marker": {"symbol": MARKERS[number % len(MARKERS)]},
        }
        for column, name in ((1, "CPU s"), (2, "memory MB")):
            x, y = [row["labels"] for row in mine], [_positive(row[name]) for row in mine]
            figure.add_trace(go.Scatter(x=x, y=y, showlegend=column == 1, **style), 1, column)
    figure.update_xaxes(type="log", dtick=1, title="labels").update_yaxes(type="log", dtick=1)
    figure.update_layout(
        title="Growth with labels", template="plotly_white", width=1200, height=560, legend={"tracegroupgap": 0}
    )
    figure.write_html(path, include_plotlyjs=True, config={"displayModeBar": False})


def picture(page: Path) -> str:
    """A screenshot of the chart beside it; says what is missing when there is none."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return "no picture: there is no chromium"
    target = page.with_suffix(".png")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1220,600"]
    command += ["--virtual-time-budget=8000", f"--screenshot={target.resolve()}", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    return f"{target}" if done.returncode == 0 and target.is_file() else "no picture: chromium failed"


def sizes_of(options: argparse.Namespace) -> list[Size]:
    """All sizes, small ones first."""
    labels, documents = (
        sorted(int(part) for part in text.split(",") if part) for text in (options.labels, options.documents)
    )
    first = [("labels", n, max(10, round(n * options.documents_per_label))) for n in labels]
    return first + [("documents", options.fixed_labels, n) for n in documents]


def run(options: argparse.Namespace, place: Path, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows, those of an earlier run included."""
    file = options.out.with_suffix(".json")
    rows: list[dict[str, Any]] = earlier(file).get("rows", [])
    for method in options.methods:
        for series in ("labels", "documents"):
            had = measured_before(rows, method, series, options)
            sizes = [one for one in sizes_of(options) if one[0] == series]
            wanted = [one for one in sizes if one[1:] not in {(row["labels"], row["documents"]) for row in had}]
            if not wanted or any(row.get("stopped") for row in had):
                continue
            folders = [data_of(n_labels, n_documents, place) for _, n_labels, n_documents in wanted]
            new = rows_of(method, wanted, folders, options)
            rows += new
            print(*map(json.dumps, new), sep="\n", file=sys.stderr, flush=True)
            write_json(file, {"rows": rows, **facts})
    return rows


def measured_before(rows: list[dict[str, Any]], method: str, series: str, options: argparse.Namespace) -> list:
    """The rows that there are of a series; one size may be part of both, and is then measured once."""
    had = [row for row in rows if row["method"] == method and row["series"] == series]
    sizes = {one[1:] for one in sizes_of(options) if one[0] == series} - {
        (row["labels"], row["documents"]) for row in had
    }
    shared = [
        row | {"series": series}
        for row in rows
        if row["method"] == method and row["series"] != series and (row["labels"], row["documents"]) in sizes
    ]
    rows += shared
    return had + shared


def data_of(n_labels: int, n_documents: int, place: Path) -> Path:
    """The folder with the data of a size, which is made in a process of its own where it is not there."""
    folder = place / f"{n_labels}-{n_documents}"
    if not folder.exists():
        subprocess.run(
            [sys.executable, "-m", "benchmarks.growth", "--prepare", str(n_labels), str(n_documents), str(folder)],
            check=True,
        )
    return folder


def report(rows: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """The tables, as Markdown."""
    parts = []
    for series in ("labels", "documents"):
        mine = [row for row in rows if row["series"] == series]
        if not mine:
            continue
        parts.append(f"## Growth with {series}\n\n{markdown_table(mine, COLUMNS)}")
        if fitted := exponents(rows, series):
            columns = ("method", "sizes", "largest", *MEASURES, "last step", "CPU s at 10⁶", "measured")
            parts.append(f"Fitted exponents, y ≈ a · {series}ᵇ:\n\n{markdown_table(fitted, columns)}")
    return "\n\n".join([*parts, described(facts)]) + "\n"


def main() -> None:
    from xcwork.methods.registry import METHODS

    memory = 0.8 * conditions()["machine"]["memory_gib"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    parser.add_argument("--labels", default="1000,10000,100000,1000000", help="sizes of the first series")
    parser.add_argument("--documents-per-label", type=float, default=1.0)
    parser.add_argument("--documents", default="10000,30000,100000", help="sizes of the second series; empty: none")
    parser.add_argument("--fixed-labels", type=int, default=10_000, help="labels of the second series")
    parser.add_argument("--budget", type=float, default=300, help="processor seconds that one training may take")
    parser.add_argument("--memory", type=float, default=memory, help="GiB that a method may take")
    parser.add_argument("--data", type=Path, help="keep the data of all sizes in this folder")
    parser.add_argument("--out", type=Path, default=Path("growth"), help="names of the files, without ending")
    parser.add_argument("--png", action="store_true", help="also a picture of the chart")
    parser.add_argument("--prepare", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        n_labels, n_documents, folder = options.prepare
        write_data(int(n_labels), int(n_documents), Path(folder))
        return
    options.methods = options.methods.split(",")
    if unknown := [method for method in options.methods if method not in METHODS]:
        raise SystemExit(f"there is no method {unknown[0]!r}; choose from {', '.join(METHODS)}")
    facts = conditions(budget_s=options.budget, memory_gib=options.memory)
    with tempfile.TemporaryDirectory() as place:
        rows = run(options, options.data or Path(place), facts)
    text = report(rows, facts)
    fitted = {series: exponents(rows, series) for series in ("labels", "documents")}
    write_json(options.out.with_suffix(".json"), {"rows": rows, "exponents": fitted, **facts})
    options.out.with_suffix(".md").write_text(text, "utf-8")
    chart(rows, options.out.with_suffix(".html"))
    print(text)
    if options.png:
        print(picture(options.out.with_suffix(".html")))


if __name__ == "__main__":
    main()
