"""Linear methods computed by torch beside the compiled kernels, on the CPU and in one run: the same results? What time?

    python -m benchmarks.torch_paths DATA … [--documents N] [--test-documents N] [--methods "a;b"] [--seeds N]
        [--objectives N] [--out FILE.json]

DATA is what `xcwork train` takes, such as a folder or `synthetic:n_labels=100000`. With `--documents` only so many
training documents, drawn with seed 0, are used, and labels without any of them are left out. Each method trains and
predicts twice, once with compiled kernels and once with the tensors that an accelerator would get. Times are seconds of
processor time on the CPU and say nothing about a GPU; that results agree is what counts.

- `P@k`: where a method does not read label texts, labels with the same training documents have the same problem, and
  the same score up to where a solver stops. Which of such twins stands first is chance, so they share their ranks here:
  each has the mean score of the twins in the list, and those that fall across rank k count by their share. `plain P@k`
  is that of the list as it is.
- `--objectives`: the machines of one-vs-all of so many labels, from the most frequent to the rarest, are solved well
  and without pruning on both paths; their objectives, summed over the labels, are to be equal to 1e-4.
- `same first`: documents, in percent, whose first label is the same on both paths, or a twin of it.
- `--seeds`: the kernels are trained with further seeds too. They visit documents in random order and stop at a
  tolerance, so their own P@k differs from seed to seed; two paths cannot agree more closely than that.
- `same model`: the largest difference of a score when torch predicts with the model of the kernels.

Rows of data and methods that are in `--out` already are replaced, all others stay.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import xcwork
from benchmarks._common import conditions, described, markdown_table, timed, write_json
from xcwork.compute.device import compute_with_torch, resolve_device
from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import DataError
from xcwork.kernels.tensor_machines import MachineSettings
from xcwork.methods.base import Method
from xcwork.methods.common.linear_machines import TensorBlockTrainer
from xcwork.methods.common.one_vs_all_svm import BlockTrainer, SvmSettings
from xcwork.methods.registry import find_method_class
from xcwork.search import ExactIndex, top_k_product
from xcwork.sparse import normalise_rows

METHODS: dict[str, dict[str, Any]] = {
    "one_vs_all": {},
    "one_vs_all, tolerance 0.001": {"tolerance": 1e-3, "max_passes": 500},
    "label_tree": {"trees": 1},
    "label_tree, tolerance 0.001": {"trees": 1, "tolerance": 1e-3, "max_passes": 500},
    "label_tree, bonsai": {"kind": "bonsai", "trees": 1},
    "zestxml": {"shortlister": "exact"},
    "zestxml, logistic": {"shortlister": "exact", "loss": "logistic"},
    "nearest_documents": {},
    "bm25": {},
    "tfidf": {},
    "landmarks": {},
    "exact search": {},
    "exact search, float16": {"precision": "float16"},
    "exact search, bfloat16": {"precision": "bfloat16"},
}
SEARCHED_WIDTH = 128  # of the vectors of an exact search
NEAREST_DOCUMENTS = 10  # whose labels it finds
KS = (1, 3, 5)
LISTED = 50  # labels per document, so that the twins of the first ones are among them


def draw_documents(dataset: Dataset, n_train: int | None, n_test: int | None) -> tuple[Split, Split]:
    """Return some documents of both splits with the labels that the training documents have."""
    train, test = dataset.train, dataset.test
    if n_train is None or n_train >= len(train):
        return train, draw(test, n_test)
    train, test = draw(train, n_train), draw(test, n_test)
    labels = np.flatnonzero(train.label_frequencies)
    Z = None if train.labels.Z is None else sparse.csr_array(train.labels.Z[labels])
    names = [train.labels.names[label] for label in labels.tolist()]
    space = LabelSpace(names, Z=Z, features=train.labels.features)
    train, test = (
        replace(part, Y=sparse.csr_array(part.Y[:, labels]), labels=space, filter_pairs=None) for part in (train, test)
    )
    return train, test


def draw(split: Split, n: int | None) -> Split:
    """Return `n` documents drawn with seed 0."""
    if n is None or n >= len(split):
        return split
    return split.take(np.sort(np.random.default_rng(0).permutation(len(split))[:n]))


def number_twins(Y: sparse.csr_array) -> np.ndarray:
    """Return a number for each label, the same for labels that the same documents have, (n_labels,)."""
    by_label = sparse.csc_array(Y)
    numbers: dict[bytes, int] = {}
    found = np.arange(Y.shape[1])
    for label in np.flatnonzero(np.diff(by_label.indptr)).tolist():
        documents = np.sort(by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]])
        found[label] = numbers.setdefault(documents.tobytes(), label)
    return found


def measure_precision(best: TopK, Y: sparse.csr_array, twins: np.ndarray) -> dict[str, float]:
    """Return P@k in percent, with ranks that twins share, and that of the list as it is."""
    hits = np.zeros(len(KS))
    plain = np.zeros(len(KS))
    for row, (ids, scores) in enumerate(zip(best.ids, best.scores, strict=True)):
        ids, scores = ids[ids >= 0], scores[ids >= 0]
        is_right = np.isin(ids, Y.indices[Y.indptr[row] : Y.indptr[row + 1]])
        _, first, group, size = np.unique(twins[ids], return_index=True, return_inverse=True, return_counts=True)
        mean, share = (np.bincount(group, part) / size for part in (scores.astype(np.float64), is_right))
        order = np.lexsort((first, -mean))
        ends = np.cumsum(size[order])
        for at, k in enumerate(KS):
            within = np.clip(k - (ends - size[order]), 0, size[order])
            hits[at] += (within * share[order]).sum()
            plain[at] += is_right[:k].sum()
    n = len(best.ids)
    shared = {f"P@{k}": 100 * float(hits[at]) / (n * k) for at, k in enumerate(KS)}
    return shared | {f"plain P@{k}": 100 * float(plain[at]) / (n * k) for at, k in enumerate(KS)}


def compare_objectives(data: str, train: Split, n_labels: int) -> list[dict[str, Any]]:
    """Solve the machines of some labels well on both paths, unpruned; return a row for each with their objectives."""
    settings = SvmSettings(tolerance=1e-3, prune=0.0, max_passes=500)
    machines = MachineSettings(settings.C, settings.tolerance)
    order = np.argsort(-train.label_frequencies, kind="stable")[: np.count_nonzero(train.label_frequencies)]
    labels = order[np.unique(np.linspace(0, len(order) - 1, min(n_labels, len(order))).astype(np.int64))]
    X = normalise_rows(train.X)
    row = {"data": data, "method": f"one_vs_all, {len(labels)} labels, tolerance {settings.tolerance:g}"}
    row |= {"labels": train.n_labels, "documents": len(train)}
    rows = []
    for path in ("kernels", "torch"):
        with timed() as training:
            trainer: BlockTrainer | TensorBlockTrainer
            if path == "torch":
                trainer = TensorBlockTrainer.from_matrices(X, train.Y, machines, 0.0, resolve_device("cpu"))
            else:
                trainer = BlockTrainer.from_split(train, settings)
            size = trainer.block_size
            blocks = [labels[start : start + size] for start in range(0, len(labels), size)]
            solved = [trainer.train(block) for block in blocks]
        total = sum(
            sum_objectives(X, train.Y, block, *found, settings.C) for block, found in zip(blocks, solved, strict=True)
        )
        rows.append(row | {"path": path, "train, CPU s": training.cpu_seconds, "objective": total})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def sum_objectives(
    X: sparse.csr_array, Y: sparse.csr_array, labels: np.ndarray, weights: sparse.csr_array, bias: np.ndarray, C: float
) -> float:
    """Return the summed objective of the machines of `labels`, weights (n_labels, n_features)."""
    W, b = weights.toarray().T.astype(np.float64), bias.astype(np.float64)
    signs = np.where(Y[:, labels].toarray() > 0, 1.0, -1.0)
    gaps = np.maximum(0, 1 - signs * (X @ W + b))
    return float((W**2).sum() / 2 + (b**2).sum() / 2 + C * (gaps**2).sum())


@dataclass
class SearchedDocuments:
    """Labels of the nearest documents by exact search among short vectors, random projections of the documents.

    No method of the product: it shows exact search alone, with the parts of a method that `compare` needs.
    """

    precision: str = "float32"

    def fit(self, train: Split) -> SearchedDocuments:
        self.projection = np.random.default_rng(0).standard_normal((train.X.shape[1], SEARCHED_WIDTH), np.float32)
        self.Y = train.Y
        self.index = ExactIndex(precision=self.precision).build(train.X @ self.projection)
        return self

    def predict(self, X: sparse.csr_array, k: int) -> TopK:
        near = self.index.query(X @ self.projection, NEAREST_DOCUMENTS)
        rows = np.repeat(np.arange(len(near.ids)), near.ids.shape[1])
        votes = sparse.csr_array((near.scores.ravel(), (rows, near.ids.ravel())), (len(near.ids), self.Y.shape[0]))
        return top_k_product(votes, self.Y, k)


def compare(
    data: str, title: str, params: dict[str, Any], train: Split, test: Split, n_seeds: int = 1
) -> list[dict[str, Any]]:
    """Train and predict on both paths; return a row for each, and for further seeds of the kernels."""
    name = title.split(",")[0]
    rows = []
    first: tuple[Method | SearchedDocuments, TopK] | None = None
    reads_labels = name != "exact search" and find_method_class(name).capabilities.needs_label_text
    twins = np.arange(train.n_labels) if reads_labels else number_twins(train.Y)
    others = [(f"kernels, seed {seed}", seed) for seed in range(1, n_seeds)]
    for path, seed in [("kernels", 0), ("torch", 0), *others]:
        with compute_with_torch() if path == "torch" else nullcontext():
            is_search = name == "exact search"
            method = SearchedDocuments(**params) if is_search else xcwork.create(name, **params, seed=seed)
            with timed() as training:
                method.fit(train)
            with timed() as predicting:
                best = method.predict(test.X, max(KS))
            long = method.predict(test.X, LISTED)
            row = {"data": data, "method": title, "path": path, "labels": train.n_labels, "documents": len(train)}
            row |= {"test documents": test.n_documents, "twins": int((np.bincount(twins)[twins] > 1).sum())}
            row |= {"train, CPU s": training.cpu_seconds, "predict, CPU s": predicting.cpu_seconds}
            row |= measure_precision(long, test.Y, twins)
            if first is not None:
                other, theirs = first
                row["same first"] = 100 * float((twins[best.ids[:, 0]] == twins[theirs.ids[:, 0]]).mean())
                again = other.predict(test.X, max(KS))
                is_same = (again.ids == theirs.ids) & (again.ids >= 0)
                row["same model"] = float(np.abs(again.scores[is_same] - theirs.scores[is_same]).max(initial=0))
                row["same model, same labels"] = 100 * float((again.ids == theirs.ids).mean())
            else:
                first = (method, best)
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    return rows


def save(out: Path | None, facts: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Store what is done so far, should a later method take too long."""
    if out:
        write_json(out, {"conditions": facts, "rows": rows})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--test-documents", type=int)
    parser.add_argument("--methods", default=";".join(METHODS))
    parser.add_argument("--seeds", type=int, default=1, help="of the compiled kernels")
    parser.add_argument("--objectives", type=int, default=0, help="labels whose machines are solved on both paths")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    import numba
    import torch

    torch.set_num_threads(options.threads)
    numba.set_num_threads(options.threads)
    rows: list[dict[str, Any]] = []
    if options.out and options.out.is_file():
        rows = json.loads(options.out.read_text("utf-8"))["rows"]
    facts = conditions(torch=torch.__version__, threads=options.threads, device="cpu")
    for source in options.data:
        dataset = xcwork.load_dataset(source)
        train, test = draw_documents(dataset, options.documents, options.test_documents)
        few = train.take(np.arange(min(100, len(train))))
        if options.objectives:
            compare_objectives(dataset.name, few, 2)  # kernels are compiled and loaded
            of_labels = compare_objectives(dataset.name, train, options.objectives)
            known = (dataset.name, of_labels[0]["method"])
            rows = [row for row in rows if (row["data"], row["method"]) != known] + of_labels
            save(options.out, facts, rows)
        for title in filter(None, options.methods.split(";")):
            try:
                with redirect_stderr(io.StringIO()):
                    compare(dataset.name, title, METHODS[title], few, few)  # kernels are compiled and loaded
                rows = [row for row in rows if (row["data"], row["method"]) != (dataset.name, title)]
                rows += compare(dataset.name, title, METHODS[title], train, test, options.seeds)
            except DataError as refusal:
                print(f"{dataset.name}, {title}: {refusal}", file=sys.stderr)
            save(options.out, facts, rows)
    columns = dict.fromkeys(name for row in rows for name in row)
    print(markdown_table([columns | row for row in rows]))
    print(f"\n{described(facts)}")


if __name__ == "__main__":
    main()
