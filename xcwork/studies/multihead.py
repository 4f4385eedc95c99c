"""The experiments of multi-head encoding, as functions for notebooks and the dashboard.

Each trains small models and returns a data frame with one row per model; nothing is drawn or stored.

| function | in the paper | question |
| --- | --- | --- |
| `compare_label_orders` | figure 9, table 9 | do clusters of labels beat a random order, up to which network size? |
| `compare_head_lengths` | tables 3 and 7 | how do number and length of heads act on accuracy, confusion and cost? |
| `measure_tail_trimming` | table 10 | what do the rarest labels contribute? |
| `measure_head_accuracies` | figure 6 | how right is each head, and how right are they together? |
| `compare_stages` | figure 8 | do clusters make the first choice of a cascade easier and the second harder? |
| `compare_ensemble` | table 2 | are three members better than one? |
| `measure_costs` | figure 7 | parameters, time and memory against the flat classifier |

The low-rank experiments of figure 5 are in `xcwork.studies.low_rank`, label sets (table 1) in `label_sets`, and
features for documents in the open (table 5) in `pair_verification`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import ConfigError
from xcwork.methods.base import Method
from xcwork.methods.multihead.codes import compute_confusion_degree, parse_heads
from xcwork.methods.multihead.model import MultiHeadModel
from xcwork.methods.registry import create
from xcwork.metrics.ranking import KS, compute_curves, place_labels
from xcwork.progress import Callback, track
from xcwork.search import top_k_rows
from xcwork.sparse import drop_zeros, merge_duplicates

if TYPE_CHECKING:
    import pandas as pd

ENSEMBLE_LABELS = 100  # of each member, whose scores are added


def measure_precisions(method: Method, split: Split) -> dict[str, float]:
    """Return P@1, P@3 and P@5, those that there are labels for."""
    found = method.predict(split, k=min(max(KS), split.n_labels))
    values = compute_curves(place_labels(found, split.Y))["P"]
    return {f"P@{k}": values[k - 1] for k in KS if k <= len(values)}


def get_model(method: Method) -> MultiHeadModel:
    """Return what a multi-head method has learned."""
    if not isinstance(method.model_, MultiHeadModel):
        raise ConfigError(f"{type(method).__name__} is not one of the multi-head methods; use flat, mhp, mhc or mhs")
    return method.model_


def compare_label_orders(
    train: Split,
    test: Split,
    *,
    method: str = "mhc",
    orders: Sequence[str] = ("cluster", "random"),
    widths: Sequence[int] = (8, 32, 128),
    seeds: Sequence[int] = (0, 1, 2),
    **params: Any,
) -> pd.DataFrame:
    """Return the accuracy for every label order, size of the network and seed, on training documents too.

    Precision on the training documents says whether a network is large enough to fit them, which is where the paper
    expects the difference between orders to vanish.
    """
    import pandas as pd

    settings = [(order, width, seed) for width in widths for order in orders for seed in seeds]
    rows = []
    for order, width, seed in track(settings, "label orders"):
        sizes = {"width": width} | ({"label_dimension": width} if method == "mhc" else {})
        model = create(method, label_order=order, seed=seed, **sizes | params).fit(train)
        fitted = measure_precisions(model, train)["P@1"]
        rows.append(
            {"order": order, "width": width, "seed": seed, **measure_precisions(model, test), "training P@1": fitted}
        )
    return pd.DataFrame(rows)


def compare_head_lengths(
    train: Split, test: Split, heads: Sequence[str], *, methods: Sequence[str] = ("mhp", "mhc", "mhs"), **params: Any
) -> pd.DataFrame:
    """Return accuracy, confusion degree and size for every choice of heads; MHS takes those with two numbers."""
    import pandas as pd

    settings = [(name, text) for name in methods for text in heads if name != "mhs" or len(parse_heads(text)) == 2]
    rows = []
    for method, text in track(settings, "head lengths"):
        trained = create(method, heads=text, **params).fit(train)
        degree = compute_confusion_degree(parse_heads(text), parallel=method == "mhp")
        row = {
            "method": method,
            "heads": text,
            "confusion degree": degree,
            "parameters": get_model(trained).n_head_parameters,
        }
        rows.append(row | measure_precisions(trained, test))
    return pd.DataFrame(rows)


def trim_tail(train: Split, share: float) -> tuple[Split, float]:
    """Return `train` without its rarest labels, a `share` of those that occur, and the share of positives lost."""
    seen = np.flatnonzero(train.label_frequencies)
    rarest = seen[np.argsort(train.label_frequencies[seen], kind="stable")][: round(share * len(seen))]
    keep = np.ones(train.n_labels, np.float32)
    keep[rarest] = 0
    Y = drop_zeros(sparse.csr_array(train.Y @ sparse.diags_array(keep)))
    return replace(train, Y=Y), 1 - Y.nnz / max(1, train.Y.nnz)


def measure_tail_trimming(
    train: Split, test: Split, *, shares: Sequence[float] = (0.0, 0.25, 0.5, 0.75), method: str = "mhc", **params: Any
) -> pd.DataFrame:
    """Return the accuracy on all labels after training without the rarest ones."""
    import pandas as pd

    rows = []
    for share in track(shares, "tail trimming"):
        less, lost = trim_tail(train, share)
        model = create(method, **params).fit(less)
        rows.append({"labels trimmed": share, "positives lost": lost, **measure_precisions(model, test)})
    return pd.DataFrame(rows)


def measure_head_accuracies(train: Split, test: Split, **params: Any) -> pd.DataFrame:
    """Return the percentage of documents that each head of MHP gets right, all together, and the product of the heads.

    Together they are right more often than the product says where their errors fall on the same documents.
    """
    import pandas as pd

    model = create("mhp", **params).fit(train)
    rows = []
    for part, split in (("train", train), ("test", test)):
        shares = dict(model.diagnose(split))
        together = shares.pop("exact match")
        expected = 100 * float(np.prod([share / 100 for share in shares.values()]))
        rows += [{"part": part, "head": name, "accuracy": share} for name, share in shares.items()]
        rows += [{"part": part, "head": "together", "accuracy": together}]
        rows += [{"part": part, "head": "product", "accuracy": expected}]
    return pd.DataFrame(rows)


def compare_stages(
    train: Split,
    test: Split,
    *,
    orders: Sequence[str] = ("cluster", "random"),
    seeds: Sequence[int] = (0,),
    **params: Any,
) -> pd.DataFrame:
    """Return, in percent, how often the best group of a cascade has a label of the document, and the best label then.

    The product of both shares is how often a cascade that hands on one group is right.
    """
    import pandas as pd

    rows = []
    for order, seed in track([(order, seed) for seed in seeds for order in orders], "stages of a cascade"):
        trained = create("mhc", label_order=order, beam=1, seed=seed, **params).fit(train)
        model = get_model(trained)
        wanted = sparse.csr_array(test.Y[:, model.label_of_code])
        best = trained.predict(test, k=1).ids[:, 0]
        # With a beam of one group, the group of the best label is the one that was chosen first.
        group = np.argsort(model.label_of_code)[best] // model.head_lengths[1]
        is_right = np.array(
            [np.isin(group[row], part // model.head_lengths[1]) for row, part in enumerate(_list_rows(wanted))]
        )
        is_hit = np.array([label in part for label, part in zip(best.tolist(), _list_rows(test.Y), strict=True)])
        first = 100 * float(is_right.mean())
        second = 100 * float(is_hit[is_right].mean()) if is_right.any() else 0.0
        rows.append({"order": order, "seed": seed, "group right": first, "label right then": second})
    return pd.DataFrame(rows)


def _list_rows(Y: sparse.csr_array) -> list[np.ndarray]:
    return np.split(Y.indices, Y.indptr[1:-1])


def compare_ensemble(
    train: Split, test: Split, *, method: str = "mhc", seeds: Sequence[int] = (0, 1, 2), **params: Any
) -> pd.DataFrame:
    """Return the accuracy of members with different seeds, and of the sum of their scores."""
    import pandas as pd

    total, rows = sparse.csr_array((len(test), test.n_labels), dtype=np.float32), []
    for seed in track(seeds, "ensemble"):
        trained = create(method, seed=seed, **params).fit(train)
        rows.append({"members": "1", "seed": seed, **measure_precisions(trained, test)})
        found = trained.predict(test, k=min(ENSEMBLE_LABELS, test.n_labels))
        total = sparse.csr_array(total + found.to_csr(test.n_labels))
    values = compute_curves(place_labels(top_k_rows(total, min(max(KS), test.n_labels)), test.Y))["P"]
    together = {f"P@{k}": values[k - 1] for k in KS if k <= len(values)}
    return pd.DataFrame([*rows, {"members": str(len(seeds)), "seed": None, **together}])


def draw_random_split(
    n_documents: int, n_labels: int, *, n_features: int = 2000, terms: int = 50, seed: int = 0
) -> Split:
    """Return documents with one random label each: nothing to learn, but the work of learning it."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(n_features, size=(n_documents, terms))
    entries = (np.full(columns.size, terms**-0.5, np.float32), columns.ravel(), np.arange(n_documents + 1) * terms)
    X = merge_duplicates(sparse.csr_array(entries, shape=(n_documents, n_features)))
    labels = rng.integers(n_labels, size=n_documents)
    ones = np.ones(n_documents, np.float32)
    Y = sparse.csr_array((ones, labels, np.arange(n_documents + 1)), shape=(n_documents, n_labels))
    return Split(X, Y, LabelSpace([""] * n_labels), Features(n_features))


class StepClock(Callback):
    """Notes when each step of training ended."""

    def __init__(self) -> None:
        self.ticks: list[float] = []

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.ticks.append(time.perf_counter())
        return False


def measure_cost(
    method: str,
    n_labels: int,
    *,
    width: int = 256,
    batch_size: int = 64,
    steps: int = 5,
    documents: int = 64,
    **params: Any,
) -> dict[str, Any]:
    """Return what one model costs: learned numbers of its heads, median time of a step, time to rank a document."""
    split = draw_random_split(batch_size * (steps + 1), n_labels)
    clock = StepClock()
    untrained = create(method, width=width, batch_size=batch_size, epochs=1, min_steps=0, **params)
    trained = untrained.fit(split, callbacks=[clock])
    # As if every label had documents: all compete.
    trained.model_ = replace(trained.model_, label_frequencies=np.ones(n_labels, np.int64))
    asked = split.X[:documents]
    trained.predict(asked, k=5)  # compiles
    started = time.perf_counter()
    trained.predict(asked, k=5)
    predicting = time.perf_counter() - started
    model = get_model(trained)
    return {
        "method": method,
        "labels": n_labels,
        "heads": ",".join(map(str, model.head_lengths)),
        "parameters": model.n_head_parameters,
        "train ms per step": 1000 * float(np.median(np.diff(clock.ticks)[1:])),
        "predict ms per document": 1000 * predicting / documents,
    }


def measure_costs(
    n_labels: Sequence[int] = (1000, 10_000, 100_000),
    methods: Sequence[str] = ("flat", "mhp", "mhc", "mhs"),
    **params: Any,
) -> pd.DataFrame:
    """Return what every method costs for every number of labels, and how many times cheaper than flat it is."""
    import pandas as pd

    settings = [(n, method) for n in n_labels for method in methods]
    return add_ratios(pd.DataFrame([measure_cost(method, n, **params) for n, method in track(settings, "costs")]))


def add_ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` of costs with columns that say how many times less than flat a row takes."""
    flat = frame[frame["method"] == "flat"].set_index("labels")
    for column, name in (("train ms per step", "train ×"), ("predict ms per document", "predict ×")):
        frame[name] = frame["labels"].map(flat[column]) / frame[column]
    return frame
