"""Learning from aggregated labels: the paper's table 2 (oracle, baseline, EAGLE-0 and EAGLE under several groupings).

    python -m benchmarks.eagle DATA … [--groups R-4,R-10,C-8] [--learner label_tree] [--learner-params trees=1]
                               [--assign top_c|one|outstanding] [--merge list|set] [--variants oracle;baseline;EAGLE]
                               [--seeds 1] [--steps 20] [--idf] [--option name=value …] [--out FILE.json]

R-g puts g training documents drawn at random into a group, C-d makes 2^d groups by hierarchical balanced 2-means; test
documents are never grouped. The learner sees the true labels (oracle), all labels of the group (baseline), or those
that EAGLE assigns, without steps (EAGLE-0) and with them (EAGLE), as in the paper; and with documents centred first,
where a label goes to as many members as have it (`--assign one`: to one, as in the paper). *precision* is the
share of the pairs a learner was given that are true. `--idf` weighs ready-made features by their inverse document
frequency. Every row is the mean over `--seeds` runs, ± the standard deviation of P@1 over them. Kernels are
compiled before the clock starts; times are those of this machine at this load.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import conditions, described, markdown_table, peak_memory_mb, timed, write_json
from xcwork.studies.eagle import VARIANTS, compare_variants

NAMES = {"bibtex": "Bibtex", "delicious": "Delicious", "eurlex57k": "EURLEX57K"}
WARM_UP = 400  # documents
MEASURED = ("P@1", "P@3", "P@5", "assignment_precision", "pairs", "preprocessing_seconds", "training_seconds")


def grouped(train: Any, grouping: str, seed: int) -> Any:
    """The training documents in the groups that `R-4` or `C-8` stands for."""
    from xcwork.data.groups import cluster_into_groups, draw_random_groups

    kind, _, number = grouping.partition("-")
    return {"R": draw_random_groups, "C": cluster_into_groups}[kind](train, int(number), seed=seed)


def weighted(dataset: Any) -> Any:
    """The dataset with features weighed by their (smoothed) inverse document frequency in the training split."""
    found = np.bincount(dataset.train.X.indices, minlength=dataset.features.size)
    idf = sparse.diags_array(np.log((1 + len(dataset.train)) / (1 + found)) + 1)
    parts = [
        replace(part, X=sparse.csr_array(part.X @ idf).astype(np.float32)) for part in (dataset.train, dataset.test)
    ]
    return replace(dataset, train=parts[0], test=parts[1])


def rows_of(
    dataset: Any, grouping: str, variants: list[str], seeds: int, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """One row a variant."""
    import pandas as pd

    frames, clock = [], 0.0
    for seed in range(seeds):
        with timed() as grouping_time:
            split = grouped(dataset.train, grouping, seed)
        clock += grouping_time.seconds / seeds
        frames.append(compare_variants(dataset, split, variants=variants, seed=seed, **options))
    runs = pd.concat(frames).groupby("method", sort=False)
    means = runs[list(MEASURED)].mean(numeric_only=True)
    means = means.assign(deviation=runs["P@1"].std(), each=runs["P@1"].agg(list))
    print(f"{grouping}: grouped in {clock:.1f} s, at most {peak_memory_mb():.0f} MB so far", flush=True)
    return [{"groups": grouping, "method": name, **row} for name, row in means.to_dict("index").items()]


def table_of(rows: list[dict[str, Any]]) -> str:
    shown = [
        {
            "groups": row["groups"],
            "method": row["method"],
            "P@1": row["P@1"],
            "±": row["deviation"],
            "P@3": row["P@3"],
            "P@5": row["P@5"],
            "precision": row["assignment_precision"],
            "pairs": round(row["pairs"]),
            "preprocessing s": row["preprocessing_seconds"],
            "training s": row["training_seconds"],
        }
        for row in rows
    ]
    return markdown_table(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--groups", default="R-4,R-10,C-8", help="groupings separated by commas")
    parser.add_argument("--variants", default=";".join(VARIANTS), help="separated by semicolons")
    parser.add_argument("--idf", action="store_true", help="weigh features by inverse document frequency")
    parser.add_argument("--learner", default="label_tree", help="any registered method")
    parser.add_argument("--learner-params", default="", help="its parameters as name=value,…")
    parser.add_argument(
        "--assign", default="top_c", choices=("one", "top_c", "outstanding"), help="of the centred variants"
    )
    parser.add_argument("--steps", type=int, default=20, help="of EAGLE; the paper takes 5 for large clusters")
    parser.add_argument("--merge", default="list", choices=("list", "set"))
    parser.add_argument("--seeds", type=int, default=1, help="runs to average over")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="for the reader of the data"
    )
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()

    import xcwork
    from xcwork.options import parse_data_options

    facts, tables = conditions(), {}
    settings = {name: getattr(options, name) for name in ("learner", "learner_params", "merge", "assign", "steps")}
    variants = [name for name in options.variants.split(";") if name != "oracle"]
    for source in options.data:
        dataset = xcwork.load_dataset(source, **parse_data_options(options.option))
        if options.idf:
            dataset = weighted(dataset)
        small = dataset.train.take(range(min(WARM_UP, len(dataset.train))))
        rows_of(xcwork.Dataset("small", small, small), "R-4", ["EAGLE"], 1, settings)
        rows = []
        if "oracle" in options.variants:
            rows = [row | {"groups": "–"} for row in rows_of(dataset, "R-1", ["oracle"], options.seeds, settings)]
        for grouping in options.groups.split(","):
            rows += rows_of(dataset, grouping, variants, options.seeds, settings)
        tables[source] = rows
        print(f"\n### {Path(source).name}\n\n{table_of(rows)}\n\n{described(facts)}", flush=True)
    if options.out:
        shown = [
            {
                "data": NAMES.get(Path(source).name, Path(source).name),
                "groups": row["groups"],
                "method": row["method"],
                **{f"P@{k}": f"{row[f'P@{k}']:.2f}" for k in (1, 3, 5)},
                "± of P@1": None if row["deviation"] is None else f"{row['deviation']:.2f}",
                "right, %": f"{row['assignment_precision']:.1f}",
            }
            for source, rows in tables.items()
            for row in rows
        ]
        write_json(options.out, {"conditions": facts, "settings": settings, "tables": tables, "rows": shown})


if __name__ == "__main__":
    main()
