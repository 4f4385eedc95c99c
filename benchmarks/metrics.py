"""How long does evaluating 150,000 documents with 100 predicted labels each take?

    python -m benchmarks.metrics [--documents N] [--labels N] [--k K] [--peer]

Random predictions around a random truth with power-law label frequencies; every stage is run three times and the best
is shown. The first call of a kernel compiles it (or reads it from numba's cache); that happens before the clock
starts. `--peer` also measures napkinXC (`pip install "xcwork[peers]"`) on the same lists and compares the values.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.analysis.errors import find_likely_missing, find_likely_wrong, list_missed_labels
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.metrics import (
    compare_predictions,
    compute_inverse_propensities,
    evaluate_topk,
    make_absolute_bands,
    place_labels,
    tabulate_bands,
    tabulate_documents,
)
from xcwork.metrics.ranking import compute_curves, evaluate_placement

POSITIVES = 5  # true labels per document


def make(n_documents: int, n_labels: int, k: int, seed: int = 0) -> tuple[Dataset, TopK]:
    """A test part in which about half of the true labels stand somewhere in the list."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_labels + 1)
    edges = np.cumsum(popularity / popularity.sum())

    def truth() -> sparse.csr_array:
        labels = np.minimum(np.searchsorted(edges, rng.random((n_documents, POSITIVES))), n_labels - 1)
        rows = np.repeat(np.arange(n_documents), POSITIVES)
        ones = np.ones(labels.size, np.float32)
        Y = sparse.csr_array(sparse.coo_array((ones, (rows, labels.ravel())), shape=(n_documents, n_labels)))
        Y.data[:] = 1.0
        return Y

    space, X = LabelSpace([f"label {i}" for i in range(n_labels)]), sparse.csr_array((n_documents, 1), dtype=np.float32)
    train, test = (Split(X, truth(), space, Features(1)) for _ in range(2))
    # Distinct ids within a row: a random start and a step without common factor with the number of labels.
    ids = (rng.integers(n_labels, size=(n_documents, 1)) + 7919 * np.arange(k)) % n_labels
    slots = rng.integers(k, size=test.Y.nnz)
    keep = rng.random(test.Y.nnz) < 0.5
    rows = np.repeat(np.arange(n_documents), np.diff(test.Y.indptr))
    ids[rows[keep], slots[keep]] = test.Y.indices[keep]
    scores = -np.sort(-rng.random((n_documents, k), dtype=np.float32), axis=1)
    return Dataset("benchmark", train, test), TopK(ids.astype(np.int32), scores)


def best_of(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """(the shortest time in seconds, the result)"""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def stages(dataset: Dataset, topk: TopK) -> dict[str, float]:
    """Seconds of every step of an evaluation, and of the tables around it."""
    train, test = dataset.train, dataset.test
    frequencies = train.label_frequencies
    q = compute_inverse_propensities(frequencies, len(train), dataset.propensity)
    placement = place_labels(topk, test.Y)
    options = {"frequencies": frequencies, "n_train": len(train), "propensity": dataset.propensity}
    work: dict[str, Callable[[], Any]] = {
        "find every true label in its list": lambda: place_labels(topk, test.Y),
        "all metrics at 1, 3, 5": lambda: evaluate_placement(placement, q),
        "bands": lambda: tabulate_bands(placement, make_absolute_bands(frequencies)),
        "curves for every k": lambda: compute_curves(placement),
        "evaluate_topk (the first two together)": lambda: evaluate_topk(topk, test.Y, **options),
        "per-document table": lambda: tabulate_documents(topk, dataset),
        "missed labels": lambda: list_missed_labels(topk, dataset),
        "likely missing labels": lambda: find_likely_missing(topk, dataset),
        "likely wrong labels": lambda: find_likely_wrong(topk, dataset),
    }
    seconds = {name: best_of(step)[0] for name, step in work.items()}
    seconds["bootstrap of two runs, 200 draws, all metrics"] = best_of(
        lambda: compare_predictions(topk, topk, dataset, n_resamples=200), repeats=1
    )[0]
    return seconds


def against_napkinxc(dataset: Dataset, topk: TopK) -> list[str]:
    """Time and values of napkinXC's P, nDCG and PSP at 5 on the same lists."""
    from napkinxc import metrics as peer

    train, test = dataset.train, dataset.test
    q = compute_inverse_propensities(train.label_frequencies, len(train), dataset.propensity)
    truth = np.split(test.Y.indices, test.Y.indptr[1:-1])
    true, listed = [row.tolist() for row in truth], topk.head(5).ids.tolist()
    theirs, start = {}, time.perf_counter()
    theirs["P@5"] = 100 * peer.precision_at_k(true, listed, k=5)[4]
    theirs["nDCG@5"] = 100 * peer.ndcg_at_k(true, listed, k=5)[4]
    theirs["PSP@5"] = 100 * peer.psprecision_at_k(true, listed, q, k=5)[4]
    slow = time.perf_counter() - start
    quick, ours = best_of(
        lambda: evaluate_topk(
            topk, test.Y, frequencies=train.label_frequencies, n_train=len(train), propensity=dataset.propensity, ks=[5]
        )
    )
    values = ", ".join(f"{name} {ours[name]:.6f} / {value:.6f}" for name, value in theirs.items())
    return [
        f"napkinXC {version('napkinxc')}: {slow:.2f} s for P, nDCG and PSP at 5; xcwork {quick:.2f} s for all eight "
        f"metrics at 5; ratio {slow / quick:.0f}",
        f"values (xcwork / napkinXC): {values}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=150_000)
    parser.add_argument("--labels", type=int, default=130_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--peer", action="store_true", help="compare with napkinXC")
    options = parser.parse_args()
    if options.peer and importlib.util.find_spec("napkinxc") is None:
        sys.exit('napkinXC is not installed; pip install "xcwork[peers]"')
    dataset, topk = make(options.documents, options.labels, options.k)
    lines = [
        f"{options.documents} documents, top {options.k} of {options.labels} labels, {POSITIVES} true labels each",
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "pandas")),
        "",
        "| step | seconds |",
        "| --- | ---: |",
    ]
    lines += [f"| {name} | {seconds:.3f} |" for name, seconds in stages(dataset, topk).items()]
    if options.peer:
        lines += ["", *against_napkinxc(dataset, topk)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
