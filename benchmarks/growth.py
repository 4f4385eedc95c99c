"""How time and memory grow with labels and with documents, for every method, on synthetic data.

    python benchmarks/growth.py [--methods a,b] [--labels 1000,10000,100000,1000000] [--documents-per-label 2]
                                [--documents 10000,40000,160000] [--fixed-labels 10000]
                                [--budget 900] [--memory GIB] [--out growth] [--png]

Two series: labels grow and documents with them (as many per label each time), and documents grow over a fixed number of
labels. The data of a size are made once; every method then trains on them in a process of its own, with a limit on
seconds and on memory. A method that exceeds it stops growing, and its row says so.

Kernels are compiled on a small dataset first. Memory is what training adds to the process that holds the data. Neural
methods take one epoch; those whose step visits a fixed number of documents are measured on NEURAL_DOCUMENTS of them,
and the time is scaled to the epoch (`measured s` is what the clock showed). The exponent b of y ≈ a·nᵇ is fitted to the
logarithms by least squares, over the rows of a series that finished; `labels` and `documents` double together in the
first series, so an exponent of 2 there means labels times documents.

Writes OUT.json after every row, OUT.md and OUT.html (a chart) at the end, and OUT.png with --png where chromium is.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from _common import conditions, described, folder_bytes, markdown_table, peak_memory_mb, timed, write_json

NEURAL_DOCUMENTS = 6_400
TEST_DOCUMENTS = 1_000
STEPPED = ("flat", "mhc", "mhp", "mhs")  # a step costs the same whatever the number of documents
ONE_EPOCH = {"epochs": 1, "least_steps": 0, "backbone": "text", "device": "cpu"}
SETTINGS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(STEPPED, ONE_EPOCH),
    "deep_miml": {"epochs": 1, "device": "cpu"},
    "siamesexml": {"epochs": 1, "classifier_epochs": 1, "device": "cpu"},
    "landmarks": {"device": "cpu", "one_vs_rest": False},
    "eagle": {"device": "cpu"},
}
MEASURES = {"train s": "seconds", "CPU s": "processor seconds", "memory MB": "memory", "ms/document": "prediction"}
COLUMNS = (
    "method", "labels", "documents", "train s", "CPU s", "measured s", "memory MB", "ms/document", "model MB", "P@1",
    "stopped",
)  # fmt: skip
EXCEEDED = 9  # exit code of a measurement that ran out of memory


def synthetic(n_labels: int, n_documents: int) -> Any:
    """The planted data of a size, without raw texts."""
    from xcwork.data.synthetic import make_synthetic

    n_test = min(TEST_DOCUMENTS, n_documents)
    return make_synthetic(
        n_labels=n_labels, n_documents=n_documents + n_test, n_topics=max(2, n_labels // 50),
        test_share=n_test / (n_documents + n_test), unseen_share=0.05,
    )  # fmt: skip


def prepare(n_labels: int, n_documents: int, folder: Path) -> None:
    from dataclasses import replace

    data = synthetic(n_labels, n_documents)
    bare = replace(data, train=replace(data.train, texts=None), test=replace(data.test, texts=None))
    bare.save(folder)


def measure(method: str, folder: Path, gib: float) -> dict[str, Any]:
    """One row, in this process; the limit on memory holds from here on."""
    import xcwork
    from xcwork.data.dataset import Dataset
    from xcwork.metrics import evaluate_topk

    resource.setrlimit(resource.RLIMIT_DATA, (int(gib * 2**30),) * 2)
    data, params = Dataset.load(folder, mapped=False), SETTINGS.get(method, {})
    small = synthetic(200, 400)
    xcwork.create(method, **params).fit(small.train).predict(small.test, 5)  # compiles
    train = data.train
    if method in STEPPED and len(train) > NEURAL_DOCUMENTS:
        train = train.take(np.arange(NEURAL_DOCUMENTS))
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5") if Path("/proc/self/clear_refs").exists() else None
    with timed() as training:
        model = xcwork.create(method, **params).fit(train)
    added = _memory("VmHWM") - before
    documents = min(len(data.test), TEST_DOCUMENTS)
    test = data.test.take(np.arange(documents))
    model.predict(test, 5)
    with timed() as predicting:
        best = model.predict(test, 5)
    with tempfile.TemporaryDirectory() as place:
        model.save(Path(place) / "model")
        size = folder_bytes(Path(place))
    scale = len(data.train) / len(train)
    metrics = evaluate_topk(
        best, test.Y, frequencies=data.train.label_frequencies, n_train=len(data.train), propensity=data.propensity
    )
    return {
        "train s": training.seconds * scale, "CPU s": training.cpu_seconds * scale, "measured s": training.seconds,
        "memory MB": max(added, 0.1), "ms/document": 1000 * predicting.seconds / documents, "model MB": size / 1e6,
        "P@1": metrics["P@1"],
    }  # fmt: skip


def _memory(field: str) -> float:
    """A figure of this process in MB; the peak so far where the system keeps no such account."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return peak_memory_mb()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def in_own_process(method: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A measured row, or why there is none."""
    command = [sys.executable, __file__, "--one", method, str(folder), "--memory", str(options.memory)]
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=options.budget)
    except subprocess.TimeoutExpired:
        return {"stopped": f"more than {options.budget} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
    if done.returncode in (EXCEEDED, -9) or "allocate memory" in reason or "bad_alloc" in reason:
        return {"stopped": f"more than {options.memory:.3g} GiB"}
    return {"stopped": f"failed after {time.monotonic() - began:.0f} s: {reason}"}


def exponents(rows: Iterable[dict[str, Any]], series: str, variable: str) -> list[dict[str, Any]]:
    """A row a method with the fitted exponents of one series."""
    rows = [row for row in rows if row["series"] == series and not row.get("stopped")]
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        if len(mine) < 2:
            continue
        sizes = np.log([row[variable] for row in mine])
        fitted: dict[str, Any] = {"method": method, "sizes": len(mine), "largest": mine[-1][variable]}
        for measure_ in MEASURES:
            slope, intercept = np.polyfit(sizes, np.log([max(row[measure_], 1e-6) for row in mine]), 1)
            fitted[measure_] = round(float(slope), 2)
            fitted[f"{measure_} at 1"] = float(np.exp(intercept))
        found.append(fitted)
    return found


def chart(rows: list[dict[str, Any]], path: Path) -> None:
    """Time and memory over labels, on logarithmic axes."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from xcwork.viz import COLOURS, DASHES, MARKERS

    titles = ("training, seconds", "memory that training adds, MB")
    figure = make_subplots(1, 2, subplot_titles=titles)
    shown = [row for row in rows if row["series"] == "labels" and not row.get("stopped")]
    for number, method in enumerate(dict.fromkeys(row["method"] for row in shown)):
        mine = [row for row in shown if row["method"] == method]
        style = {
            "name": method, "legendgroup": method, "mode": "lines+markers",
            "line": {"color": COLOURS[number % len(COLOURS)], "dash": DASHES[number // len(COLOURS) % len(DASHES)]},
            "marker": {"symbol": MARKERS[number % len(MARKERS)]},
        }  # fmt: skip
        for column, name in ((1, "train s"), (2, "memory MB")):
            x, y = [row["labels"] for row in mine], [row[name] for row in mine]
            figure.add_trace(go.Scatter(x=x, y=y, showlegend=column == 1, **style), 1, column)
    figure.update_xaxes(type="log", dtick=1, title="labels").update_yaxes(type="log", dtick=1)
    figure.update_layout(title="Growth with labels", template="plotly_white", width=1200, height=560)
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


def sizes_of(options: argparse.Namespace) -> list[tuple[str, int, int]]:
    """(series, labels, documents) of all sizes, small ones first."""
    labels, documents = (sorted(int(part) for part in text.split(",") if part) for text in
                         (options.labels, options.documents))  # fmt: skip
    first = [("labels", n, max(10, round(n * options.documents_per_label))) for n in labels]
    return first + [("documents", options.fixed_labels, n) for n in documents]


def run(options: argparse.Namespace, facts: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    stopped: set[tuple[str, str]] = set()
    for series, n_labels, n_documents in sizes_of(options):
        wanted = [method for method in options.methods if (series, method) not in stopped]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "data"
            command = [sys.executable, __file__, "--prepare", str(n_labels), str(n_documents), str(folder)]
            subprocess.run(command, check=True)
            for method in wanted:
                row = {"series": series, "method": method, "labels": n_labels, "documents": n_documents}
                row |= in_own_process(method, folder, options)
                rows.append(row)
                if row.get("stopped"):
                    stopped.add((series, method))
                print(json.dumps(row), file=sys.stderr, flush=True)
                write_json(options.out.with_suffix(".json"), {"rows": rows, **facts})  # a run cut short is not lost
    return rows


def report(rows: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    parts = []
    for series, variable in (("labels", "labels"), ("documents", "documents")):
        mine = [row for row in rows if row["series"] == series]
        if not mine:
            continue
        fitted = exponents(rows, series, variable)
        parts.append(f"## Growth with {variable}\n\n{markdown_table(mine, COLUMNS)}")
        if fitted:
            table = markdown_table(fitted, ("method", "sizes", "largest", *MEASURES))
            parts.append(f"Fitted exponents, y ≈ a · {variable}ᵇ:\n\n{table}")
    return "\n\n".join([*parts, described(facts)]) + "\n"


def main() -> None:
    from xcwork.methods.registry import METHODS

    memory = 0.8 * conditions()["machine"]["memory_gib"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    parser.add_argument("--labels", default="1000,10000,100000,1000000", help="sizes of the first series")
    parser.add_argument("--documents-per-label", type=float, default=2.0)
    parser.add_argument("--documents", default="10000,40000,160000", help="sizes of the second series; empty: none")
    parser.add_argument("--fixed-labels", type=int, default=10_000, help="labels of the second series")
    parser.add_argument("--budget", type=float, default=900, help="seconds a row may take")
    parser.add_argument("--memory", type=float, default=memory, help="GiB a row may take")
    parser.add_argument("--out", type=Path, default=Path("growth"), help="names of the files, without ending")
    parser.add_argument("--png", action="store_true", help="also a picture of the chart")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--prepare", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        n_labels, n_documents, folder = options.prepare
        prepare(int(n_labels), int(n_documents), Path(folder))
        return
    if options.one:
        try:
            print(json.dumps(measure(options.one[0], Path(options.one[1]), options.memory)))
        except MemoryError:
            raise SystemExit(EXCEEDED) from None
        return
    options.methods = options.methods.split(",")
    if unknown := [method for method in options.methods if method not in METHODS]:
        raise SystemExit(f"there is no method {unknown[0]!r}; choose from {', '.join(METHODS)}")
    facts = conditions(budget_s=options.budget, memory_gib=options.memory)
    rows = run(options, facts)
    text = report(rows, facts)
    fitted = {series: exponents(rows, series, series) for series in ("labels", "documents")}
    write_json(options.out.with_suffix(".json"), {"rows": rows, "exponents": fitted, **facts})
    options.out.with_suffix(".md").write_text(text, "utf-8")
    chart(rows, options.out.with_suffix(".html"))
    print(text)
    if options.png:
        print(picture(options.out.with_suffix(".html")))


if __name__ == "__main__":
    main()
