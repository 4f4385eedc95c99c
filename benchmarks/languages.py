"""What reading texts in their own language is worth: P@1, 3, 5 for each language, before and after.

    python -m benchmarks.languages DATA … [--methods label_tree,zestxml] [--train 12000] [--readings english,own]
                                          [--seeds 0] [--development] [--out results/languages.json]

Each dataset is built from the same texts by several readings: `english` (stop words of English, no stems: as if every
text were English), `own` (the default), `words` (stop words of the language, no stems, no parts of compounds), `stems`
(the default without parts of compounds), `pieces` (the default and pieces of five characters of long words). Methods
have their defaults; the vocabulary is learned from the training documents alone. A fifth of the training documents is
held out to test on, and `--train` takes that many of the others; `--development` trains on all and tests on the test
split instead. The language of a document is the recognised one.

The cells of a file that exists are kept, so a run may add datasets, methods, readings and seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import conditions, described, earlier, markdown_table, timed, write_json

READINGS: dict[str, dict[str, Any]] = {
    "english": {"language": "en"},
    "own": {},
    "words": {"stem": False, "compounds": False},
    "stems": {"compounds": False},
    "pieces": {"char_ngrams": 5},
}
CUTOFFS = (1, 3, 5)
HELD_OUT = 0.2  # of the training documents
ANY = "all"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", nargs="+", help="dataset names or paths")
    options.add_argument("--methods", default="label_tree,zestxml", help="names, separated by commas")
    options.add_argument("--readings", default="english,own", help=f"of {', '.join(READINGS)}, separated by commas")
    options.add_argument("--seeds", default="0", help="numbers, separated by commas")
    options.add_argument("--train", type=int, help="number of training documents (all)")
    options.add_argument("--development", action="store_true", help="test on the test split")
    options.add_argument("--out", type=Path, help="also write the figures to this file")
    chosen = options.parse_args()
    stored = earlier(chosen.out)
    cells = {_key(cell): cell for cell in stored.get("cells", [])}
    for data in chosen.data:
        for reading in chosen.readings.split(","):
            for cell in measure(data, reading, chosen):
                cells[_key(cell)] = cell
                if chosen.out:
                    write_json(chosen.out, {"cells": list(cells.values()), "conditions": conditions()})
    facts = conditions()
    print(markdown_table([row for cell in cells.values() for row in _rows(cell)]))
    print(f"\n{described(facts)}")


def _key(cell: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[name] for name in ("dataset", "tested on", "n train", "reading", "method", "seed"))


def _rows(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each language of a cell."""
    names = ("dataset", "n train", "reading", "method", "seed")
    return [
        {name: cell[name] for name in names}
        | {"language": language, "documents": found["documents"]}
        | {f"P@{k}": found[f"P@{k}"] for k in CUTOFFS}
        | {"reading s": cell["reading_cpu_seconds"], "training s": cell["training_cpu_seconds"]}
        for language, found in cell["languages"].items()
    ]


def measure(data: str, reading: str, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a cell for each method and seed on a dataset that is read in one way."""
    from xcwork.data.build import build_dataset
    from xcwork.data.load import load_dataset
    from xcwork.methods.registry import create
    from xcwork.text.vectorizer import TextVectorizer

    source = load_dataset(data, language="en")  # its features are not used, and this reads fastest
    raw = take_texts(source, chosen.train, chosen.development)
    with timed() as building:
        dataset = build_dataset(raw, name=source.name, vectorizer=TextVectorizer(**READINGS[reading]))
    languages = recognise_test(dataset, raw)
    cells = []
    for method in chosen.methods.split(","):
        for seed in map(int, chosen.seeds.split(",")):
            model = create(method, seed=seed)
            with timed() as training:
                model.fit(dataset.train)
            hits = find_hits(model.predict(dataset.test, k=max(CUTOFFS)).ids, dataset.test.Y)
            cells.append(
                {
                    "dataset": source.name,
                    "tested on": "test split" if chosen.development else "held-out training documents",
                    "n train": len(dataset.train),
                    "reading": reading,
                    "read as": dataset.features.vectorizer.languages,
                    "method": method,
                    "seed": seed,
                    "n features": dataset.features.size,
                    "reading_cpu_seconds": round(building.cpu_seconds, 1),
                    "training_cpu_seconds": round(training.cpu_seconds, 1),
                    "languages": {
                        name: {"documents": int(rows.sum())}
                        | {f"P@{k}": round(100 * float(hits[rows, :k].mean()), 2) for k in CUTOFFS}
                        for name, rows in languages.items()
                    },
                }
            )
            print(cells[-1], flush=True)
    return cells


def take_texts(source: Any, n_train: int | None, development: bool) -> Any:
    """Return texts and labels of a dataset, before they become features."""
    from xcwork.data.hashing import hash_documents
    from xcwork.data.raw import RawDataset, RawLabels, RawSplit

    def pick(split: Any, rows: np.ndarray) -> RawSplit:
        taken = split.take(rows)
        return RawSplit(texts=taken.texts, Y=taken.Y)

    labels = RawLabels(names=source.labels.names, texts=source.labels.texts)
    if development:
        train, test = (pick(split, np.arange(len(split))) for split in (source.train, source.test))
        return RawDataset(train=train, test=test, labels=labels)
    hashes = hash_documents(X=None, texts=source.train.texts, uids=None, groups=None)
    is_held = hashes % np.uint64(1000) < np.uint64(1000 * HELD_OUT)  # other digits than those that made the test split
    held, rest = np.flatnonzero(is_held), np.flatnonzero(~is_held)
    rest = rest[np.argsort(hashes[rest])][:n_train]
    limit = len(held) if n_train is None else max(1000, n_train // 3)
    held = held[np.argsort(hashes[held])][:limit]
    return RawDataset(train=pick(source.train, np.sort(rest)), test=pick(source.train, np.sort(held)), labels=labels)


def recognise_test(dataset: Any, raw: Any) -> dict[str, np.ndarray]:
    """Return which test documents are in each language, as all readings are compared on the same ones."""
    from xcwork.text.reading import ReadingOptions, ReadingRules

    rules = ReadingRules.learn(raw.train.texts, ReadingOptions(compounds=False))
    found = rules.recognise(dataset.test.texts)
    every = {ANY: np.ones(len(dataset.test), bool)}
    return every if found is None else every | {code: found == at for at, code in enumerate(rules.languages)}


def find_hits(ids: np.ndarray, Y: Any) -> np.ndarray:
    """Return whether each predicted label is a true one, (n_documents, k)."""
    rows = np.arange(len(ids))[:, None]
    return (ids >= 0) & (np.asarray(Y[rows, np.maximum(ids, 0)].todense()) > 0)


if __name__ == "__main__":
    main()
