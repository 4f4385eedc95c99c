"""Does the review queue find label errors, and does it find more of them than cleanlab?

    pip install .[peers]
    python -m benchmarks.review DATA [--seeds 1 2 3] [--share 0.05] [--folds 3] [--documents N] [--predictions FOLDER]
        [--out FILE.json]

Errors are planted into the training split (`xcwork.studies.planted_errors`): 5 % of its labels are drawn, one half is
deleted, the other half swapped for labels of similar frequency. A label tree predicts every document out of fold,
trained on the planted labels. Both programs rank the same pairs of document and label by these predictions:

- the queues *missing* and *wrong* of `xcwork.review`, with its own estimate of the probabilities; *missing* goes on
  below the probability at which the queue ends, so that every band has a thousand entries;
- cleanlab's scores per class (`multilabel_classification.rank.get_label_quality_scores_per_class`), low ones first, as
  they are and with `adjust_pred_probs`, which subtracts a threshold per class; given the scores of the label tree as
  probabilities, or these after the isotonic fit that the queues use. Its three methods of scoring give the same
  order within a class, so one is measured. cleanlab wants dense arrays (documents × labels); it gets blocks of labels,
  which changes nothing, because every class is scored by itself. Labels without a document are left out.

Where cleanlab gives equal scores, as to all labels that are not listed, their order is random. The figure is the
percentage of planted errors among the first 100 and 1,000 entries; a band has a queue of its own. The constants of the
queue were chosen on `--documents 15000 --seeds 100`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks._common import conditions, described, markdown_table, timed, versions, write_json
from xcwork.core.bands import Bands, make_absolute_bands
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.data.load import load_dataset
from xcwork.methods.label_tree import LabelTree
from xcwork.review.evidence import LabelEvidence
from xcwork.review.out_of_fold import predict_out_of_fold
from xcwork.review.queue import MIN_FOUND
from xcwork.studies.planted_errors import PlantedErrors, measure_precision, plant_errors

BLOCK_LABELS = 250  # that cleanlab gets at a time
SEED_OF_SUBSET = 99
N_PREDICTIONS = 50
FIRSTS = (100, 1000)


def measure_seed(
    train: Split, share: float, n_folds: int, seed: int, with_cleanlab: bool, kept: Path | None
) -> list[dict[str, Any]]:
    """Return the precision of all rankings on the errors of one seed."""
    planted = plant_errors(train, share=share, seed=seed)
    topk = _predict(planted.split, n_folds, seed, kept)
    bands = make_absolute_bands(planted.split.label_frequencies)
    rows = []
    with timed() as timing:
        evidence = LabelEvidence.from_predictions(topk, planted.split)
        rankings = {"missing": evidence.find_missing(), "wrong": evidence.find_wrong(min_found=MIN_FOUND)}
    for queue, found in rankings.items():
        best = found.take_strongest(len(found))
        pairs = np.column_stack([best.documents, best.labels])
        rows += _measure(planted, pairs, bands, queue, "xcwork review", timing.seconds, seed)
    if with_cleanlab:
        for given, probabilities in (("scores", topk.scores), ("isotonic", evidence.probabilities)):
            for is_adjusted in (False, True):
                rows += _measure_cleanlab(planted, topk, probabilities, bands, given, is_adjusted, seed)
    return rows


def _predict(split: Split, n_folds: int, seed: int, kept: Path | None) -> TopK:
    """Return out-of-fold predictions for a split: trained now, or kept from an earlier run on the same labels."""
    file = None if kept is None else kept / f"{split.fingerprint}-{n_folds}-{seed}.npz"
    if file is not None and file.is_file():
        with np.load(file) as stored:
            return TopK(stored["ids"], stored["scores"])
    topk = predict_out_of_fold(
        lambda: LabelTree(trees=1, branching=4, power=3), split, n_folds=n_folds, k=N_PREDICTIONS, seed=seed
    )
    if file is not None:
        np.savez(file, ids=topk.ids, scores=topk.scores)
    return topk


def _measure_cleanlab(
    planted: PlantedErrors,
    topk: TopK,
    probabilities: np.ndarray,
    bands: Bands,
    given: str,
    is_adjusted: bool,
    seed: int,
) -> list[dict[str, Any]]:
    with timed() as timing:
        found = list(_score_blocks(planted.split, topk, probabilities, is_adjusted))
    rows, rng = [], np.random.default_rng(seed)
    for queue, is_annotated in (("missing", False), ("wrong", True)):
        chosen = [block for block in found if block[0] == is_annotated]
        pairs, quality = (np.concatenate([block[part] for block in chosen]) for part in (1, 2))
        order = np.lexsort((rng.random(len(quality)), quality))
        name = f"cleanlab, {given}{', adjusted' if is_adjusted else ''}"
        rows += _measure(planted, pairs[order], bands, queue, name, timing.seconds, seed)
    return rows


def _score_blocks(
    split: Split, topk: TopK, probabilities: np.ndarray, is_adjusted: bool
) -> Iterator[tuple[bool, np.ndarray, np.ndarray]]:
    """Yield (annotated or not, pairs, quality) of the annotated and of the predicted pairs, by blocks of labels."""
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    occurring = np.flatnonzero(split.label_frequencies)
    given = replace(topk, scores=np.clip(probabilities, 0.0, 1.0)).to_csr(split.n_labels).tocsc()
    annotated = split.Y.tocsc()
    for block in np.array_split(occurring, -(-len(occurring) // BLOCK_LABELS)):
        dense, part = given[:, block].toarray().astype(np.float64), annotated[:, block].tocsr()
        labels = [part.indices[part.indptr[i] : part.indptr[i + 1]].tolist() for i in range(len(split))]
        quality = np.asarray(get_label_quality_scores_per_class(labels, dense, adjust_pred_probs=is_adjusted))
        quality = quality if quality.shape == dense.shape else quality.T
        is_annotated = part.toarray() > 0
        for wanted, mask in ((True, is_annotated), (False, ~is_annotated & (dense > 0))):
            documents, columns = np.nonzero(mask)
            yield wanted, np.column_stack([documents, block[columns]]), quality[documents, columns]


def _measure(
    planted: PlantedErrors, pairs: np.ndarray, bands: Bands, queue: str, system: str, seconds: float, seed: int
) -> list[dict[str, Any]]:
    errors = planted.missing if queue == "missing" else planted.wrong
    figures = measure_precision(pairs, errors, planted.split.n_labels, firsts=FIRSTS, bands=bands)
    facts = {"queue": queue, "system": system, "seed": seed, "planted": len(errors), "ranking s": round(seconds, 2)}
    return [facts | figure for figure in figures]


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per queue, system and number of entries: mean ± sd over the seeds, over all labels and by band."""
    table = []
    for queue, system, first in dict.fromkeys((row["queue"], row["system"], row["first"]) for row in rows):
        line: dict[str, Any] = {"queue": queue, "system": system, "first": first}
        for band in dict.fromkeys(row["band"] for row in rows):
            same = [row for row in rows if (row["queue"], row["system"], row["first"]) == (queue, system, first)]
            values = [row["precision"] for row in same if row["band"] == band and row["entries"]]
            line[band] = None if not values else f"{mean(values):.1f}" + _describe_spread(values)
        table.append(line)
    return table


def _describe_spread(values: list[float]) -> str:
    return f" ± {stdev(values):.1f}" if len(values) > 1 else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a dataset; its training split is used")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--share", type=float, default=0.05, help="of the labels that become errors")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--documents", type=int, help="use a random subset of this size")
    parser.add_argument("--predictions", type=Path, help="folder that keeps the predictions of the label tree")
    parser.add_argument("--no-cleanlab", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    dataset = load_dataset(chosen.data)
    train = dataset.train
    if chosen.documents is not None:
        drawn = np.random.default_rng(SEED_OF_SUBSET).permutation(len(train))[: chosen.documents]
        train = train.take(np.sort(drawn))
    rows = []
    for seed in chosen.seeds:
        rows += measure_seed(train, chosen.share, chosen.folds, seed, not chosen.no_cleanlab, chosen.predictions)
    table = summarise(rows)
    facts = conditions(versions=versions("cleanlab"), data=dataset.name, documents=len(train), share=chosen.share)
    print(markdown_table(table))
    print(described(facts))
    if chosen.out is not None:
        write_json(chosen.out, {**facts, "folds": chosen.folds, "seeds": chosen.seeds, "table": table, "rows": rows})


if __name__ == "__main__":
    main()
