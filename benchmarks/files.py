"""Reading other projects' files: xcwork beside pandas and scipy, time and memory.

    python -m benchmarks.files FOLDER [--repeats 5] [--out FILE]

FOLDER holds `meka-yeast/Yeast.arff.bz2`, `gutenberg-catalog/pg_catalog.csv` and `annif-archaeology/documents.tsv` as
these projects ship them. Every reader reads a file in turns, each time in a fresh process: seconds and processor time
of the reading alone, and the peak of resident memory above what the process had after its imports. All sides end with
the same: matrices of an ARFF file, texts and lists of labels of the others, which are counted and compared. What
xcwork does beyond that (finding format, columns and separator, names of subjects, features of text) is timed apart, as
`whole dataset`.
"""

from __future__ import annotations

import argparse
import bz2
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._common import machine, versions
from benchmarks.parsing import peak_memory, reset_peak

YEAST = "meka-yeast/Yeast.arff.bz2"
GUTENBERG = "gutenberg-catalog/pg_catalog.csv"
ARCHAEOLOGY = "annif-archaeology/documents.tsv"
Counts = dict[str, int]


def read_yeast_with_xcwork(file: Path) -> Counts:
    from xcwork.data.readers.arff import read_arff
    from xcwork.data.readers.arff_matrices import FeatureColumns, MissingChoice, read_split
    from xcwork.data.readers.arff_roles import choose_roles
    from xcwork.data.readers.mulan_labels import find_labels

    arff = read_arff(file)
    labels = find_labels(arff)
    roles = choose_roles([arff], labels.attributes)
    columns = FeatureColumns.from_attributes([arff.attributes[i] for i in roles.features])
    split = read_split(arff, arff.read_rows(), labels, roles, columns, MissingChoice())
    X = split.X.to_matrix(columns.starts[-1])
    Y = split.Y.to_matrix(len(labels.names))
    return {"documents": X.shape[0], "features": X.shape[1], "pairs": int(Y.nnz)}


def read_yeast_with_scipy(file: Path) -> Counts:
    import numpy as np
    from scipy import sparse
    from scipy.io import arff

    with bz2.open(file, "rt", encoding="utf-8") as stream:
        data, meta = arff.loadarff(stream)
    names = meta.names()
    Y = sparse.csr_array(np.column_stack([data[name].astype(np.float32) for name in names[:14]]))
    X = sparse.csr_array(np.column_stack([data[name] for name in names[14:]]).astype(np.float32))
    return {"documents": X.shape[0], "features": X.shape[1], "pairs": int(Y.nnz)}


def read_gutenberg_with_xcwork(file: Path) -> Counts:
    from xcwork.data.readers.columns import read_table
    from xcwork.data.readers.label_cells import split_labels
    from xcwork.data.readers.table_roles import join_columns

    table = read_table(file)
    texts = join_columns(table, ["Title"])
    cells = split_labels([table], "Subjects")
    return count_labels(texts, cells.labels[0])


def read_gutenberg_with_pandas(file: Path) -> Counts:
    import pandas as pd

    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    labels = [[name.strip() for name in cell.split(";") if name.strip()] for cell in frame["Subjects"]]
    return count_labels(frame["Title"].tolist(), labels)


def read_archaeology_with_xcwork(file: Path) -> Counts:
    from xcwork.data.readers.annif import read_subject_documents

    documents = read_subject_documents(file)
    return count_labels(documents.texts, documents.subjects)


def read_archaeology_with_pandas(file: Path) -> Counts:
    import pandas as pd

    frame = pd.read_csv(
        file, sep="\t", header=None, names=["text", "uris"], quoting=3, dtype=str, keep_default_na=False
    )
    labels = [[uri.strip("<>") for uri in cell.split()] for cell in frame["uris"]]
    return count_labels(frame["text"].tolist(), labels)


def count_labels(texts: list[str], labels: list[list[str]]) -> Counts:
    pairs = [set(listed) for listed in labels]
    return {"documents": len(texts), "labels": len(set().union(*pairs)), "pairs": sum(map(len, pairs))}


READERS: dict[str, dict[str, Callable[[Path], Counts]]] = {
    YEAST: {"xcwork": read_yeast_with_xcwork, "scipy": read_yeast_with_scipy},
    GUTENBERG: {"xcwork": read_gutenberg_with_xcwork, "pandas": read_gutenberg_with_pandas},
    ARCHAEOLOGY: {"xcwork": read_archaeology_with_xcwork, "pandas": read_archaeology_with_pandas},
}
SMALL = {  # read first, so that imports are not measured
    YEAST: "@relation 'x: -C 14 -split-number 5'\n"
    + "".join(f"@attribute l{i} {{0,1}}\n" for i in range(14))
    + "@attribute a numeric\n@attribute b numeric\n@data\n"
    + "".join(f"{'1,' * 14}{i},0.5\n" for i in range(9)),
    GUTENBERG: "Text#,Title,Subjects\n" + "".join(f"{i},Title {i},Words -- {i}; Words\n" for i in range(9)),
    ARCHAEOLOGY: "".join(f"some text {i}\t<http://example.org/{i}>\n" for i in range(9)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the projects' files")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="also write the figures to this file")
    chosen = parser.parse_args()
    figures = {
        "files": {file: compare(chosen.folder, file, chosen.repeats) for file in READERS},
        "repeats": chosen.repeats,
        "machine": machine(),
        "versions": versions("pandas"),
    }
    print(render_markdown(figures))
    if chosen.out:
        chosen.out.write_text(json.dumps(figures, indent=2) + "\n")


def compare(folder: Path, file: str, repeats: int) -> dict[str, Any]:
    """Return the figures of all readers of a file; readers that find different things are an error."""
    runs: dict[str, list[dict[str, Any]]] = {reader: [] for reader in (*READERS[file], "whole dataset")}
    for _ in range(repeats):
        for reader, of_reader in runs.items():
            command = [sys.executable, "-m", "benchmarks.files", "--child", reader, file, str(folder)]
            of_reader.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    counts = [of_reader[0]["counts"] for reader, of_reader in runs.items() if reader in READERS[file]]
    if any(each != counts[0] for each in counts):
        raise SystemExit(f"{file}: the readers do not agree: {counts}")
    summary = {
        reader: {
            "median_seconds": statistics.median(run["seconds"] for run in of_reader),
            "median_cpu_seconds": statistics.median(run["cpu_seconds"] for run in of_reader),
            "least_cpu_seconds": min(run["cpu_seconds"] for run in of_reader),
            "peak_bytes": int(statistics.median(run["peak_bytes"] for run in of_reader)),
        }
        for reader, of_reader in runs.items()
    }
    return {"bytes": (folder / file).stat().st_size, "counts": counts[0], "readers": summary}


def read_whole_dataset(file: Path) -> Counts:
    from xcwork.data.readers import choose_reader, read

    options = {"labels_column": "Subjects"} if file.suffix == ".csv" else {}
    dataset = read(choose_reader(file), file, file.stem, options)
    return {"documents": len(dataset.train) + len(dataset.test)}


def read_once(reader: str, file: str, folder: Path) -> None:
    """Read a file once in this fresh process, after everything was imported, and print the figures."""
    read = read_whole_dataset if reader == "whole dataset" else READERS[file][reader]
    with tempfile.TemporaryDirectory() as place:
        small = Path(place) / Path(file).name
        content = SMALL[file].encode()
        small.write_bytes(bz2.compress(content) if small.suffix == ".bz2" else content)
        read(small)
    path = folder / file
    before = reset_peak()
    start, cpu = time.perf_counter(), time.process_time()
    counts = read(path)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "peak_bytes": max(0, peak_memory() - before),
                "counts": counts,
            }
        )
    )


def render_markdown(figures: dict[str, Any]) -> str:
    lines = [
        f"Reading other projects' files (medians of {figures['repeats']}; load {figures['machine']['load']})",
        "",
        "| file | reader | seconds | CPU s | least CPU s | peak, MB |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for file, found in figures["files"].items():
        for reader, run in found["readers"].items():
            lines.append(
                f"| {file} | {reader} | {run['median_seconds']:.3f} | {run['median_cpu_seconds']:.3f} "
                f"| {run['least_cpu_seconds']:.3f} | {run['peak_bytes'] / 1e6:.1f} |"
            )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        read_once(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main()
