"""Data larger than memory: training and prediction from a dataset on disk, beside the same with the dataset in memory.

    python -m benchmarks.streaming [--gigabytes 1.5] [--method flat] [--folder FOLDER] [--out FILE.json]

Writes a dataset of that size with random words, block by block (a fifth of its documents is the training split), and
trains and predicts in processes of their own: once mapped from disk, once loaded. Growth is the largest resident memory
(pages of the file included) while loading, training or predicting, above what the process has after its imports and
a first small training. The two models must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import conditions, described, folder_bytes, markdown_table, timed, write_json

WORDS, LABELS, ENTRIES = 50_000, 200, 150  # features, labels, words of a document
BLOCK = 20_000  # documents written at once
BYTES = 8  # of an entry
PARAMS = {"epochs": 1, "min_steps": 0, "width": 16, "backbone": "text", "device": "cpu"}


def blocks(n_documents: int, seed: int) -> Iterator[tuple[sparse.csr_array, sparse.csr_array]]:
    """Documents of random words with two labels that their first words give away."""
    for start in range(0, n_documents, BLOCK):
        rng, n = np.random.default_rng((seed, start)), min(BLOCK, n_documents - start)
        words = np.sort(rng.integers(0, WORDS // ENTRIES, (n, ENTRIES)) + np.arange(ENTRIES) * (WORDS // ENTRIES), 1)
        values = rng.random((n, ENTRIES), dtype=np.float32) + 0.5
        starts = np.arange(n + 1) * ENTRIES
        X = sparse.csr_array((values.ravel(), words.ravel().astype(np.int32), starts), shape=(n, WORDS))
        labels = np.column_stack([words[:, 0] % (LABELS // 2), LABELS // 2 + words[:, 1] % (LABELS // 2)])
        Y = sparse.csr_array(
            (np.ones(2 * n, np.float32), labels.ravel().astype(np.int32), np.arange(n + 1) * 2), shape=(n, LABELS)
        )
        yield X, Y


def write(folder: Path, gigabytes: float) -> None:
    from xcwork.data.dataset_writer import DatasetWriter

    n_documents = int(gigabytes * 1e9 / (BYTES * ENTRIES))
    names = [f"label {label}" for label in range(LABELS)]
    with Growth() as growth, DatasetWriter(folder, n_features=WORDS, label_names=names) as writer:
        for part, n, seed in ((writer.train, n_documents // 5, 0), (writer.test, n_documents - n_documents // 5, 1)):
            for X, Y in blocks(n, seed):
                part.add(X, Y)
    print(json.dumps({"writing, growth MB": growth.megabytes}))


class Growth:
    """The largest resident memory in a block above that at its beginning."""

    megabytes = 0.0

    def __enter__(self) -> Growth:
        self._before = _resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from now on
        return self

    def __exit__(self, *_: object) -> None:
        self.megabytes = _resident("VmHWM") - self._before


def _resident(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1024


@contextmanager
def row_part(row: dict[str, Any], name: str) -> Iterator[None]:
    with timed() as timing:
        yield
    row[f"{name} s"] = round(timing.seconds, 1)


def measure(folder: Path, method: str, mapped: bool) -> dict[str, Any]:
    import xcwork
    from xcwork.core.dataset import Dataset

    with tempfile.TemporaryDirectory() as place:
        write_small(Path(place) / "small")
        small = Dataset.load(Path(place) / "small", mapped=mapped)
        xcwork.create(method, **PARAMS).fit(small.train).predict(small.test, 5)  # compiles, and touches the libraries
    row: dict[str, Any] = {"dataset": "mapped from disk" if mapped else "loaded"}
    with Growth() as loading, row_part(row, "loading"):
        data = Dataset.load(folder, mapped=mapped)
    with Growth() as training, row_part(row, "training"):
        model = xcwork.create(method, **PARAMS).fit(data.train)
    with Growth() as predicting, row_part(row, "predicting"):
        best = model.predict(data.test, 5)
    weights = hashlib.sha256(b"".join(np.ascontiguousarray(part).data for part in model.model_.weights.values()))
    result = best.ids.nbytes + best.scores.nbytes
    return row | {
        "loading, growth MB": loading.megabytes,
        "training, growth MB": training.megabytes,
        "predicting, growth MB": predicting.megabytes,
        "result MB": result / 1e6,
        "same": hashlib.sha256(weights.digest() + best.ids.tobytes()).hexdigest()[:12],
    }


def write_small(folder: Path) -> None:
    from xcwork.data.dataset_writer import DatasetWriter

    with DatasetWriter(folder, n_features=WORDS, label_names=[str(label) for label in range(LABELS)]) as writer:
        for part in (writer.train, writer.test):
            for X, Y in blocks(500, 2):
                part.add(X, Y)


def in_own_process(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.streaming", *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    print(done.stdout.splitlines()[-1], file=sys.stderr, flush=True)  # a long run that is cut short is not lost
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.5, help="size of the matrices")
    parser.add_argument("--method", default="flat", choices=("flat", "mhs", "mhp"))
    parser.add_argument("--folder", type=Path, help="where the dataset is written (default: a temporary folder)")
    parser.add_argument("--only-mapped", action="store_true", help="leave out the dataset in memory")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not Path("/proc/self/clear_refs").exists():
        raise SystemExit("resident memory is read from /proc, which this system does not have")
    if options.part:
        name, folder, *rest = options.part
        if name == "write":
            write(Path(folder), float(rest[0]))
        else:
            print(json.dumps(measure(Path(folder), rest[0], name == "mapped")))
        return
    facts = conditions()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = str(Path(place) / "data")
        written = in_own_process("--part", "write", folder, str(options.gigabytes))
        kinds = ("mapped",) if options.only_mapped else ("mapped", "loaded")
        rows = [in_own_process("--part", kind, folder, options.method) for kind in kinds]
        size = folder_bytes(Path(folder)) / 1e6
    if len({row["same"] for row in rows}) > 1:
        raise SystemExit("the model from disk differs from the one from memory")
    columns = [column for column in rows[0] if column != "same"]
    title = f"{options.method}, matrices of {size:,.0f} MB, written with {written['writing, growth MB']:,.0f} MB"
    print(f"{title}\n\n{markdown_table(rows, columns)}\n\n{described(facts)}")
    if options.out:
        write_json(options.out, {"size_mb": size, **written, "rows": rows, **facts})


if __name__ == "__main__":
    main()
