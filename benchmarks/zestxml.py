"""ZestXML on EURLEX57K beside the published figures and the reference program, and how it grows with the label set.

    python -m benchmarks.zestxml EURLEX_FOLDER [--set name=value …] [--out FILE.json]
    python -m benchmarks.zestxml --growth 10000,100000,1000000 [--out FILE.json]

The first form turns the texts into features once (stems; 50,000 single words and 50,000 pairs, label terms besides) and
trains each variant in a process of its own, from the matrices alone, so time and peak memory are those of the method.
"Unseen" means that the labels no training document carries, and no others, compete; averaged over documents that have
one. Recall is that of the shortlist, the ceiling of P@k. Parameters were chosen on a validation part of the training
documents. Rows in italics are not measured here.

The second form trains on synthetic data with as many documents as labels and shows time and memory for each size.
Kernels are compiled on a small part of the data before any clock starts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks._common import conditions, described, folder_bytes, markdown_table, peak_memory_mb, timed, write_json

VECTORIZER = {"stem": True, "max_features": 50_000}
VARIANTS = ("xhtp", "tuned")
WARM_UP = 200  # documents
GROWTH_PARAMS = {"pairs": 20, "shortlist": 100, "max_weights": 100, "max_passes": 8, "epsilon": 0.003, "borrow": False}
GROWTH_TEST_SHARE = 0.01
COLUMNS = (
    "system",
    "P@1",
    "P@3",
    "P@5",
    "PSP@5",
    "unseen P@1",
    "unseen P@5",
    "unseen documents",
    "recall",
    "unseen recall",
    "train s",
    "train CPU s",
    "ms/document",
    "peak MB",
    "model MB",
)
GROWTH_COLUMNS = (
    "labels",
    "documents",
    "features",
    "P@1",
    "unseen P@5",
    "recall",
    "data s",
    "train s",
    "train CPU s",
    "ms/document",
    "peak MB",
    "of which data MB",
    "model MB",
)
NOT_MEASURED_HERE = (
    "Italics: the paper's own figures (Gupta et al., KDD 2021), and the authors' C++ program on two cores with its "
    "settings for this dataset and 100,000 features, run on another occasion."
)
PUBLISHED = (
    {"system": "*paper, shortlister only*", "P@1": 71.50, "P@3": 57.61, "P@5": 47.85},
    {"system": "*paper, tuned*", "P@1": 91.42, "P@3": 82.36, "P@5": 69.50, "unseen P@5": 12.81},
    {
        "system": "*reference program, shortlister only*",
        "P@1": 78.35,
        "P@3": 64.69,
        "P@5": 53.62,
        "recall": 95.1,
        "unseen recall": 27.0,
        "train s": 13.0,
        "peak MB": 500.0,
    },
    {
        "system": "*reference program, tuned*",
        "P@1": 91.82,
        "P@3": 82.17,
        "P@5": 68.80,
        "unseen P@1": 24.7,
        "unseen P@5": 9.4,
        "recall": 95.1,
        "unseen recall": 27.0,
        "train s": 583.0,
        "ms/document": 1.05,
        "peak MB": 15_700.0,
    },
    {
        "system": "*reference program, its own text recipe*",
        "P@1": 92.23,
        "P@3": 82.30,
        "P@5": 69.12,
        "unseen P@1": 29.2,
        "unseen P@5": 12.4,
        "unseen recall": 43.0,
        "train s": 773.0,
        "ms/document": 1.8,
        "peak MB": 17_100.0,
    },
)


def figures(dataset: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Train, evaluate and weigh one model."""
    import xcwork

    loaded = peak_memory_mb()
    small = dataset.train.take(range(min(WARM_UP, len(dataset.train))))
    xcwork.create("zestxml", **params).fit(small).predict(small, k=5)
    model = xcwork.create("zestxml", **params)
    with timed() as training:
        model.fit(dataset.train)
    report = xcwork.evaluate(model, dataset, k=5)
    peak = peak_memory_mb()
    recall = model.diagnose(dataset.test)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = folder_bytes(Path(folder))
    return {
        **{name: report.metrics[name] for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")},
        "unseen P@1": report.unseen["P@1"],
        "unseen P@5": report.unseen["P@5"],
        "unseen documents": report.n_unseen_documents,
        "recall": recall["shortlist recall"],
        "unseen recall": recall.get("shortlist recall, unseen labels"),
        "train s": training.seconds,
        "train CPU s": training.cpu_seconds,
        "ms/document": report.predict_ms_per_document,
        "peak MB": peak,
        "of which data MB": loaded,
        "model MB": size / 1e6,
        "params": model.get_params(),
        "shots": report.shots,
    }


def eurlex_row(folder: str, variant: str, settings: list[str]) -> dict[str, Any]:
    """One variant, trained from the stored matrices."""
    from xcwork.core.dataset import Dataset
    from xcwork.methods import find_method_class

    known = find_method_class("zestxml").parameters()
    params = {name: known[name].parse(value) for name, value in (one.split("=", 1) for one in settings)}
    return {"system": f"**xcwork, {variant}**", **figures(Dataset.load(folder), {"variant": variant, **params})}


def growth_row(n_labels: int) -> dict[str, Any]:
    """One size of the synthetic data."""
    from xcwork.data.synthetic import make_synthetic

    with timed() as making:
        dataset = make_synthetic(n_documents=n_labels, n_labels=n_labels, test_share=GROWTH_TEST_SHARE, seed=1)
    row = figures(dataset, GROWTH_PARAMS)
    return {
        "labels": n_labels,
        "documents": len(dataset.train),
        "features": dataset.features.size,
        "data s": making.seconds,
        **row,
    }


def in_own_process(*arguments: str) -> dict[str, Any]:
    """A row measured in a process of its own, whose peak memory is therefore its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.zestxml", *arguments], capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def eurlex(folder: str, settings: list[str]) -> list[dict[str, Any]]:
    import xcwork

    dataset = xcwork.load_dataset(folder, vectorizer=VECTORIZER)
    bare = replace(dataset, train=replace(dataset.train, texts=None), test=replace(dataset.test, texts=None))
    with tempfile.TemporaryDirectory() as place:
        bare.save(Path(place) / "matrices")
        options = [part for one in settings for part in ("--set", one)]
        ours = [in_own_process(str(Path(place) / "matrices"), "--one", variant, *options) for variant in VARIANTS]
    return [*PUBLISHED, *ours]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="the folder of EURLEX57K")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameters of the method")
    parser.add_argument("--growth", metavar="SIZES", help="numbers of labels, separated by commas")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        row = growth_row(int(options.one)) if options.growth else eurlex_row(options.data, options.one, options.set)
        print(json.dumps(row))
        return
    if options.growth:
        rows = [in_own_process("--growth", "one", "--one", size) for size in options.growth.split(",")]
        columns, note = GROWTH_COLUMNS, ""
    elif options.data:
        rows, columns, note = eurlex(options.data, options.set), COLUMNS, f"{NOT_MEASURED_HERE}\n\n"
    else:
        parser.error("give the folder of EURLEX57K, or --growth")
    facts = conditions()
    print(f"{markdown_table(rows, columns)}\n\n{note}{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
