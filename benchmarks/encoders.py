"""What a sentence encoder is worth and what it costs, beside tf-idf, BM25 and SiameseXML.

    python -m benchmarks.encoders DATA … [--rows tfidf,bm25,…] [--seeds 0,1,2] [--test 1000] [--unseen] [--speed]
                                         [--out results/encoders.json]

Rows are methods with their defaults, and variants of the two that use the encoder: `sentence only` is sentence_match
without the tf-idf cosine. P@1 and P@5 are of all labels, and of unseen labels among themselves; a row that depends on
the seed has one cell per seed. `--test` takes a sample of the test documents, the same for all rows. Embeddings come
from the cache of the dataset, so the cost of embedding is measured apart: `--speed` encodes some documents and some
labels in float32, bfloat16 and (dynamic) int8 and compares the embeddings, by their cosine with float32 and by how
often the nearest other text is the same. `--unseen` embeds the unseen labels alone and measures only their ranking,
which is the same as with all labels: with 50,000 labels that saves most of the embedding.

The cells of a file that exists are kept, so a run may add datasets, rows and seeds. All times are processor
seconds.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import conditions, described, earlier, markdown_table, timed, write_json
from xcwork.core.dataset import Dataset

ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "tfidf": ("tfidf", {}),
    "bm25": ("bm25", {}),
    "sentence only": ("sentence_match", {"words": 0.0}),
    "sentence_match": ("sentence_match", {}),
    "siamesexml": ("siamesexml", {}),
    "siamesexml start=sentence": ("siamesexml", {"start": "sentence"}),
}
SEEDED = {"siamesexml", "siamesexml start=sentence"}
PRECISIONS = ("float32", "bfloat16", "int8")
SPEED_DOCUMENTS, SPEED_LABELS = 128, 512


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", nargs="+", help="dataset names or paths")
    options.add_argument("--rows", default=",".join(ROWS), help="names, separated by commas")
    options.add_argument("--seeds", default="0,1,2", help="numbers, separated by commas")
    options.add_argument("--test", type=int, help="number of test documents (all)")
    options.add_argument("--unseen", action="store_true", help="measure the ranking of unseen labels only")
    options.add_argument("--speed", action="store_true", help="measure the encoder instead")
    options.add_argument("--out", type=Path, help="also write the figures to this file")
    chosen = options.parse_args()
    stored = earlier(chosen.out)
    cells = {_key(cell): cell for cell in stored.get("cells", [])}
    speeds = {(cell["dataset"], cell["texts"], cell["precision"]): cell for cell in stored.get("speed", [])}
    for data in chosen.data:
        found = measure_speed(data) if chosen.speed else measure_quality(data, chosen)
        for cell in found:
            if chosen.speed:
                speeds[cell["dataset"], cell["texts"], cell["precision"]] = cell
            else:
                cells[_key(cell)] = cell
            if chosen.out:
                content = {"cells": list(cells.values()), "speed": list(speeds.values()), "conditions": conditions()}
                write_json(chosen.out, content)
    for rows in (summarise(list(cells.values())), list(speeds.values())):
        if rows:
            print(markdown_table(rows), end="\n\n")
    print(described(conditions()))


def _key(cell: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[name] for name in ("dataset", "row", "seed"))


def measure_quality(data: str, chosen: argparse.Namespace) -> Any:
    """Yield a cell for each row and seed."""
    from xcwork.data.load import load_dataset
    from xcwork.methods.registry import create
    from xcwork.metrics import evaluate

    dataset = load_dataset(data)
    n_test = len(dataset.test)
    if chosen.test and chosen.test < n_test:
        drawn = np.sort(np.random.default_rng(0).permutation(n_test)[: chosen.test])
        dataset = replace(dataset, test=dataset.test.take(drawn))
    if chosen.unseen:
        dataset = keep_unseen(dataset)
    for row in chosen.rows.split(","):
        method, params = ROWS[row]
        for seed in map(int, chosen.seeds.split(",")) if row in SEEDED else [0]:
            with timed() as training:
                model = create(method, **params, seed=seed).fit(dataset.train)
            with timed() as testing:
                report = evaluate(model, dataset)
            yield {
                "dataset": dataset.name,
                "row": row,
                "seed": seed,
                "n train": len(dataset.train),
                "n test": len(dataset.test),
                "n test of the dataset": n_test,
                "n labels": len(dataset.labels),
                "n unseen labels": len(dataset.unseen_labels),
                "n documents with unseen labels": report.n_unseen_documents,
                "P@1": None if chosen.unseen else report.metrics["P@1"],
                "P@5": None if chosen.unseen else report.metrics["P@5"],
                "unseen P@1": report.unseen.get("P@1"),
                "unseen P@5": report.unseen.get("P@5"),
                "training_cpu_seconds": round(training.cpu_seconds, 2),
                "evaluation_cpu_seconds": round(testing.cpu_seconds, 2),
            }
            print(f"{dataset.name}, {row}, seed {seed}: {report.metrics['P@1']:.2f} {report.unseen}", flush=True)


def keep_unseen(dataset: Dataset) -> Dataset:
    """Return the test documents with an unseen label, and labels of which only the unseen ones have a text to embed.

    Features stay, so that methods that count words see what they always see.
    """
    is_unseen = dataset.train.label_frequencies == 0
    texts = [text if unseen else "" for text, unseen in zip(dataset.labels.texts, is_unseen, strict=True)]
    labels = replace(dataset.labels, texts=texts)
    wanted = np.flatnonzero(dataset.test.Y @ is_unseen.astype(np.float32))
    train, test = replace(dataset.train, labels=labels), replace(dataset.test, labels=labels).take(wanted)
    return replace(dataset, train=train, test=test)


def measure_speed(data: str) -> Any:
    """Yield milliseconds per text and faithfulness for each precision, of documents and of labels."""
    import torch
    from sentence_transformers import SentenceTransformer

    from xcwork.data.load import load_dataset
    from xcwork.methods.common.sentence_encoder import SentenceEncoder, embed_directions, find_encoder_folder

    torch.set_num_threads(1)
    dataset = load_dataset(data)
    rng = np.random.default_rng(0)
    texts = {
        "documents": [dataset.train.texts[i] for i in rng.permutation(len(dataset.train))[:SPEED_DOCUMENTS]],
        "labels": [dataset.labels.texts[i] for i in rng.permutation(len(dataset.labels))[:SPEED_LABELS]],
    }
    for kind, sample in texts.items():
        exact = np.empty((0, 0))
        for precision in PRECISIONS:
            model = SentenceTransformer(str(find_encoder_folder(None, "the benchmark")), device="cpu")
            if precision == "int8":
                model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
            else:
                model = model.to(getattr(torch, precision))
            encoder = SentenceEncoder(model, "benchmark", precision)
            embed_directions(sample[:8], encoder)
            with timed() as timing:
                rows = embed_directions(sample, encoder)
            exact = rows if precision == "float32" else exact
            cosines = (rows * exact).sum(axis=1)
            yield {
                "dataset": dataset.name,
                "texts": kind,
                "precision": precision,
                "n texts": len(sample),
                "ms per text": round(1000 * timing.cpu_seconds / len(sample), 3),
                "mean cosine": round(float(cosines.mean()), 5),
                "lowest cosine": round(float(cosines.min()), 5),
                "same nearest": round(100 * float((_find_nearest(rows) == _find_nearest(exact)).mean()), 2),
            }


def _find_nearest(rows: np.ndarray) -> np.ndarray:
    return (rows @ rows.T - 4 * np.eye(len(rows))).argmax(axis=1)


def summarise(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per dataset and method: means over seeds, with the standard deviation where there are several."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["dataset"], cell["row"]), []).append(cell)
    rows = []
    for (dataset, row), found in groups.items():
        facts: dict[str, Any] = {"dataset": dataset, "row": row, "seeds": len(found), "test": found[0]["n test"]}
        for name in ("P@1", "P@5", "unseen P@1", "unseen P@5", "training_cpu_seconds"):
            values = [cell[name] for cell in found if cell[name] is not None]
            spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
            facts[name.replace("_cpu_seconds", " CPU s")] = f"{np.mean(values):.2f}{spread}" if values else None
        rows.append(facts)
    return rows


if __name__ == "__main__":
    main()
