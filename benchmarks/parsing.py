"""XC-format text parsing: xcwork against scikit-learn's load_svmlight_file on the same file.

    python -m benchmarks.parsing DATA [--repeats 3] [--json FILE]

DATA (any dataset name or path) is written in XC-repository format into a temporary folder. Then both parsers read its
train.txt in turns, each time in a fresh process: seconds for the parse alone, and the peak of resident memory above
what the process had after its imports, relative to the size of the resulting matrices. scikit-learn gets the file
without its header line, which it cannot read.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PARSERS = ("xcwork", "scikit-learn")
SMALL = "2 3 4\n0,2 0:1 2:0.5\n1 1:2\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", help="dataset name or path")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(chosen.data, Path(folder) / "xc", chosen.repeats)
    print(as_markdown(figures))
    print(json.dumps(figures, indent=2))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


def compare(data: str, folder: Path, repeats: int) -> dict[str, Any]:
    from xcwork.data.load import load_dataset
    from xcwork.data.writers import write_xc

    dataset = load_dataset(data)
    start = time.perf_counter()
    write_xc(dataset, folder)
    written = time.perf_counter() - start
    file = folder / "train.txt"
    runs: dict[str, list[dict[str, float]]] = {parser: [] for parser in PARSERS}
    for _ in range(repeats):
        for parser in PARSERS:
            command = [sys.executable, "-m", "benchmarks.parsing", "--child", parser, str(file)]
            runs[parser].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    matrices = runs["xcwork"][0]["matrix_bytes"]
    summary = {
        parser: {
            "seconds": [run["seconds"] for run in of_parser],
            "median_seconds": statistics.median(run["seconds"] for run in of_parser),
            "median_cpu_seconds": statistics.median(run["cpu_seconds"] for run in of_parser),
            "peak_bytes": max(run["peak_bytes"] for run in of_parser),
            "peak_over_matrices": max(run["peak_bytes"] for run in of_parser) / matrices,
        }
        for parser, of_parser in runs.items()
    }
    return {
        "dataset": dataset.name,
        "documents": len(dataset.train),
        "entries": int(dataset.train.X.nnz),
        "file_bytes": file.stat().st_size,
        "matrix_bytes": matrices,
        "write_seconds": written,
        "parsers": summary,
        "times_faster": summary["scikit-learn"]["median_seconds"] / summary["xcwork"]["median_seconds"],
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"python": platform.python_version()} | {
        name: version(name) for name in ("xcwork", "numpy", "scipy", "numba", "scikit-learn")
    }


def as_markdown(figures: dict[str, Any]) -> str:
    lines = [
        f"XC text parsing of {figures['dataset']}: {figures['documents']:,} documents, {figures['entries']:,} entries, "
        f"{figures['file_bytes'] / 2**20:.0f} MiB of text, matrices of {figures['matrix_bytes'] / 2**20:.0f} MiB "
        f"({figures['machine']})",
        "",
        "| parser | seconds, median (all) | CPU seconds | MiB/s | peak memory | peak / matrices |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for parser, run in figures["parsers"].items():
        every = ", ".join(f"{seconds:.2f}" for seconds in run["seconds"])
        lines.append(
            f"| {parser} | {run['median_seconds']:.2f} ({every}) | {run['median_cpu_seconds']:.2f} "
            f"| {figures['file_bytes'] / 2**20 / run['median_seconds']:.0f} | {run['peak_bytes'] / 2**20:.0f} MiB "
            f"| {run['peak_over_matrices']:.2f} |"
        )
    return "\n".join([*lines, "", f"xcwork is {figures['times_faster']:.1f} times as fast.", ""])


def child(parser: str, file: Path) -> None:
    """Parse once in this fresh process and print the figures."""
    parse = parse_with_xcwork if parser == "xcwork" else parse_with_sklearn
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "train.txt"
        small.write_text(SMALL)
        parse(small)  # loads the compiled kernels and everything that is imported late
    before = reset_peak()
    start, cpu = time.perf_counter(), time.process_time()
    matrices = parse(file)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": peak_memory() - before}
    figures["matrix_bytes"] = sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in matrices)
    print(json.dumps(figures))


def parse_with_xcwork(file: Path) -> list[Any]:
    from xcwork.data.readers.sparse_header import XC_NAMES, read_header
    from xcwork.data.readers.sparse_text import TextLayout, parse_file

    rows, columns, labels = read_header(file, XC_NAMES)
    parsed = parse_file(file, TextLayout(labelled=True, n_rows=rows, n_columns=columns, n_labels=labels))
    return [parsed.X, parsed.Y]


def parse_with_sklearn(file: Path) -> list[Any]:
    import numpy as np
    from sklearn.datasets import load_svmlight_file

    with file.open("rb") as stream:
        columns = int(stream.readline().split()[1])
        X, _ = load_svmlight_file(stream, n_features=columns, multilabel=True, zero_based=True, dtype=np.float32)
    return [X]


def reset_peak() -> int:
    """Forget the peak of resident memory so far; returns the memory in use now."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return memory("VmRSS")


def peak_memory() -> int:
    return memory("VmHWM")


def memory(field: str) -> int:
    status = Path("/proc/self/status")
    if not status.exists():  # not Linux: only the peak of the whole life is known
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
