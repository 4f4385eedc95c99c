"""Places of labels: time and memory of the layout and its regions, and how well it keeps neighbourhoods.

    python -m benchmarks.label_layout [--sizes pyseealso ...] [--vectors texts] [--shared FOLDER] [--out FILE.json]

Each size runs in a process of its own: pyseealso, tibkat-gnd (41,218) and wordnet-reverse (148,730) where their folders
are there, and a million synthetic vectors around 2,000 centres in 50 groups. Vectors are label texts and training
documents, or label texts alone. Trustworthiness and continuity compare two thousand labels with their fifty dimensions;
`--max-umap-labels` lays out that many and places the others beside them, so that the approximation stands beside UMAP
of all labels where both run.

`co-labels` says whether the vectors mean something: two labels of a test document that share no training document
should lie near each other. It is the mean share of all labels that lie nearer than the other one; 0.5 is chance.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import conditions, described, earlier, markdown_table, peak_memory_mb, timed, write_json

SHARED = Path(__file__).parents[2] / "shared" / "data"
SOURCES = {"tibkat": "tibkat-gnd", "wordnet": "wordnet-reverse"}
SIZES = ("pyseealso", "tibkat", "wordnet", "million")
KEY = ("data", "vectors", "laid out")
N_SYNTHETIC = 1_000_000
N_GROUPS = 50
N_CENTRES = 2_000
N_DIMENSIONS = 64
CENTRE_SPREAD = 0.7  # within a group, of the spread of the groups
LABEL_SPREAD = 0.5


def load_labels(size: str, shared: Path) -> Any:
    """Return the dataset of a size; its label vectors are texts."""
    from xcwork.data.load import load_dataset

    return load_dataset("pyseealso" if size == "pyseealso" else str(shared / SOURCES[size]))


def make_million() -> tuple[Any, Any]:
    """Return synthetic vectors and a dataset without documents' content."""
    from xcwork.core.dataset import Dataset
    from xcwork.core.features import Features
    from xcwork.core.labels import LabelSpace
    from xcwork.core.split import Split
    from xcwork.layout.label_vectors import LabelVectors
    from xcwork.sparse import normalise_rows

    rng = np.random.default_rng(0)
    groups = rng.normal(size=(N_GROUPS, N_DIMENSIONS))
    centres = groups[np.arange(N_CENTRES) % N_GROUPS] + CENTRE_SPREAD * rng.normal(size=(N_CENTRES, N_DIMENSIONS))
    of_label = rng.integers(0, N_CENTRES, N_SYNTHETIC)
    vectors = LABEL_SPREAD * rng.standard_normal((N_SYNTHETIC, N_DIMENSIONS), np.float32)
    vectors += centres.astype(np.float32)[of_label]
    labels = LabelSpace([f"topic {centre} label {label}" for label, centre in enumerate(of_label.tolist())])
    columns = (N_SYNTHETIC * rng.random(200_000) ** 3).astype(np.int32)
    Y = sparse.csr_array((np.ones(len(columns), np.float32), columns, np.arange(len(columns) + 1)), None)
    Y.resize((len(columns), N_SYNTHETIC))
    split = Split(sparse.csr_array((len(columns), 1), dtype=np.float32), Y, labels, Features(1))
    return LabelVectors(normalise_rows(vectors), "synthetic vectors"), Dataset("million", split, split)


def rank_co_labels(layout: Any, dataset: Any, n_pairs: int = 2_000) -> float | None:
    """Return the mean share of labels that lie nearer than a label of the same test document; None without pairs."""
    placed = np.zeros(len(dataset.labels), bool)
    placed[layout.ids] = True
    keys = [_list_pairs(split.Y, placed) for split in (dataset.test, dataset.train)]
    unknown = np.setdiff1d(*keys)
    if not len(unknown):
        return None
    drawn = np.random.default_rng(0).permutation(unknown)[:n_pairs]
    ones, others = (np.searchsorted(layout.ids, part) for part in np.divmod(drawn, len(dataset.labels)))
    shares = []
    for one, other in zip(ones.tolist(), others.tolist(), strict=True):
        apart = np.linalg.norm(layout.positions - layout.positions[one], axis=1)
        shares.append((apart < apart[other]).mean())
    return round(float(np.mean(shares)), 4)


def _list_pairs(Y: sparse.csr_array, placed: np.ndarray) -> np.ndarray:
    """Return the pairs of different labels that share a document, as one × n_labels + other."""
    ones, others = sparse.coo_array(Y.T @ Y).coords
    kept = (ones != others) & placed[ones] & placed[others]
    return ones[kept].astype(np.int64) * Y.shape[1] + others[kept]


def measure(size: str, shared: Path, max_umap_labels: int | None, source: str) -> dict[str, Any]:
    """Return the figures of one size."""
    from xcwork.analysis.layout_quality import measure_layout_quality
    from xcwork.layout.label_layout import MAX_REDUCTION_LABELS, compute_label_layout
    from xcwork.layout.label_vectors import LabelVectors
    from xcwork.layout.reduction import reduce_vectors
    from xcwork.layout.regions import find_regions
    from xcwork.layout.sampling import sample_labels

    if size == "million":
        vectors, dataset = make_million()
    else:
        dataset = load_labels(size, shared)
        vectors = None
    before, load = peak_memory_mb(), os.getloadavg()[0]
    frequencies = dataset.train.label_frequencies
    with timed() as time:
        if vectors is None:
            train = dataset.train if source == "documents" else None
            vectors = LabelVectors.from_method(None, dataset.labels, train)
        layout = compute_label_layout(vectors, frequencies, max_umap_labels=max_umap_labels)
    with timed() as regions_time:
        regions = find_regions(layout, dataset)
    peak = peak_memory_mb()
    # The very reduction that the layout was made of: another sample would give other directions.
    sample = sample_labels(frequencies[layout.ids], MAX_REDUCTION_LABELS)
    reduced = reduce_vectors(vectors.vectors, layout.ids, sample)
    quality = measure_layout_quality(reduced, layout.positions)
    return {
        "labels": len(layout.ids),
        "data": size,
        "vectors": vectors.source,
        "laid out": layout.n_laid_out,
        "layout s": round(time.seconds, 1),
        "layout CPU s": round(time.cpu_seconds, 1),
        "regions s": round(regions_time.seconds, 1),
        "regions": len(regions.regions),
        "MB before": round(before),
        "MB at most": round(peak),
        "adrift": layout.n_adrift,
        "neighbours kept": round(quality.neighbours_kept, 4),
        "trustworthiness": round(quality.trustworthiness, 4),
        "continuity": round(quality.continuity, 4),
        "load": round(load, 1),
        "co-labels": None if size == "million" else rank_co_labels(layout, dataset),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--vectors", default="documents", choices=("documents", "texts"))
    parser.add_argument("--max-umap-labels", type=int, help="lay out so many; by default as the product does")
    parser.add_argument("--one", choices=SIZES, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.shared, arguments.max_umap_labels, arguments.vectors)))
        return
    rows = earlier(arguments.out).get("rows", [])
    for size in arguments.sizes:
        limits = ["--vectors", arguments.vectors]
        if arguments.max_umap_labels is not None:
            limits += ["--max-umap-labels", str(arguments.max_umap_labels)]
        own = ["--one", size, "--shared", str(arguments.shared), *limits]
        command = [sys.executable, "-m", "benchmarks.label_layout", *own]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        row = json.loads(done.stdout.splitlines()[-1])
        key = [row[name] for name in KEY]
        rows = [other for other in rows if [other.get(name) for name in KEY] != key] + [row]
        facts = conditions()
        print(markdown_table([row]), flush=True)
        if arguments.out:
            write_json(arguments.out, {"conditions": facts, "rows": rows})
    print(described(conditions()))


if __name__ == "__main__":
    main()
